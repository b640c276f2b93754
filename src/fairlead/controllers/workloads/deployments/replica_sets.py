"""Helpers for the ReplicaSets of a Deployment, which are passed as stored values, and for their pod
templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fairlead.controllers.workloads.history import filled
from fairlead.operations.api import Object

Change = Callable[[Object], Object]
HASH_LABEL = "pod-template-hash"


def desired_size(replica_set: Object) -> int:
    """The desired number of pods."""
    return replica_set["spec"].get("replicas") or 0


def count(name: str, sets: Iterable[Object]) -> int:
    """The sum of a status field."""
    return sum((replica_set.get("status") or {}).get(name) or 0 for replica_set in sets)


def total_desired(sets: Iterable[Object]) -> int:
    return sum(map(desired_size, sets))


def active(sets: Iterable[Object]) -> list[Object]:
    """The ReplicaSets with a desired size above 0."""
    return [replica_set for replica_set in sets if desired_size(replica_set) > 0]


def age_order(replica_set: Object) -> tuple[str, str]:
    return replica_set["metadata"]["creationTimestamp"], replica_set["metadata"]["name"]


def by_age(sets: Iterable[Object]) -> list[Object]:
    """The oldest first."""
    return sorted(sets, key=age_order)


def largest_first(sets: Iterable[Object], *, older_first: bool) -> list[Object]:
    """Sorted by size; equal sizes by age."""
    return sorted(
        sorted(sets, key=age_order, reverse=not older_first), key=desired_size, reverse=True
    )


def active_or_latest(new: Object | None, old: Sequence[Object]) -> Object | None:
    """The only ReplicaSet with a size above 0; if there is none, the new or the newest old one;
    None if there are several."""
    running = active([*old, *([new] if new else [])])
    if len(running) > 1:
        return None
    if running:
        return running[0]
    return new or (by_age(old)[-1] if old else None)


def is_idle(replica_set: Object) -> bool:
    """Whether its spec and observed status both have no pods."""
    status = replica_set.get("status") or {}
    is_observed = status.get("observedGeneration", 0) >= replica_set["metadata"].get(
        "generation", 0
    )
    return is_observed and not desired_size(replica_set) and not status.get("replicas")


# Pod templates of a Deployment, distinguished by a hash label.


def same_template(template: Object, other: Object) -> bool:
    """Whether templates are equal apart from the hash label and empty fields."""
    return bool(_comparable(template) == _comparable(other))


def _comparable(template: Object) -> Any:
    return filled(without_hash(template))


def without_hash(template: Object) -> Object:
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {})}
    labels.pop(HASH_LABEL, None)
    return {**template, "metadata": {**metadata, "labels": labels}}


def with_hash(labels: Object | None, text: str) -> Object:
    return {**(labels or {}), HASH_LABEL: text}


def selector_with_hash(selector: Object, text: str) -> Object:
    return {**selector, "matchLabels": with_hash(selector.get("matchLabels"), text)}
