"""Shared by workload kinds of several groups: values in messages, numbers or percentages, and the
counts of a status.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, go_composite, go_pointer, quote
from fairlead.resources.go_values import go_selector
from fairlead.resources.rules import IMMUTABLE, PERCENT_ERROR, bounded_int, non_negative

# The annotation that counts the changes of a DaemonSet's template.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
# The field with the deletion policy of a StatefulSet's claims.
RETENTION = "persistentVolumeClaimRetentionPolicy"

# How messages show a field that is not set.
UNSET = GoValue('"null"', None)

_PERCENT = re.compile(r"\A([0-9]+)%\Z", re.ASCII)
_INTEGER = re.compile(r"\A[+-]?[0-9]+\Z", re.ASCII)


def selector_shown(selector: Object | None) -> str:
    """A label selector as messages print it."""
    return UNSET if selector is None else go_selector(selector)


def int_or_string_shown(value: int | str) -> GoValue:
    """An IntOrString as messages print it."""
    number, text = (value, "") if isinstance(value, int) else (0, value)
    kind = 0 if isinstance(value, int) else 1
    return GoValue(f"intstr.IntOrString{{Type:{kind}, IntVal:{number}, StrVal:{quote(text)}}}")


def strategy_shown(kind: str, type_: str, update_kind: str, steps: Object | None) -> GoValue:
    """The strategy of a workload as messages print it; `steps` has all fields."""
    update = go_pointer(f"apps.{update_kind}", steps)
    return go_composite(f"apps.{kind}", {"Type": quote(type_), "RollingUpdate": update})


def check_selector_kept(value: Object, old: Object, causes: Causes) -> None:
    """The selector of a workload is immutable."""
    selector = value["spec"].get("selector")
    if selector != old["spec"].get("selector"):
        causes.invalid("spec.selector", selector_shown(selector), IMMUTABLE)


def check_int_or_percent(value: int | str, path: str, causes: Causes) -> None:
    """Check a non-negative number or a percentage."""
    if isinstance(value, int):
        non_negative(value, path, causes)
    elif not _PERCENT.match(value):
        causes.invalid(path, int_or_string_shown(value), PERCENT_ERROR)


def check_at_most_hundred_percent(value: int | str, path: str, causes: Causes) -> None:
    if _percent(value) > 100:
        causes.invalid(path, int_or_string_shown(value), "must not be greater than 100%")


def _percent(value: int | str) -> int:
    match = _PERCENT.match(value) if isinstance(value, str) else None
    return bounded_int(match[1]) if match else 0


def int_or_percent(value: int | str) -> int:
    """The number in an IntOrString or percentage; 0 for other text."""
    if isinstance(value, int):
        return value
    return _percent(value) or (bounded_int(value) if _INTEGER.match(value) else 0)


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """The counts of a status. No count may be negative. `limits` are triples: a count, the count
    that it may not exceed, and the name of the latter in the message."""

    counts: Sequence[str]
    limits: Sequence[tuple[str, str, str]] = ()

    def check(self, status: Object, causes: Causes) -> None:
        for name in self.counts:
            non_negative(status.get(name), f"status.{name}", causes)
        for name, bound, shown in self.limits:
            count = status.get(name, 0)
            if count > status.get(bound, 0):
                causes.invalid(f"status.{name}", count, f"cannot be greater than {shown}")


def check_collision_count(status: Object, old_status: Object, causes: Causes) -> None:
    """The number of name collisions must not decrease."""
    count, before = status.get("collisionCount"), old_status.get("collisionCount")
    if before is not None and (count is None or count < before):
        causes.invalid("status.collisionCount", count or 0, "cannot be decremented")
