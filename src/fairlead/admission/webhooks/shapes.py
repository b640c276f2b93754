"""Objects between the form in which admission has them and the one in which webhooks see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import orjson

from fairlead.admission.chain import UPDATE, Attributes
from fairlead.kinds.resources import Resource
from fairlead.schema.model import Object


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
        self._new: dict[str, tuple[Object, Any, int]] = {}
        self._old: dict[str, Any] = {}

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

    async def patch(self, patch: Patch, resource: Resource) -> bool:
        """Whether a patch, which is about the object in the version of a resource, changed it."""
        made = await self._made(resource)
        assert made is not None
        before, _, size = made
        self._new.clear()
        await self._shapes.patch(self._attributes, patch, resource, size)
        after = await self._made(resource)
        return after is None or after[0] != before

    async def _made(self, resource: Resource) -> tuple[Object, Any, int] | None:
        """The new object, its JSON, and how long that is; None for a delete."""
        attributes = self._attributes
        if attributes.value is None:
            return None
        made = self._new.get(resource.key)
        if made is None:
            shown = await self._shapes.shown(attributes, attributes.value, resource)
            if self._is_final and attributes.operation == UPDATE:
                shown = self._at_version(shown)
            raw = orjson.dumps(shown)
            made = self._new[resource.key] = shown, orjson.Fragment(raw), len(raw)
        return made

    def _at_version(self, shown: Object) -> Object:
        """An update as it will be stored is one of the version that it replaces."""
        old = self._attributes.old or {}
        version = (old.get("metadata") or {}).get("resourceVersion")
        if not version or "metadata" not in shown:
            return shown
        return {**shown, "metadata": {**shown["metadata"], "resourceVersion": version}}
