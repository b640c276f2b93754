"""Objects of a write as webhooks see them, and back: see `admission.webhooks.shapes`."""

from __future__ import annotations

from fairlead.admission.chain import CONNECT, Attributes
from fairlead.admission.webhooks.shapes import ShapeError
from fairlead.kinds.conversion import from_stored, to_stored
from fairlead.kinds.custom.kind import CustomKind
from fairlead.kinds.resources import Resource
from fairlead.operations import preparing
from fairlead.operations.api import Api, Object
from fairlead.operations.views import ScaleView, typed
from fairlead.patching.values import copied
from fairlead.schema.decode import decoder
from fairlead.schema.defaults import fill_defaults
from fairlead.schema.mismatch import DecodeError
from fairlead.schema.model import Struct

_TYPE = ("kind", "apiVersion")


class ApiShapes:
    """A write has the object itself, a view of it (its scale), or something of another kind that a
    subresource takes, such as a Binding."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def shown(self, attributes: Attributes, value: Object, resource: Resource) -> Object:
        if attributes.operation == CONNECT:
            return value  # the options of a connection carry their kind
        if resource.is_scale:
            return ScaleView(self._api, attributes.resource).read(value)
        if not _is_whole(resource):
            api_version = self._api.resources.api_version_of(resource.body_version)
            return {"kind": resource.kind, "apiVersion": api_version, **value}
        kind, wanted = attributes.resource.main.custom, resource.main.custom
        if kind is not None and wanted is not None:
            return await _converted(kind, wanted, value)
        main = resource.main
        return typed(main, value if main.sends_stored_bytes else from_stored(main, copied(value)))

    async def take(self, attributes: Attributes, document: Object, resource: Resource) -> None:
        assert attributes.value is not None
        shown = await self.shown(attributes, attributes.value, resource)
        if any(document.get(name) != shown[name] for name in _TYPE):
            given = f"{document.get('apiVersion')}, Kind={document.get('kind')}"
            raise ShapeError(f"the object became a {given}")
        made = await self._made(attributes, document, resource)
        preparing.check_decoded(made)
        attributes.value.clear()
        attributes.value.update(made)

    async def _made(self, attributes: Attributes, document: Object, resource: Resource) -> Object:
        assert attributes.value is not None
        bare = {name: item for name, item in document.items() if name not in _TYPE}
        value = _decoded(resource.struct, bare)
        if attributes.operation == CONNECT:
            return {name: document[name] for name in _TYPE} | value
        if resource.is_scale:
            return ScaleView(self._api, attributes.resource).write(attributes.value, value)
        if not _is_whole(resource):
            fill_defaults(resource.struct, value)
            return value
        own, given = attributes.resource.main, resource.main
        if own.custom is not None and given.custom is not None:
            preparing.default(self._api, given, value, attributes.context)
            if own.custom is given.custom:
                return value
            converted = await _converted(given.custom, own.custom, value)
            return _decoded(
                own.struct, {key: converted[key] for key in converted if key not in _TYPE}
            )
        value = to_stored(given, value)
        preparing.default(self._api, own, value, attributes.context)
        return value


def _is_whole(resource: Resource) -> bool:
    """Whether what is sent to a resource is the object that is kept."""
    return resource.kind == resource.main.kind


def _decoded(struct: Struct, document: Object) -> Object:
    try:
        made: Object = decoder(struct)(document, [])
    except DecodeError as error:
        raise ShapeError(str(error)) from None
    return made


async def _converted(kind: CustomKind, wanted: CustomKind, value: Object) -> Object:
    """An object of a custom kind in another of its versions."""
    document = {"kind": kind.definition.kind, "apiVersion": kind.api_version, **value}
    if kind is wanted or kind.api_version == wanted.api_version:
        return document
    converter = kind.definition.converter
    if converter is not None:
        [document] = await converter.convert([document], wanted.api_version)
    head = {"kind": wanted.definition.kind, "apiVersion": wanted.api_version}
    return {**head, **wanted.pruned(document)}
