"""Claims on addresses and ports, as keys in the store, for several servers on one store.

A reservation exists in the memory of one server; another server may choose the same value before it
sees the service. So the service and a key for the value are written in one commit: of two servers
that want a value, one finds its key changed. Keys are never deleted. A key alone does not mean that
a value is in use: a server that finds the value free among the services may write its key again.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.storage.backend import ConditionFailed
from fairlead.storage.companion import Companion
from fairlead.storage.store import Store

CLAIMS = "fairlead/serviceclaims"


class Claims:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._collection = store.collection(CLAIMS)

    def of(self, names: Iterable[str]) -> list[Companion]:
        """The companions to write with a service that takes these values."""
        return [
            Companion(
                self._collection,
                {"metadata": {"name": name}},
                self._store.latest(self._collection, name),
                name,
            )
            for name in names
        ]


def is_claimed(error: ConditionFailed) -> bool:
    """Whether a write failed because another server allocated one of its values."""
    return error.condition.resource == CLAIMS
