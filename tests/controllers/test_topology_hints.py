"""Topology hints of services that enable them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from support.client import Object
from support.namespaces import Space
from support.process import FreshServer
from support.services import Backend
from support.waiting import eventually

from fairlead.controllers.service_endpoints.hints import is_overloaded, put_hints
from fairlead.controllers.service_endpoints.slice_index import Plan

HALVES = {"a": 0.5, "b": 0.5}


class Zoned(Backend):
    """Nodes in zones, each with a pod or more behind one service."""

    def node_in(self, zone: str, name: str = "") -> None:
        name = name or f"node-{zone}"
        self.nodes.create(name, labels={self.label("topology.@/zone"): zone})
        self.report(name)

    def report(self, name: str, ready: str = "True", cpu: str = "4") -> None:
        status = {
            "allocatable": {"cpu": cpu},
            "conditions": [{"type": "Ready", "status": ready}],
        }
        path = self.nodes.item(name, "status")
        assert self.space.client.patch(path, {"status": status}).status == 200

    def ask(self, value: str | None) -> None:
        name = self.label("service.@/topology-aware-hints")
        self.services.patch("s", {"metadata": {"annotations": {name: value}}})

    def hints(self) -> dict[str, str]:
        """The zone that each endpoint is for."""
        return {
            ip: zone["name"]
            for ip, endpoint in self.in_slices().items()
            for zone in (endpoint.get("hints") or {}).get("forZones") or ()
        }

    def await_hints(self, wanted: Mapping[str, str]) -> None:
        eventually(lambda: self.hints() == wanted, f"hints are {wanted}")


@pytest.fixture
def zoned(fresh_server: FreshServer) -> Zoned:
    server = fresh_server()
    zoned = Zoned(Space(server, server.client()))
    for zone in ("a", "b"):
        zoned.node_in(zone)
    zoned.service()
    for number, zone in enumerate("aaabbb"):
        zoned.pod(f"p{number}", f"10.1.0.{number}", node=f"node-{zone}")
    zoned.has_slices(*(f"10.1.0.{number}" for number in range(6)))
    return zoned


def test_endpoints_are_for_their_own_zones(zoned: Zoned) -> None:
    assert zoned.hints() == {}
    zoned.ask("Auto")
    zoned.await_hints({f"10.1.0.{number}": zone for number, zone in enumerate("aaabbb")})
    zoned.ask(None)
    zoned.await_hints({})


def test_zones_that_come_and_go_are_given_their_share(zoned: Zoned) -> None:
    zoned.ask("auto")
    eventually(lambda: len(zoned.hints()) == 6, "there are hints")
    zoned.node_in("c")
    eventually(lambda: "c" in zoned.hints().values(), "the new zone has endpoints")
    zoned.report("node-c", ready="False")
    eventually(lambda: set(zoned.hints().values()) == {"a", "b"}, "it has none any more")
    zoned.report("node-b", ready="False")
    zoned.await_hints({})


def test_endpoint_that_is_not_ready_has_no_hint(zoned: Zoned) -> None:
    zoned.ask("Auto")
    eventually(lambda: len(zoned.hints()) == 6, "there are hints")
    for number in (1, 2, 4, 5):
        zoned.status(f"p{number}", f"10.1.0.{number}", ready=False)
    zoned.await_hints({"10.1.0.0": "a", "10.1.0.3": "b"})


def _slice(zones: str, name: str = "") -> Object:
    endpoints = [{"addresses": [str(place)], "zone": zone} for place, zone in enumerate(zones)]
    return {"metadata": {"name": name} if name else {}, "endpoints": endpoints}


def _hinted(result: Object) -> str:
    zones = (endpoint.get("hints", {}).get("forZones") for endpoint in result["endpoints"])
    return "".join(listed[0]["name"] if listed else "-" for listed in zones)


@pytest.mark.parametrize(
    ("zones", "parts", "hinted"),
    [
        ("aabb", HALVES, "aabb"),
        ("aaab", HALVES, "baab"),
        ("aaaa", HALVES, "bbaa"),
        ("aaaabbb", HALVES, "aaaabbb"),  # for half an endpoint none moves
        ("a", HALVES, "-"),  # fewer than zones
        ("aab", HALVES, "---"),  # 2 and 2 are the least
        ("aabbcc", HALVES, "aabbcc"),  # c has no ready node
        ("aaaaaaaa", {"a": 0.5, "b": 0.25, "c": 0.25}, "bbccaaaa"),
        ("aabb", {}, "----"),
        ("ab", {"a": 0.9, "b": 0.1}, "--"),
    ],
)
def test_zones_have_endpoints_for_their_part(
    zones: str, parts: dict[str, float], hinted: str
) -> None:
    value = _slice(zones)
    counter = put_hints(Plan(create=[value]), [], parts)
    assert _hinted(value) == hinted
    assert counter == (None if "-" in hinted else Counter(hinted))


def test_slices_whose_hints_will_do_are_left_alone() -> None:
    kept, other = _slice("ab", "kept"), _slice("ab", "other")
    put_hints(Plan(update=[kept]), [], HALVES)
    plan = Plan()
    assert put_hints(plan, [kept, other], HALVES) == Counter(a=2, b=2)
    assert [(item["metadata"]["name"], _hinted(item)) for item in plan.update] == [("other", "ab")]
    assert _hinted(other) == "--"


def test_an_endpoint_without_a_zone_leaves_all_without_hints() -> None:
    kept, bare = _slice("ab", "kept"), _slice("ab")
    put_hints(Plan(update=[kept]), [], HALVES)
    del bare["endpoints"][0]["zone"]
    plan = Plan(create=[bare])
    assert put_hints(plan, [kept], HALVES) is None
    assert [_hinted(item) for item in (*plan.create, *plan.update)] == ["--", "--"]


@pytest.mark.parametrize(
    ("given", "parts", "overloaded"),
    [
        ({"a": 2, "b": 2}, HALVES, False),
        ({"a": 3, "b": 1}, HALVES, True),
        ({"a": 4}, HALVES, True),
        ({"a": 2, "b": 2}, {}, True),
    ],
)
def test_a_zone_with_too_few_endpoints_is_overloaded(
    given: dict[str, int], parts: dict[str, float], overloaded: bool
) -> None:
    assert is_overloaded(given, parts) is overloaded
