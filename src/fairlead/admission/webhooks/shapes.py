"""Objects between the form in which admission has them and the one in which webhooks see them."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from fairlead.admission.chain import UPDATE, Attributes
from fairlead.kinds.resources import Resource
from fairlead.schema.model import Object


class ShapeError(ValueError):
    """A document that is no object of its kind; the text says why."""


class Shapes(Protocol):
    async def shown(self, attributes: Attributes, value: Object, resource: Resource) -> Object:
        """An object of a write in the version of a resource, with kind and apiVersion; may share
        its parts. Raises StatusError if it cannot be converted."""

    async def take(self, attributes: Attributes, document: Object, resource: Resource) -> None:
        """Put what a document, in the version of a resource, says in the place of the object of a
        write: without unknown fields and with defaults. Raises ShapeError and StatusError."""


class Documents:
    """The objects of one write as webhooks see them, made and encoded once for each version.
    `is_final`: they are seen as they would be stored."""

    def __init__(self, shapes: Shapes, attributes: Attributes, *, is_final: bool) -> None:
        self._shapes = shapes
        self._attributes = attributes
        self._is_final = is_final
        self._new: dict[str, tuple[Object, Any]] = {}
        self._old: dict[str, Any] = {}

    async def new(self, resource: Resource) -> Object | None:
        """The document of the new object; None for a delete."""
        found = await self._made(resource)
        return found[0] if found is not None else None

    async def encoded(self, resource: Resource) -> tuple[Any, Any]:
        """Both objects as they stand in a review."""
        attributes = self._attributes
        made = await self._made(resource)
        if attributes.old is None:
            return made[1] if made is not None else None, None
        old = self._old.get(resource.key)
        if old is None:
            shown = await self._shapes.shown(attributes, attributes.old, resource)
            old = self._old[resource.key] = orjson.Fragment(orjson.dumps(shown))
        return made[1] if made is not None else None, old

    async def take(self, document: Object, resource: Resource) -> None:
        self._new.clear()
        await self._shapes.take(self._attributes, document, resource)

    async def _made(self, resource: Resource) -> tuple[Object, Any] | None:
        attributes = self._attributes
        if attributes.value is None:
            return None
        made = self._new.get(resource.key)
        if made is None:
            shown = await self._shapes.shown(attributes, attributes.value, resource)
            if self._is_final and attributes.operation == UPDATE:
                shown = self._at_version(shown)
            made = self._new[resource.key] = shown, orjson.Fragment(orjson.dumps(shown))
        return made

    def _at_version(self, shown: Object) -> Object:
        """An update as it will be stored is one of the version that it replaces."""
        old = self._attributes.old or {}
        version = (old.get("metadata") or {}).get("resourceVersion")
        if not version or "metadata" not in shown:
            return shown
        return {**shown, "metadata": {**shown["metadata"], "resourceVersion": version}}
