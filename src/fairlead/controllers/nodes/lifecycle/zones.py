"""Eviction rates per zone: the more nodes of a zone are lost, the slower pods are evicted.

A single lost node is broken. A lost zone may be a network partition, where moving all pods makes
things worse. If no node in any zone reports, the fault is probably on our side, and eviction stops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fairlead.base.dialect import Dialect
from fairlead.operations.api import Object

_FEWEST_LOST = 2  # up to this many lost nodes a zone with ready nodes counts as normal


class State(Enum):
    NEW = "new"
    NORMAL = "normal"
    PARTIAL = "partially disrupted"
    FULL = "fully disrupted"


@dataclass(frozen=True, slots=True)
class Rates:
    """Nodes per second that may be tainted for eviction in a zone: `normal`; `slow` in a partially
    disrupted zone of more than `large` nodes, 0 in a smaller one. `disrupted_part` is the fraction
    of lost nodes from which a zone is partially disrupted."""

    normal: float
    slow: float
    disrupted_part: float
    large: int


@dataclass(slots=True)
class _Zone:
    rate: float
    state: State = State.NEW
    ready: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    # Nodes excluded from the zone's state, and whether they are ready.
    exempt: dict[str, bool] = field(default_factory=dict)
    eviction_times: dict[str, float] = field(default_factory=dict)  # scheduled, per node
    last_eviction_time: float | None = None  # the latest of them
    last_taken: float | None = None

    @property
    def size(self) -> int:
        """Nodes that count for the zone's state."""
        return len(self.ready) + len(self.lost)

    def forget(self, name: str) -> None:
        self.ready.discard(name)
        self.lost.discard(name)
        self.exempt.pop(name, None)

    def set_rate(self, rate: float) -> bool:
        """Returns whether the rate changed; then eviction times are scheduled anew."""
        if rate == self.rate:
            return False
        self.rate = rate
        self.eviction_times.clear()
        self.last_eviction_time = self.last_taken
        return True


class Zones:
    """Readiness of nodes by zone. Call `update_rates` after `place` and `remove` to update states
    and rates."""

    def __init__(self, dialect: Dialect, rates: Rates) -> None:
        self._rates = rates
        self._zones: dict[str, _Zone] = {}
        self._zone_of: dict[str, str] = {}
        label = dialect.label
        self._labels = [
            (label(f"topology.@/{name}"), label(f"failure-domain.beta.@/{name}"))
            for name in ("region", "zone")
        ]
        self._exempt = label("node.@/exclude-disruption")
        self.all_disrupted = False

    def place(self, node: Object, *, ready: bool) -> None:
        """Record the zone and readiness of a node."""
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        key = "\0".join(labels.get(new) or labels.get(old) or "" for new, old in self._labels)
        if self._zone_of.get(name) != key:
            self.remove(name)
            self._zone_of[name] = key
        zone = self._zones.get(key)
        if zone is None:
            zone = self._zones[key] = _Zone(self._rates.normal)
        zone.forget(name)
        if self._exempt in labels:
            zone.exempt[name] = ready
        else:
            (zone.ready if ready else zone.lost).add(name)
        if ready:
            zone.eviction_times.pop(name, None)

    def remove(self, name: str) -> None:
        key = self._zone_of.pop(name, None)
        if key is not None:
            zone = self._zones[key]
            zone.forget(name)
            zone.eviction_times.pop(name, None)
            if not zone.size and not zone.exempt:
                del self._zones[key]

    def update_rates(self) -> bool:
        """Returns whether the rate of a zone changed, so that lost nodes must be checked again."""
        states = [(zone, self._state(zone)) for zone in self._zones.values() if zone.size]
        were_all_disrupted = all(zone.state is State.FULL for zone, _ in states)
        self.all_disrupted = bool(states) and all(state is State.FULL for _, state in states)
        if self.all_disrupted and were_all_disrupted:
            return False
        changed = False
        for zone, state in states:
            zone.state = state
            rate = 0.0 if self.all_disrupted else self._rate(zone)
            changed = zone.set_rate(rate) or changed
        return changed

    def _state(self, zone: _Zone) -> State:
        lost = len(zone.lost)
        if not zone.ready:
            return State.FULL
        if lost > _FEWEST_LOST and lost / zone.size >= self._rates.disrupted_part:
            return State.PARTIAL
        return State.NORMAL

    def _rate(self, zone: _Zone) -> float:
        if zone.state is not State.PARTIAL:
            return self._rates.normal
        return self._rates.slow if zone.size > self._rates.large else 0.0

    def eviction_time(self, name: str, now: float) -> float | None:
        """When a lost node may be tainted for eviction, scheduling it if needed; None while the
        rate is 0."""
        zone = self._zones[self._zone_of[name]]
        if not zone.rate:
            return None
        eviction_time = zone.eviction_times.get(name)
        if eviction_time is None:
            free = (
                now if zone.last_eviction_time is None else zone.last_eviction_time + 1 / zone.rate
            )
            eviction_time = zone.eviction_times[name] = zone.last_eviction_time = max(now, free)
        if eviction_time <= now:
            zone.last_taken = max(eviction_time, zone.last_taken or 0.0)
        return eviction_time

    def lost(self) -> list[str]:
        """All nodes that are not ready."""
        nodes: list[str] = []
        for zone in self._zones.values():
            nodes += zone.lost
            nodes += (name for name, ready in zone.exempt.items() if not ready)
        return nodes
