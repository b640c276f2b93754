"""Rates of eviction by zone, and which nodes count as healthy."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.base import clock
from fairlead.base.dialect import KUBERNETES
from fairlead.controllers.nodes.lifecycle.controller import Heartbeats
from fairlead.controllers.nodes.lifecycle.zones import Rates, Zones
from fairlead.storage.version import Version

Object = dict[str, Any]
RATES = Rates(normal=0.1, slow=0.01, disrupted_part=0.55, large=50)
ZONE = "topology.kubernetes.io/zone"
EXEMPT = "node.kubernetes.io/exclude-disruption"


def node(name: str, zone: str = "z", **labels: str) -> Object:
    return {"metadata": {"name": name, "labels": {ZONE: zone, **labels}}}


def zones_of(ready: int, lost: int, zone: str = "z", zones: Zones | None = None) -> Zones:
    result = zones or Zones(KUBERNETES, RATES)
    for number in range(ready):
        result.place(node(f"{zone}-ready-{number}", zone), ready=True)
    for number in range(lost):
        result.place(node(f"{zone}-lost-{number}", zone), ready=False)
    result.update_rates()
    return result


def test_one_node_is_given_up_after_the_other() -> None:
    zones = zones_of(10, 3)
    assert [zones.eviction_time(f"z-lost-{number}", 100.0) for number in range(3)] == [
        100.0,
        110.0,
        120.0,
    ]


def test_node_that_waits_to_be_given_up_keeps_its_turn() -> None:
    zones = zones_of(10, 3)
    zones.eviction_time("z-lost-0", 100.0)
    assert zones.eviction_time("z-lost-1", 100.0) == zones.eviction_time("z-lost-1", 105.0) == 110.0


def test_two_lost_nodes_are_no_disruption() -> None:
    assert zones_of(1, 2).eviction_time("z-lost-0", 100.0) == 100.0


def test_no_node_of_a_small_disrupted_zone_is_given_up() -> None:
    assert zones_of(2, 3).eviction_time("z-lost-0", 100.0) is None


def test_nodes_of_a_large_disrupted_zone_are_given_up_slowly() -> None:
    zones = zones_of(20, 40)
    assert zones.eviction_time("z-lost-0", 100.0) == 100.0
    assert zones.eviction_time("z-lost-1", 100.0) == pytest.approx(200.0)


def test_a_zone_that_is_wholly_lost_is_given_up_while_another_is_well() -> None:
    zones = zones_of(1, 0, "well", zones_of(0, 5))
    assert zones.eviction_time("z-lost-0", 100.0) == 100.0
    assert not zones.all_disrupted


def test_nothing_is_given_up_when_every_zone_is_lost() -> None:
    zones = zones_of(0, 5, "other", zones_of(0, 1))
    assert zones.all_disrupted
    assert zones.eviction_time("z-lost-0", 100.0) is None


def test_giving_up_nodes_goes_on_when_a_node_answers_again() -> None:
    zones = zones_of(0, 5)
    zones.place(node("z-lost-4"), ready=True)
    zones.place(node("z-lost-3"), ready=True)
    zones.place(node("z-lost-2"), ready=True)
    assert zones.update_rates()
    assert not zones.all_disrupted
    assert zones.eviction_time("z-lost-0", 100.0) == 100.0


def test_turns_are_given_anew_when_a_zone_fares_otherwise() -> None:
    zones = zones_of(31, 29)
    for number in range(5):
        zones.eviction_time(f"z-lost-{number}", 100.0)
    for number in range(10):
        zones.place(node(f"z-ready-{number}"), ready=False)
    assert zones.update_rates()
    assert zones.eviction_time("z-lost-4", 100.0) == pytest.approx(200.0)


def test_exempt_nodes_do_not_disrupt_a_zone() -> None:
    zones = zones_of(2, 0)
    for number in range(5):
        zones.place(node(f"exempt-{number}", **{EXEMPT: ""}), ready=False)
    zones.update_rates()
    assert zones.eviction_time("exempt-0", 100.0) == 100.0


def test_a_node_that_moves_leaves_its_zone() -> None:
    zones = zones_of(1, 0, "well", zones_of(0, 1))
    zones.place(node("well-ready-0", "z"), ready=True)
    zones.update_rates()
    assert not zones.all_disrupted
    zones.remove("well-ready-0")
    zones.update_rates()
    assert zones.all_disrupted


class Times:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    times = Times()
    monkeypatch.setattr(clock, "time", times)
    monkeypatch.setattr(clock, "steady", times)
    return times


def lease(renewed: str, label: str = "") -> Version:
    body = f'"metadata":{{"name":"n","labels":{{"renewTime":"{label}"}}}},"spec":{{}}}}'
    if renewed:
        body = body.replace("{}}", f'{{"holderIdentity":"n","renewTime":"{renewed}"}}}}')
    return Version("ns/n", 1, "v1", body.encode())


def reporting(heartbeat: str | None, uid: str = "u") -> Object:
    metadata = {"name": "n", "uid": uid, "creationTimestamp": "1970-01-01T00:01:00Z"}
    if heartbeat is None:
        return {"metadata": metadata}
    condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": heartbeat}
    return {"metadata": metadata, "status": {"conditions": [condition]}}


def test_a_node_that_never_reported_was_heard_of_when_it_was_made(times: Times) -> None:
    assert Heartbeats().last(reporting(None)) == 60.0


def test_only_another_heartbeat_is_a_sign_of_life(times: Times) -> None:
    heard = Heartbeats()
    assert heard.last(reporting("1")) == 1000.0
    times.now = 1010.0
    assert heard.last(reporting("1")) == 1000.0
    assert heard.last(reporting("2")) == 1010.0


def test_only_another_renewal_is_a_sign_of_life(times: Times) -> None:
    heard = Heartbeats()
    heard.last(reporting("1"))
    for at, renewal, seen in (
        (1010.0, "2026-01-01T00:00:02.000000Z", 1010.0),
        (1020.0, "2026-01-01T00:00:02.000000Z", 1010.0),
        (1030.0, "2026-01-01T00:00:01.000000Z", 1030.0),
        (1040.0, "2026-01-01T00:00:03.000000Z", 1040.0),
    ):
        times.now = at
        heard.lease("n", lease(renewal, label="2099"))
        assert heard.last(reporting("1")) == seen


def test_a_lease_that_goes_takes_nothing_back(times: Times) -> None:
    heard = Heartbeats()
    heard.last(reporting("1"))
    times.now = 1010.0
    heard.lease("n", lease("2026-01-01T00:00:02.000000Z"))
    heard.lease("n", None)
    assert heard.last(reporting("1")) == 1010.0


def test_another_node_of_the_same_name_begins_anew(times: Times) -> None:
    heard = Heartbeats()
    heard.last(reporting("1"))
    times.now = 1010.0
    assert heard.last(reporting("1", uid="other")) == 1010.0
