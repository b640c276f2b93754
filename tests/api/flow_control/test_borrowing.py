"""Priority levels lend seats to each other, release 1.36."""

from __future__ import annotations

from typing import Any

import pytest
from orjson import dumps
from support.namespaces import Space

from fairlead.api.flow_control.borrowing import Claim, LevelSeats, adjust, fair_fraction
from fairlead.api.flow_control.configuration import Configuration
from fairlead.base.dialect import KUBERNETES
from fairlead.resources.flowcontrol.bootstrap import NOMINAL_LEVELS
from fairlead.storage.version import Version, existing

QUEUE = {"type": "Queue", "queuing": {"queues": 4, "handSize": 2, "queueLengthLimit": 3}}


def level(name: str, nominal: int, **limited: int) -> LevelSeats:
    seats = LevelSeats(name, 0.0)
    seats.configure(nominal, {"type": "Limited", "limited": limited}, 100)
    return seats


def limits(*levels: LevelSeats) -> list[int]:
    return [seats.current for seats in levels]


def test_a_busy_level_gets_what_idle_levels_lend() -> None:
    busy, idle = level("busy", 40), level("idle", 60, lendablePercent=50)
    busy.change(200, 0.0)
    adjust([busy, idle], 10.0)
    assert limits(busy, idle) == [70, 30]
    busy.change(-200, 10.0)
    idle.change(60, 10.0)
    adjust([busy, idle], 20.0)
    assert limits(busy, idle) == [40, 60]  # the lender has all of its own seats back


def test_a_level_borrows_within_its_limit_only() -> None:
    busy = level("busy", 40, borrowingLimitPercent=25)
    idle = level("idle", 60, lendablePercent=100)
    busy.change(200, 0.0)
    adjust([busy, idle], 10.0)
    assert limits(busy, idle) == [50, 50]


def test_exempt_requests_are_taken_from_what_others_may_lend() -> None:
    exempt = LevelSeats("exempt", 0.0)
    exempt.configure(0, {"type": "Exempt"}, 100)
    busy, idle = level("busy", 50, lendablePercent=40), level("idle", 50, lendablePercent=40)
    exempt.change(30, 0.0)
    for seats in (busy, idle):
        seats.change(80, 0.0)
    assert adjust([exempt, busy, idle], 10.0) == 0.0
    assert limits(exempt, busy, idle) == [30, 35, 35]
    exempt.change(70, 10.0)
    adjust([exempt, busy, idle], 20.0)
    assert limits(exempt, busy, idle) == [100, 30, 30]


def test_demand_is_remembered_for_some_minutes() -> None:
    seats = level("bursts", 10)
    seats.change(4, 0.0)
    seats.change(-4, 5.0)
    seats.end_period(10.0)
    assert (seats.high, seats.average, seats.deviation, seats.smoothed) == (4, 2.0, 2.0, 4.0)
    seats.end_period(20.0)
    assert (seats.high, seats.average, seats.deviation) == (0, 0.0, 0.0)
    assert seats.smoothed == pytest.approx(4 * 0.977)


def test_the_fair_fraction_uses_up_all_seats() -> None:
    claims = [Claim(10, 5, 100), Claim(20, 15, 25), Claim(0, 0, 1)]
    fraction = fair_fraction(60, claims)
    assert [claim.at(fraction) for claim in claims] == pytest.approx([34.99, 25, 0.0035], rel=0.01)
    assert fair_fraction(1000, claims) == 1000.0  # where all have their upper bounds
    assert fair_fraction(0, []) == 0.0


def test_waiting_requests_are_seated_when_the_limit_rises() -> None:
    configuration = Configuration(KUBERNETES, 10, levels=NOMINAL_LEVELS, lends=True)

    def put(name: str, **limited: Any) -> None:
        spec = {"type": "Limited", "limited": {"limitResponse": QUEUE, **limited}}
        value = {"metadata": {"name": name, "uid": name}, "spec": spec}
        configuration.level_changed(existing("x", Version(name, 1, "v1", dumps(value)[1:])))

    put("lender", nominalConcurrencyShares=90, lendablePercent=90)
    put("borrower", nominalConcurrencyShares=5)
    queues, seats = configuration.levels["borrower"].queues, configuration.levels["borrower"].seats
    assert queues is not None
    assert seats is not None
    resized: list[int] = []
    configuration.resized = lambda: resized.append(queues.limit)
    before = queues.limit
    seats.change(50, seats.since)
    configuration.adjust(seats.since + 10)
    assert resized == [9]  # all but one of the lender's and catch-all's one
    assert before < 9


def test_one_request_takes_a_part_of_its_level_at_most() -> None:
    configuration = Configuration(KUBERNETES, 40, levels=NOMINAL_LEVELS, lends=True)
    limited = {"limitResponse": QUEUE, "nominalConcurrencyShares": 15}
    value = {"metadata": {"name": "a"}, "spec": {"type": "Limited", "limited": limited}}
    configuration.level_changed(existing("x", Version("a", 1, "v1", dumps(value)[1:])))
    assert configuration.levels["a"].max_seats == 5  # 15 % of 30
    assert configuration.levels["catch-all"].max_seats == 10


def test_metrics_show_the_limits_of_all_levels(space_1_36: Space) -> None:
    text = space_1_36.client.get("/metrics").text

    def shown(name: str) -> dict[str, float]:
        start = f'apiserver_flowcontrol_{name}{{priority_level="'
        lines = [line for line in text.splitlines() if line.startswith(start)]
        return {line.split('"')[1]: float(line.split()[-1]) for line in lines}

    nominal, lower, upper = (shown(f"{word}_limit_seats") for word in ("nominal", "lower", "upper"))
    for name, bounds in {
        "exempt": (0, 0, 600),
        "catch-all": (13, 13, 613),
        "global-default": (49, 24, 649),
        "leader-election": (25, 25, 625),
        "node-high": (98, 73, 698),
        "system": (74, 50, 674),
        "workload-high": (98, 49, 698),
        "workload-low": (245, 24, 845),
    }.items():
        assert (nominal[name], lower[name], upper[name]) == bounds
        assert lower[name] <= shown("current_limit_seats")[name] <= upper[name]
    for name in ("high_watermark", "average", "stdev", "smoothed"):
        assert shown(f"demand_seats_{name}").keys() == nominal.keys()
    assert "apiserver_flowcontrol_seat_fair_frac" in text
