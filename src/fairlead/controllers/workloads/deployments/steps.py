"""Arithmetic of a rollout: limits per step, and proportional scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.controllers.workloads.deployments import replica_sets as sets
from fairlead.controllers.workloads.deployments.annotations import Annotations
from fairlead.controllers.workloads.replicas import resolved
from fairlead.operations.api import Object


@dataclass(frozen=True, slots=True)
class Limits:
    """Desired replicas, surge above it and allowed unavailability."""

    replicas: int
    surge: int
    unavailable: int
    rolling: bool

    @property
    def maximum(self) -> int:
        return self.replicas + self.surge

    @property
    def min_available(self) -> int:
        return self.replicas - self.unavailable


def limits_of(deployment: Object) -> Limits:
    spec = deployment["spec"]
    replicas = spec.get("replicas") or 0
    strategy = spec.get("strategy") or {}
    if strategy.get("type") != "RollingUpdate":
        return Limits(replicas, 0, 0, rolling=False)
    update = strategy.get("rollingUpdate") or {}
    surge = resolved(update.get("maxSurge", 0), replicas, up=True)
    unavailable = resolved(update.get("maxUnavailable", 0), replicas, up=False)
    # Small percentages round to 0, which would block the rollout.
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return Limits(replicas, surge, min(unavailable, replicas), rolling=True)


def new_size(limits: Limits, everything: Sequence[Object], size: int) -> int:
    """The size that the new ReplicaSet, now `size`, may grow to within the limits."""
    if not limits.rolling:
        return limits.replicas
    room = limits.maximum - sets.total_desired(everything)
    return size + min(room, limits.replicas - size) if room > 0 else size


def removable(limits: Limits, everything: Sequence[Object], new: Object) -> int:
    """How many old pods may be removed. Unavailable pods of the new ReplicaSet count as missing."""
    missing = sets.desired_size(new) - sets.count("availableReplicas", [new])
    return sets.total_desired(everything) - limits.min_available - missing


def without_unhealthy(old: Sequence[Object], maximum: int) -> list[int]:
    """Sizes of old ReplicaSets, oldest first, with up to `maximum` unavailable pods removed."""
    sizes = []
    for replica_set in old:
        size = sets.desired_size(replica_set)
        unhealthy = max(0, size - sets.count("availableReplicas", [replica_set]))
        removed = min(maximum, unhealthy)
        maximum -= removed
        sizes.append(size - removed)
    return sizes


def scaled_down(sizes: Sequence[int], maximum: int) -> list[int]:
    """Sizes after removing `maximum` pods, from the first ones first."""
    left = []
    for size in sizes:
        removed = max(0, min(maximum, size))
        maximum -= removed
        left.append(size - removed)
    return left


def scale_proportionally(
    deployment: Object, everything: Sequence[Object], annotations: Annotations
) -> list[tuple[Object, int]]:
    """Proportional scaling during a rollout: each active ReplicaSet changes by its share, and the
    largest takes the remainder."""
    limits = limits_of(deployment)
    replica_sets = sets.active(everything)
    allowed = limits.maximum if limits.replicas > 0 else 0
    change = allowed - sets.total_desired(replica_sets)
    if not change:
        return [(replica_set, sets.desired_size(replica_set)) for replica_set in replica_sets]
    replica_sets = sets.largest_first(replica_sets, older_first=change < 0)
    sizes, changed = [], 0
    for replica_set in replica_sets:
        share = _share(deployment, limits, replica_set, annotations)
        left = change - changed
        share = min(share, left) if change > 0 else max(share, left)
        changed += share
        sizes.append(sets.desired_size(replica_set) + share)
    if sizes:
        sizes[0] = max(0, sizes[0] + change - changed)
    return list(zip(replica_sets, sizes, strict=True))


def _share(
    deployment: Object, limits: Limits, replica_set: Object, annotations: Annotations
) -> int:
    size = sets.desired_size(replica_set)
    if limits.replicas == 0:
        return -size
    status = deployment.get("status") or {}
    before = annotations.max_replicas(replica_set) or status.get("replicas") or limits.maximum
    return int(size * limits.maximum / before + 0.5) - size
