"""Facts about namespaces, derived from their annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from fairlead.admission.plugins.version_facts import FindNamespace, PerObjectCache
from fairlead.base.errors import ResourceRef, not_found
from fairlead.codec.types.model import Object
from fairlead.storage.version import Version

Fact = TypeVar("Fact")


class NamespaceFacts(Generic[Fact]):
    """One fact per namespace, computed from its annotations once per version."""

    def __init__(self, find: FindNamespace, work_out: Callable[[Object], Fact]) -> None:
        def of(entry: Version) -> Fact:
            return work_out(entry.object()["metadata"].get("annotations") or {})

        self._find = find
        self._facts = PerObjectCache(of)

    def of(self, namespace: str) -> Fact:
        """The fact of a namespace; raises NotFound if the namespace is missing."""
        entry = self._find(namespace)
        if entry is None:
            raise not_found(ResourceRef("", "namespaces", namespace))
        return self._facts.of(entry)
