"""How authorization learns of the objects it depends on."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.storage.collection import Collection
from fairlead.storage.entry import Entry

Listener = Callable[[Entry], None]

# Calls a listener with every object of a resource (our name for it, `rbac/v1/roles`) that exists,
# and then after each commit, before the write is answered. A resource that is not served has none.
Follow = Callable[[str, Listener], None]


def follow_collection(collection: Collection, listener: Listener) -> None:
    """Follow one collection, from what it holds now."""
    for entry in collection.current(""):
        listener(entry)
    collection.listeners.append(listener)
