"""Selects the pods to delete when an owner has too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log2

from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.controllers.workloads.pods import Pod

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS = 1e9

Rank = tuple[bool, int, bool, int, int, int, int, int, str]


def to_remove(
    pods: Sequence[Pod], related: Iterable[Pod], count: int, cost_annotation: str
) -> list[Pod]:
    """The `count` pods to delete first: unassigned, not started, not ready, lower deletion cost, on
    a node with more related pods, ready for a shorter time, more restarts, younger. `related` are
    the pods of all sets with the same controller. An empty `cost_annotation` disables costs."""
    if count >= len(pods):
        return list(pods)
    crowds = Counter(pod.node for pod in related if pod.active)
    now = clock.time()

    def rank(pod: Pod) -> Rank:
        return (
            bool(pod.node),
            _PHASES.get(pod.phase, 0),
            pod.ready,
            _cost(pod, cost_annotation),
            -crowds[pod.node],
            _age(pod.ready_since, now) if pod.ready else 0,
            -pod.restarts,
            _age(pod.created, now),
            pod.uid,
        )

    return sorted(pods, key=rank)[:count]


def _cost(pod: Pod, annotation: str) -> int:
    from fairlead.resources.core.pods.annotations import is_deletion_cost  # imports all pod rules

    text = pod.annotations.get(annotation, "0") if annotation else "0"
    return int(text) if is_deletion_cost(text) else 0


def _age(since: str, now: float) -> int:
    """The binary order of magnitude of an age: pods of similar age are ordered by uid, which is
    random. An unknown time counts as long ago."""
    seconds = now - (parse_time(since).timestamp() if since else 0.0)
    return int(log2(seconds * _NANOSECONDS)) if seconds > 0 else -1
