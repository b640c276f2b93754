"""Converts objects between the form in admission and the form that webhooks get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import orjson

from fairlead.admission.plugin import UPDATE, Attributes
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resource


class DocumentError(ValueError):
    """A document that is not a valid object of its kind; the text says why."""


# Returns a changed document; must not modify its argument.
Patch = Callable[[Object], Object]


class DocumentConverter(Protocol):
    """Converts objects of a write to documents, and applies patches of documents to the write."""

    async def shown(self, attributes: Attributes, value: Object, resource: Resource) -> Object:
        """Convert an object of a write to the version of a resource, with kind and apiVersion. The
        result may share parts with the original. Raises StatusError if the conversion fails."""

    async def patch(
        self, attributes: Attributes, patch: Patch, resource: Resource, size: int
    ) -> None:
        """Apply a patch to the object of a write in the version of a resource, drop unknown fields,
        fill in defaults, and replace the object. `size` is its approximate size in bytes. Raises
        DocumentError, StatusError and the exceptions of the patch."""


class Documents:
    """The objects of one write in the form for webhooks, converted and encoded once per version.
    `is_final`: in the form in which they would be stored."""

    def __init__(
        self, converter: DocumentConverter, attributes: Attributes, *, is_final: bool
    ) -> None:
        self._converter = converter
        self._attributes = attributes
        self.is_final = is_final
        self._new: dict[str, Object] = {}
        self._raw: dict[str, bytes] = {}
        self._old: dict[str, bytes] = {}

    async def encoded(self, resource: Resource) -> tuple[bytes, bytes]:
        """The new and the old object, encoded for a review."""
        attributes, key = self._attributes, resource.key
        new, old = self._raw.get(key), self._old.get(key)
        if new is None:
            new = self._raw[key] = orjson.dumps(await self._new_object(resource))
        if old is None:
            shown = None
            if attributes.old is not None:
                shown = await self._converter.shown(attributes, attributes.old, resource)
            old = self._old[key] = orjson.dumps(shown)
        return new, old

    async def objects(self, resource: Resource) -> tuple[Object | None, Object | None, int]:
        """Copies of the new and the old object, and their size in bytes."""
        new, old = await self.encoded(resource)
        return orjson.loads(new), orjson.loads(old), len(new) + len(old)

    async def patch(self, patch: Patch, resource: Resource, size: int) -> bool:
        """Apply a patch of `size` bytes to the object in the version of a resource. Returns whether
        it changed the object."""
        before, (raw, _) = await self._new_object(resource), await self.encoded(resource)
        self._new.clear()
        self._raw.clear()
        await self._converter.patch(self._attributes, patch, resource, len(raw) + size)
        return await self._new_object(resource) != before

    async def _new_object(self, resource: Resource) -> Object | None:
        """The new object; None for a delete."""
        attributes = self._attributes
        if attributes.value is None:
            return None
        document = self._new.get(resource.key)
        if document is None:
            document = await self._converter.shown(attributes, attributes.value, resource)
            if self.is_final and attributes.operation == UPDATE:
                document = self._at_version(document)
            self._new[resource.key] = document
        return document

    def _at_version(self, shown: Object) -> Object:
        """Set the resourceVersion of the replaced object on an update."""
        old = self._attributes.old or {}
        version = (old.get("metadata") or {}).get("resourceVersion")
        if not version or "metadata" not in shown:
            return shown
        return {**shown, "metadata": {**shown["metadata"], "resourceVersion": version}}
