"""Which of an owner's pods go first when there are too many."""

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
    """So many of the pods, those first that are missed least: not assigned, not started, not ready,
    cheap to delete, on a node with many that are related, ready or made shortly ago, restarted
    often. `related` are the pods of all that have the same owner as theirs. `cost_annotation` is
    empty if costs do not count."""
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
    from fairlead.resources.core.pods.annotations import is_deletion_cost  # with all rules of pods

    text = pod.annotations.get(annotation, "0") if annotation else "0"
    return int(text) if is_deletion_cost(text) else 0


def _age(since: str, now: float) -> int:
    """The order of magnitude of an age, so that which of several pods of like age goes is left to
    chance. Where it is not known since when, that counts as long ago."""
    seconds = now - (parse_time(since).timestamp() if since else 0.0)
    return int(log2(seconds * _NANOSECONDS)) if seconds > 0 else -1
