"""The pace of an autoscaler: stabilization windows, policies and limits."""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import NamedTuple

from fairlead.base import clock
from fairlead.operations.api import Object
from fairlead.resources.autoscaling.autoscalers import MAX_PERIOD, MAX_WINDOW, SCALE_DOWN, SCALE_UP

_DOWN_WINDOW = 300.0  # seconds, without a window of its own
# Without a behavior the replicas are at most doubled, but at least four are allowed.
_UP_FACTOR, _UP_MINIMUM = 2, 4
_WITHIN_RANGE = ("DesiredWithinRange", "the desired count is within the acceptable range")
_RECENT = "recent recommendations were {0}er than current one, applying the {0}est recent"
_STABILIZED = {
    "Up": _RECENT.format("low") + " recommendation",
    "Down": _RECENT.format("high") + " recommendation",
}
_LIMITS = {
    "ScaleUpLimit": "the desired replica count is increasing faster than the maximum scale rate",
    "ScaleDownLimit": "the desired replica count is decreasing faster than the maximum scale rate",
    "TooManyReplicas": "the desired replica count is more than the maximum replica count",
    "TooFewReplicas": "the desired replica count is less than the minimum replica count",
}


class Decision(NamedTuple):
    """The replicas that a target gets; `stabilized` is empty or the direction (`Up`, `Down`) in
    which it waits, `limit` the reason if it may not get what it needs."""

    replicas: int
    stabilized: str
    limit: str

    @property
    def able(self) -> tuple[str, str]:
        """Reason and text of the condition AbleToScale."""
        if self.stabilized:
            return f"Scale{self.stabilized}Stabilized", _STABILIZED[self.stabilized]
        return "ReadyForNewScale", "recommended size matches current size"

    @property
    def limited(self) -> tuple[str, str, str]:
        """Status, reason and text of the condition ScalingLimited."""
        if self.limit:
            return "True", self.limit, _LIMITS[self.limit]
        return "False", *_WITHIN_RANGE


class ScalingHistory:
    """The recommendations for a target of an autoscaler, and the changes of its replicas."""

    def __init__(self, current: int) -> None:
        self._recommendations = deque([(clock.time(), current)])
        self._changes: deque[tuple[float, int]] = deque()

    def changed(self, before: int, after: int) -> None:
        """Remember that a target was scaled."""
        moment = clock.time()
        _drop_older(self._changes, moment - MAX_PERIOD)
        self._changes.append((moment, after - before))

    def decide(self, spec: Object, current: int, proposed: int) -> Decision:
        """The replicas for a target whose metrics propose some."""
        behavior, low, high = spec.get("behavior"), spec.get("minReplicas"), spec["maxReplicas"]
        low = 1 if low is None else low
        moment = clock.time()
        _drop_older(self._recommendations, moment - MAX_WINDOW)
        if behavior is None:
            since = moment - _DOWN_WINDOW
            recent = (count for time, count in self._recommendations if time >= since)
            stable = max((proposed, *recent))
            direction = "Down"
            most = max(_UP_FACTOR * current, _UP_MINIMUM)
            replicas, limit = _limited_plainly(stable, low, high, most)
        else:
            up = {**SCALE_UP, **(behavior.get("scaleUp") or {})}
            down = {"stabilizationWindowSeconds": _DOWN_WINDOW, **SCALE_DOWN}
            down.update(behavior.get("scaleDown") or {})
            stable = self._stable(moment, up, down, current, proposed)
            direction = "Up" if proposed >= current else "Down"
            replicas, limit = self._limited(moment, up, down, current, stable, low, high)
        self._recommendations.append((moment, proposed))
        return Decision(replicas, direction if stable != proposed else "", limit)

    def _stable(self, moment: float, up: Object, down: Object, current: int, proposed: int) -> int:
        """The count nearest to the current one that all recent recommendations allow."""
        up_since = moment - up["stabilizationWindowSeconds"]
        down_since = moment - down["stabilizationWindowSeconds"]
        lowest = highest = proposed
        for time, count in self._recommendations:
            if time > up_since:
                lowest = min(lowest, count)
            if time > down_since:
                highest = max(highest, count)
        return min(max(current, lowest), highest)

    def _limited(
        self,
        moment: float,
        up: Object,
        down: Object,
        current: int,
        wanted: int,
        low: int,
        high: int,
    ) -> tuple[int, str]:
        """The count that the policies allow, and the reason if it is not the wanted one."""
        if wanted > current:
            most = max(self._policy_limit(moment, up, current, 1), current)
            allowed, limit = (most, "ScaleUpLimit") if most < high else (high, "TooManyReplicas")
            return (allowed, limit) if wanted > allowed else (wanted, "")
        if wanted < current:
            least = min(self._policy_limit(moment, down, current, -1), current)
            allowed, limit = (least, "ScaleDownLimit") if least > low else (low, "TooFewReplicas")
            return (allowed, limit) if wanted < allowed else (wanted, "")
        return wanted, ""

    def _policy_limit(self, moment: float, rules: Object, current: int, sign: int) -> int:
        """The count that is farthest in a direction and still allowed by the policies."""
        chosen, policies = rules["selectPolicy"], rules["policies"]
        if chosen == "Disabled" or not policies:
            return current
        limits: list[int] = []
        for policy in policies:
            since = moment - policy["periodSeconds"]
            start = current - sum(change for time, change in self._changes if time > since)
            if policy["type"] == "Pods":
                limits.append(start + sign * policy["value"])
            else:
                factor = 1 + sign * policy["value"] / 100
                limits.append(ceil(start * factor) if sign > 0 else int(start * factor))
        return max(limits) if (chosen == "Min") == (sign < 0) else min(limits)


def _limited_plainly(wanted: int, low: int, high: int, most: int) -> tuple[int, str]:
    if wanted < low:
        return low, "TooFewReplicas"
    allowed, limit = (most, "ScaleUpLimit") if most < high else (high, "TooManyReplicas")
    return (allowed, limit) if wanted > allowed else (wanted, "")


def _drop_older(entries: deque[tuple[float, int]], since: float) -> None:
    while entries and entries[0][0] < since:
        entries.popleft()
