"""Addresses and ports as keys of the store, where several servers give them out.

A value is set aside in the memory of one server, and another one may choose the same before it
hears of the service. So the service and a key of the value are written in one commit: of two who
want a value, one finds its key changed. A key is never given back. It means nothing by itself:
whoever finds a value free, by the services, may write its key anew.
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
        """What must be written with a service that takes these values."""
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
    """Whether a write failed because another server gave one of its values away."""
    return error.condition.resource == CLAIMS
