"""Lends seats between priority levels: every ten seconds the limits of all levels are computed anew
from the seats that their requests could have used since the last time.

A level keeps its nominal seats less what it may lend, and gets its nominal seats plus what it may
borrow at most. In between, seats are divided in proportion to demand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import floor, sqrt
from typing import Any, Final, NamedTuple

from fairlead.base.metrics import REGISTRY

PERIOD: Final = 10.0  # seconds between adjustments
_DECAY: Final = 0.977  # of the smoothed demand in one period: half of it is left after five minutes
_LEAST_TARGET: Final = 0.001
_NANOSECONDS: Final = 1e9

DEMAND: Final = REGISTRY.histogram(
    "apiserver_flowcontrol_demand_seats",
    "Nanoseconds by the seats that a priority level could use, as a fraction of its current limit.",
    (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.7, 2.0, 2.8, 4.0, 6.0),
    ("priority_level",),
)


class LevelSeats:
    """The limits of a level, and the demand that they follow. Requests only call `change`."""

    __slots__ = (
        "average", "current", "deviation", "high", "is_exempt", "lower", "name", "nominal",
        "seconds", "since", "smoothed", "target", "unit", "upper", "wanted",
    )  # fmt: skip

    def __init__(self, name: str, now: float) -> None:
        self.name = name
        self.is_exempt = False
        self.nominal = self.lower = self.upper = 0
        self.current = -1  # not known yet
        self.unit = 1  # what demand is a fraction of while the limit is 0
        self.target = 0.0
        self.wanted = 0  # seats of running and waiting requests
        self.since = now  # when `wanted` last changed
        self.seconds: dict[int, float] = {}  # of this period, by wanted seats
        self.high = 0
        self.average = self.deviation = self.smoothed = 0.0

    def change(self, by: int, now: float) -> None:
        """Requests want so many more seats from now on."""
        wanted, seconds = self.wanted, self.seconds
        seconds[wanted] = seconds.get(wanted, 0.0) + now - self.since
        self.since = now
        self.wanted = wanted + by

    def configure(self, nominal: int, spec: Mapping[str, Any], total: int) -> None:
        """Set the bounds. Without a limit of its own, a level may borrow all seats of the
        server."""
        limited = spec.get("limited")
        self.is_exempt = spec.get("type") == "Exempt" or limited is None
        part = (spec.get("exempt") if self.is_exempt else limited) or {}
        lendable = _percent(nominal, part.get("lendablePercent") or 0)
        borrowable = part.get("borrowingLimitPercent")
        self.unit = max(1, _rounded(total / 10))
        self.nominal = nominal
        self.lower = nominal - lendable
        self.upper = nominal + (total if borrowable is None else _percent(nominal, borrowable))
        if self.current < 0:
            self.current = nominal - lendable // 2

    def end_period(self, now: float) -> None:
        """Summarize the demand since the last call."""
        self.change(0, now)
        seconds, self.seconds = self.seconds, {self.wanted: 0.0}
        self._count(seconds)
        self.high = max(seconds)
        lasted = sum(seconds.values())
        if lasted <= 0:
            return
        self.average = sum(seats * time for seats, time in seconds.items()) / lasted
        squares = sum(seats * seats * time for seats, time in seconds.items()) / lasted
        self.deviation = sqrt(max(0.0, squares - self.average * self.average))
        envelope = self.average + self.deviation
        self.smoothed = max(envelope, _DECAY * self.smoothed + (1 - _DECAY) * envelope)

    def _count(self, seconds: Mapping[int, float]) -> None:
        row, limit = DEMAND.row((self.name,)), self.current or self.unit
        for seats, time in seconds.items():
            row[bisect_left(DEMAND.bounds, seats / limit)] += time * _NANOSECONDS
            row[-1] += seats / limit * time * _NANOSECONDS

    @property
    def least(self) -> int:
        """The seats that this level gets in the next period whatever others want: what it wanted
        at most in the last one, up to its nominal limit. An exempt level takes what it wants."""
        wanted = self.high if self.is_exempt else min(self.nominal, self.high)
        return max(self.lower, wanted)


def _percent(of: int, percent: int) -> int:
    return (of * percent + 50) // 100


def _rounded(seats: float) -> int:
    return floor(seats + 0.5)


def adjust(levels: Sequence[LevelSeats], now: float) -> float:
    """Set the current limits; returns the fair fraction: the part of their targets that levels get
    which no bound holds."""
    total = left = sum(level.nominal for level in levels)
    for level in levels:
        level.end_period(now)
        if level.is_exempt:
            level.current = level.least
            level.target = float(level.least)
            left -= level.least
    limited = [level for level in levels if not level.is_exempt]
    for level in limited:
        level.target = max(float(level.least), level.smoothed)
    lower = sum(level.lower for level in limited)
    least = sum(level.least for level in limited)
    if left <= least:  # exempt requests take so many that others get a part of their least
        part = max(0.0, (left - lower) / (least - lower)) if least > lower else 0.0
        for level in limited:
            level.current = level.lower + _rounded((level.least - level.lower) * part)
        return 0.0
    claims = [Claim(level.target, level.least, level.upper) for level in limited]
    fraction = fair_fraction(total, claims)
    for level, claim in zip(limited, claims, strict=True):
        level.current = _rounded(claim.at(fraction))
    return fraction


class Claim(NamedTuple):
    """What a level wants, and between which bounds it can have it."""

    target: float
    lower: float
    upper: float

    def at(self, fraction: float) -> float:
        """The seats if everybody gets this fraction of their target."""
        return max(self.lower, min(self.upper, fraction * max(self.target, _LEAST_TARGET)))

    @property
    def bends(self) -> tuple[float, float]:
        """The fractions at which the bounds begin to hold."""
        target = max(self.target, _LEAST_TARGET)
        return self.lower / target, self.upper / target


def fair_fraction(total: float, claims: Sequence[Claim]) -> float:
    """The fraction at which all claims together take `total` seats, or the nearest to that which
    their bounds allow. What they take rises with the fraction, and is linear between bends."""
    bends = sorted({bend for claim in claims for bend in claim.bends})
    if not bends:
        return 0.0

    def taken(fraction: float) -> float:
        return sum(claim.at(fraction) for claim in claims)

    index = bisect_left(bends, total, key=taken)
    if index == len(bends):
        return bends[-1]
    if index == 0:
        return bends[0]
    before, after = bends[index - 1], bends[index]
    below, above = taken(before), taken(after)
    return before + (after - before) * (total - below) / (above - below)
