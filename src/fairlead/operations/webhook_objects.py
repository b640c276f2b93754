"""Converts the objects of a write to the form that webhooks get, and back: see
`admission.webhooks.documents`."""

from __future__ import annotations

from functools import cached_property

from orjson import dumps

from fairlead.admission.plugin import CONNECT, Attributes
from fairlead.admission.webhooks.documents import DocumentError, Patch
from fairlead.base import budget
from fairlead.base.files import text_beside
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Struct
from fairlead.codec.types.notation import parse
from fairlead.fields.values import copied
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.stored_versions import read_requested
from fairlead.operations.views import ScaleView, typed
from fairlead.resources.custom.definition import CustomKind
from fairlead.resources.registry import Resource, from_stored, to_stored
from fairlead.storage.version import Version

_TYPE = ("kind", "apiVersion")


class WebhookObjects:
    """The value of a write is the object itself, a view of it (its scale), or the body of a
    subresource of another kind, such as a Binding."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @cached_property
    def _options(self) -> dict[str, Struct]:
        """The types of connect options (exec, attach, port-forward, proxy)."""
        text = text_beside(__file__, "connecting.types")
        return parse("connecting", text, self._api.types.group_version)

    async def shown(self, attributes: Attributes, value: Object, resource: Resource) -> Object:
        if attributes.operation == CONNECT:
            return value  # connect options carry their kind
        if resource.is_scale:
            return ScaleView(self._api, attributes.resource).read(value)
        if not _is_whole(resource):
            api_version = self._api.resources.api_version_of(resource.body_version)
            return {"kind": resource.kind, "apiVersion": api_version, **value}
        kind, target = attributes.resource.main.custom, resource.main.custom
        if kind is not None and target is not None:
            return await _converted(kind, target, value)
        main = resource.main
        return typed(main, value if main.sends_stored_bytes else from_stored(main, copied(value)))

    async def read(self, resource: Resource, version: Version) -> Object:
        """A stored object in the version of a resource, with kind and apiVersion."""
        value = await read_requested(resource, version)
        if resource.custom is not None:
            head = {"kind": resource.kind, "apiVersion": resource.custom.api_version}
            return {**head, **value}
        return typed(
            resource, value if resource.sends_stored_bytes else from_stored(resource, value)
        )

    async def patch(
        self, attributes: Attributes, patch: Patch, resource: Resource, size: int
    ) -> None:
        assert attributes.value is not None
        document = await self.shown(attributes, attributes.value, resource)
        connects = attributes.operation == CONNECT
        struct = self._options[resource.kind] if connects else resource.struct
        main = resource.main
        is_decoded = _is_whole(resource) and main.sends_stored_bytes and main.custom is None
        decoded = await budget.run(
            size, _patched, patch, document, struct, is_decoded and not connects
        )
        value = await self._to_written_form(attributes, decoded, resource, size)
        await budget.run(size, write_pipeline.check_decoded, value)
        attributes.value.clear()
        attributes.value.update(value)

    async def _to_written_form(
        self, attributes: Attributes, value: Object, resource: Resource, size: int
    ) -> Object:
        """Convert a value decoded in the version of `resource` to the form that the write has."""
        api, context = self._api, attributes.context
        assert attributes.value is not None
        if attributes.operation == CONNECT:
            return {name: attributes.value[name] for name in _TYPE} | value
        if resource.is_scale:
            return ScaleView(api, attributes.resource).write(attributes.value, value)
        if not _is_whole(resource):
            fill_defaults(resource.struct, value)
            return value
        own_main, requested_main = attributes.resource.main, resource.main
        if own_main.custom is None or requested_main.custom is None:
            value = to_stored(requested_main, value)
            await budget.run(size, write_pipeline.set_defaults, api, own_main, value, context)
            return value
        await budget.run(size, write_pipeline.set_defaults, api, requested_main, value, context)
        if own_main.custom is requested_main.custom:
            return value
        return _decoded(
            own_main.struct, await _converted(requested_main.custom, own_main.custom, value)
        )


def _is_whole(resource: Resource) -> bool:
    """Whether the body of the resource is the stored object itself."""
    return resource.kind == resource.main.kind


def _patched(patch: Patch, original: Object, struct: Struct, is_decoded: bool) -> Object:
    """`is_decoded`: the fields of `original` have the form that decoding produces."""
    document = patch(original)
    if any(document.get(name) != original[name] for name in _TYPE):
        actual_type = f"{document.get('apiVersion')}, Kind={document.get('kind')}"
        raise DocumentError(f"the object became a {actual_type}")
    if not is_decoded:
        return _decoded(struct, document)
    unchanged = {name: original[name] for name in document if _is_same(name, document, original)}
    changed = {name: item for name, item in document.items() if name not in unchanged}
    return {**_decoded(struct, changed), **unchanged}


def _is_same(name: str, document: Object, original: Object) -> bool:
    """Whether a field has the same JSON text; equality is not enough: 1 equals true."""
    return name not in _TYPE and name in original and dumps(document[name]) == dumps(original[name])


def _decoded(struct: Struct, document: Object) -> Object:
    content = {name: item for name, item in document.items() if name not in _TYPE}
    try:
        value: Object = decoder(struct)(content, [])
    except DecodeError as error:
        raise DocumentError(str(error)) from None
    return value


async def _converted(kind: CustomKind, target: CustomKind, value: Object) -> Object:
    """Convert an object of a custom kind to another of its versions."""
    document = {"kind": kind.definition.kind, "apiVersion": kind.api_version, **value}
    if kind is target or kind.api_version == target.api_version:
        return document
    converter = kind.definition.converter
    if converter is not None:
        [document] = await converter.convert([document], target.api_version)
    head = {"kind": target.definition.kind, "apiVersion": target.api_version}
    return {**head, **target.pruned(document)}
