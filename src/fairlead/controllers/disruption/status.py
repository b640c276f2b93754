"""Computes the status of a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fairlead.base import clock
from fairlead.codec.types.times import now, parse_time
from fairlead.controllers.disruption.scales import BudgetPod
from fairlead.operations.api import Object
from fairlead.resources.apps.shared import int_or_percent

DELETION_SECONDS = 120.0  # until an evicted pod that still exists counts again
ALLOWED = "DisruptionAllowed"
SUFFICIENT, INSUFFICIENT, FAILED = "SufficientPods", "InsufficientPods", "SyncFailed"


class Counts(NamedTuple):
    """The number of expected pods, and of pods that must stay healthy."""

    expected: int
    desired: int


def scales(spec: Object) -> bool:
    """Whether a budget depends on the scale of its pods' controllers."""
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def counts_of(spec: Object, number: int, expected: Callable[[], int]) -> Counts:
    """`number` is how many pods exist; `expected` computes how many there should be."""
    unavailable, available = spec.get("maxUnavailable"), spec.get("minAvailable")
    if unavailable is not None:
        total = expected()
        return Counts(total, max(0, total - _absolute(unavailable, total)))
    if isinstance(available, str):
        total = expected()
        return Counts(total, _absolute(available, total))
    return Counts(number, available) if available is not None else Counts(0, 0)


def _absolute(value: int | str, total: int) -> int:
    """A number, or a percentage of `total`, rounded up."""
    return value if isinstance(value, int) else -(-int_or_percent(value) * total // 100)


class Disrupted(NamedTuple):
    """`going`: evicted pods not deleted yet; `look_again`: seconds until the first of them is
    overdue; `overdue`: evicted pods that should have been deleted."""

    going: dict[str, str]
    look_again: float | None
    overdue: list[str]


def disrupted(status: Object, pods: Iterable[BudgetPod]) -> Disrupted:
    recorded: dict[str, str] = status.get("disruptedPods") or {}
    moment = clock.time()
    going: dict[str, str] = {}
    overdue: list[str] = []
    waits: list[float] = []
    for pod in pods if recorded else ():
        if pod.name not in recorded or pod.terminating:
            continue
        left = parse_time(recorded[pod.name]).timestamp() + DELETION_SECONDS - moment
        if left < 0:
            overdue.append(pod.name)
        else:
            going[pod.name] = recorded[pod.name]
            waits.append(left)
    return Disrupted(going, min(waits, default=None), overdue)


def described(
    budget: Object, pods: Iterable[BudgetPod], counts: Counts, going: dict[str, str]
) -> Object:
    """The new status of a budget."""
    generation = budget["metadata"].get("generation", 0)
    healthy = sum(pod.ready and not pod.terminating and pod.name not in going for pod in pods)
    allowed = max(0, healthy - counts.desired) if counts.expected > 0 else 0
    status = {
        **budget["status"],
        "observedGeneration": generation,
        "currentHealthy": healthy,
        "desiredHealthy": counts.desired,
        "expectedPods": counts.expected,
        "disruptionsAllowed": allowed,
        "disruptedPods": going,
    }
    if not going:
        del status["disruptedPods"]
    return _with_condition(status, SUFFICIENT if allowed else INSUFFICIENT)


def failed(budget: Object, why: str) -> Object:
    """The status on failure: no disruptions allowed."""
    status = {**budget["status"], "disruptionsAllowed": 0}
    return _with_condition(status, FAILED, why)


def _with_condition(status: Object, reason: str, message: str = "") -> Object:
    conditions = status.get("conditions") or []
    old = next((condition for condition in conditions if condition["type"] == ALLOWED), None)
    state = "True" if reason == SUFFICIENT else "False"
    since = old["lastTransitionTime"] if old is not None and old["status"] == state else now()
    new = {
        "type": ALLOWED,
        "status": state,
        "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    if not new["observedGeneration"]:
        del new["observedGeneration"]
    if old is None:
        return {**status, "conditions": [*conditions, new]}
    return {
        **status,
        "conditions": [new if condition is old else condition for condition in conditions],
    }
