"""Adoption and release: an owner controls the objects that it selects and that have no other
controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fairlead.base.errors import StatusError
from fairlead.base.slices import TimeSlices
from fairlead.controllers.workloads.index import Dependent, Owned
from fairlead.controllers.workloads.owners import controller_among, controller_reference
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.registry import Resource
from fairlead.resources.rules import selector_matches

T = TypeVar("T", bound=Dependent)

_GONE, _INVALID = 404, 422


class _Changed(Exception):
    """The object was replaced or has a controller now."""


def with_finalizer(metadata: Object, finalizer: str) -> Object:
    """Metadata with a finalizer added."""
    others = [other for other in metadata.get("finalizers") or () if other != finalizer]
    return {**metadata, "finalizers": [*others, finalizer]}


def without_finalizer(metadata: Object, finalizer: str) -> Object:
    """A copy of metadata without a finalizer."""
    changed = {**metadata}
    finalizers = changed.pop("finalizers", None) or ()
    if others := [other for other in finalizers if other != finalizer]:
        changed["finalizers"] = others
    return changed


class Claims:
    """Adopts and releases objects of one resource for owners of another."""

    def __init__(self, objects: Client, owner: Resource, dependents: str) -> None:
        self._objects = objects
        self._owner = owner
        self._dependents = dependents

    async def claim(
        self,
        owner: Object,
        selector: Object | None,
        owned: Owned[T],
        counts: Callable[[T], bool] = lambda dependent: True,
        fits: Callable[[T], bool] = lambda dependent: True,
        finalizer: str = "",
    ) -> list[T]:
        """Adopt and release dependents; returns those the owner controls afterwards.

        Ignores objects for which `counts` is false. Objects for which `fits` is false count as not
        selected. If `finalizer` is set, adoption adds it and release removes it.
        """
        going = owner["metadata"].get("deletionTimestamp") is not None
        claimed, slices = [], TimeSlices()
        await owned.read_ahead(owner)
        for dependent in owned.of(owner):
            await slices.pause()
            if not counts(dependent):
                continue
            if selector_matches(selector, dependent.labels) and fits(dependent):
                claimed.append(dependent)
            elif not going:
                await self._release(owner, dependent, finalizer)
        if going:
            return claimed
        for dependent in owned.orphans(owner["metadata"]["namespace"]):
            await slices.pause()
            if dependent.deleting or not counts(dependent) or not fits(dependent):
                continue
            if selector_matches(selector, dependent.labels) and await self._adopt(
                owner, dependent, finalizer
            ):
                claimed.append(dependent)
        return claimed

    async def _adopt(self, owner: Object, dependent: Dependent, finalizer: str) -> bool:
        if not self._may_adopt(owner):
            return False
        reference = controller_reference(self._owner, owner)

        def take(current: Object) -> Object:
            references = current["metadata"].get("ownerReferences") or []
            if current["metadata"]["uid"] != dependent.uid or controller_among(references):
                raise _Changed
            others = [other for other in references if other["uid"] != reference["uid"]]
            metadata = {**current["metadata"], "ownerReferences": [*others, reference]}
            if finalizer:
                metadata = with_finalizer(metadata, finalizer)
            return {**current, "metadata": metadata}

        return await self._change(dependent, take, _GONE)

    def _may_adopt(self, owner: Object) -> bool:
        """Whether the owner still exists and is not being deleted, by a fresh lookup."""
        metadata = owner["metadata"]
        newest = self._objects.find(self._owner.key, metadata["namespace"], metadata["name"])
        if newest is None or newest["metadata"]["uid"] != metadata["uid"]:
            return False
        return newest["metadata"].get("deletionTimestamp") is None

    async def _release(self, owner: Object, dependent: Dependent, finalizer: str) -> None:
        uid = owner["metadata"]["uid"]

        def released(current: Object) -> Object:
            if current["metadata"]["uid"] != dependent.uid:
                raise _Changed
            metadata = without_finalizer(current["metadata"], finalizer)
            references = metadata.pop("ownerReferences", None) or ()
            if others := [other for other in references if other["uid"] != uid]:
                metadata["ownerReferences"] = others
            return {**current, "metadata": metadata}

        await self._change(dependent, released, _GONE, _INVALID)

    async def _change(
        self, dependent: Dependent, change: Callable[[Object], Object], *passed_over: int
    ) -> bool:
        """Change a dependent; returns whether it was changed. Errors with the status codes in
        `passed_over` are ignored."""
        try:
            await self._objects.change(
                self._dependents, dependent.namespace, dependent.name, change, verb="patch"
            )
        except _Changed:
            return False
        except StatusError as error:
            if error.code not in passed_over:
                raise
            return False
        return True
