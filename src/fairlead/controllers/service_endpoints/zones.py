"""The share of the cluster's CPUs in each zone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.codec.types.quantity import quantity
from fairlead.storage.collection import Collection
from fairlead.storage.version import Change, Version

_EXCLUDED = ("node-role.@/control-plane", "node-role.@/master")


class _Node(NamedTuple):
    zone: str
    processors: Decimal


class Zones:
    """Caches nodes; reads changed ones again on the next query."""

    def __init__(self, nodes: Collection, dialect: Dialect) -> None:
        self._nodes = nodes
        self.label = dialect.label("topology.@/zone")
        self._excluded = [dialect.label(name) for name in _EXCLUDED]
        self._cached_nodes: dict[str, _Node] | None = None
        self._changed: set[str] = set()

    def differ_by(self, change: Change) -> bool:
        """Record a change of a node; returns whether it affects the shares."""
        if self._cached_nodes is None:
            return False
        self._changed.add(change.name)
        return self._read(change.before) != self._read(change.after)

    def parts(self) -> Mapping[str, float]:
        """Shares by zone; empty with a single zone or incomplete data."""
        by_zone: Counter[str] = Counter()
        for node in self._current().values():
            if not node.zone or not node.processors:
                return {}
            by_zone[node.zone] += int(node.processors * 1000)
        total = by_zone.total()
        if len(by_zone) < 2 or not total:
            return {}
        return {zone: number / total for zone, number in sorted(by_zone.items())}

    def _current(self) -> dict[str, _Node]:
        if self._cached_nodes is None:
            self._cached_nodes = {}
            self._changed = {version.name for version in self._nodes.current("")}
        for name in self._changed:
            node = self._read(self._nodes.get(name))
            if node is None:
                self._cached_nodes.pop(name, None)
            else:
                self._cached_nodes[name] = node
        self._changed.clear()
        return self._cached_nodes

    def _read(self, version: Version | None) -> _Node | None:
        """A node that counts: ready and not of the control plane; else None."""
        if version is None or any(name in version.labels for name in self._excluded):
            return None
        status = version.object().get("status") or {}
        conditions = status.get("conditions") or ()
        ready = next(
            (condition["status"] for condition in conditions if condition["type"] == "Ready"), ""
        )
        if ready != "True":
            return None
        processors = quantity((status.get("allocatable") or {}).get("cpu") or "0")
        return _Node(version.labels.get(self.label, ""), processors)
