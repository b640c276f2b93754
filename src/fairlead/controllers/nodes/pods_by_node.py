"""An index of pods by node."""

from __future__ import annotations

from typing import Final

from fairlead.auth.authorization.pod_references import node_of as node_of
from fairlead.operations.api import Api
from fairlead.storage.collection import Collection
from fairlead.storage.version import Change

PODS, NODES = "core/v1/pods", "core/v1/nodes"
_NONE: Final[frozenset[str]] = frozenset()


class PodsByNode:
    """The keys of the pods of each node. Updated before controllers see the same change."""

    def __init__(self, api: Api) -> None:
        self._keys: dict[str, set[str]] = {}
        self._api = api
        if api.resources.serves(PODS):
            api.store.follow(self._pods, self._changed, essential=True)

    @property
    def _pods(self) -> Collection:
        return self._api.collection(self._api.resources.named(PODS))

    def close(self) -> None:
        """Unsubscribe from the store."""
        if self._api.resources.serves(PODS):
            self._api.store.unfollow(self._pods, self._changed)

    def _changed(self, change: Change) -> None:
        before, after = node_of(change.before), node_of(change.after)
        if before == after:
            return
        if before:
            left = self._keys[before]
            left.discard(change.key)
            if not left:
                del self._keys[before]
        if after:
            self._keys.setdefault(after, set()).add(change.key)

    def of(self, node: str) -> frozenset[str] | set[str]:
        """The live set; do not keep it."""
        return self._keys.get(node, _NONE)

    def nodes(self) -> list[str]:
        """Names of all nodes that pods are bound to, including deleted ones."""
        return list(self._keys)
