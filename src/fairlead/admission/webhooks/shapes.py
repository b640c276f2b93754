"""Objects between the form in which admission has them and the one in which webhooks see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import orjson

from fairlead.admission.plugin import UPDATE, Attributes
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resource


class ShapeError(ValueError):
    """A document that is no object of its kind; the text says why."""


# Makes another document of a document, which it leaves as it is.
Patch = Callable[[Object], Object]


class Shapes(Protocol):
    async def shown(self, attributes: Attributes, value: Object, resource: Resource) -> Object:
        """An object of a write in the version of a resource, with kind and apiVersion; may share
        its parts. Raises StatusError if it cannot be converted."""

    async def patch(
        self, attributes: Attributes, patch: Patch, resource: Resource, size: int
    ) -> None:
        """Put what a patch makes of the object of a write, in the version of a resource, in its
        place: without unknown fields and with defaults. `size` is how many bytes it has about.
        Raises what the patch raises, ShapeError and StatusError."""


class Documents:
    """The objects of one write as webhooks see them, made and encoded once for each version.
    `is_final`: they are seen as they would be stored."""

    def __init__(self, shapes: Shapes, attributes: Attributes, *, is_final: bool) -> None:
        self._shapes = shapes
        self._attributes = attributes
        self._is_final = is_final
        self._new: dict[str, Object] = {}
        self._raw: dict[str, bytes] = {}
        self._old: dict[str, bytes] = {}

    async def encoded(self, resource: Resource) -> tuple[bytes, bytes]:
        """Both objects as they stand in a review."""
        attributes, key = self._attributes, resource.key
        new, old = self._raw.get(key), self._old.get(key)
        if new is None:
            new = self._raw[key] = orjson.dumps(await self._made(resource))
        if old is None:
            shown = None
            if attributes.old is not None:
                shown = await self._shapes.shown(attributes, attributes.old, resource)
            old = self._old[key] = orjson.dumps(shown)
        return new, old

    async def patch(self, patch: Patch, resource: Resource, size: int) -> bool:
        """Whether a patch of so many bytes, which is about the object in the version of a resource,
        changed it."""
        before, (raw, _) = await self._made(resource), await self.encoded(resource)
        self._new.clear()
        self._raw.clear()
        await self._shapes.patch(self._attributes, patch, resource, len(raw) + size)
        return await self._made(resource) != before

    async def _made(self, resource: Resource) -> Object | None:
        """The new object; None for a delete."""
        attributes = self._attributes
        if attributes.value is None:
            return None
        made = self._new.get(resource.key)
        if made is None:
            made = await self._shapes.shown(attributes, attributes.value, resource)
            if self._is_final and attributes.operation == UPDATE:
                made = self._at_version(made)
            self._new[resource.key] = made
        return made

    def _at_version(self, shown: Object) -> Object:
        """An update as it will be stored is one of the version that it replaces."""
        old = self._attributes.old or {}
        version = (old.get("metadata") or {}).get("resourceVersion")
        if not version or "metadata" not in shown:
            return shown
        return {**shown, "metadata": {**shown["metadata"], "resourceVersion": version}}
