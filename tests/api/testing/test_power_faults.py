"""The testing API: injected faults."""

from __future__ import annotations

import http.client
from time import monotonic

import pytest
from support.power import Power


def test_an_error_instead_of_an_answer(power: Power) -> None:
    power.fault(error={"code": 500, "message": "so it goes"}, count=1)
    answer = power.maps.list()
    assert (answer.status, answer.message) == (500, "so it goes")
    assert answer.body["reason"] == "InternalError"
    assert power.maps.list().status == 200


def test_come_back_later(power: Power) -> None:
    power.fault(error={"code": 429, "retryAfterSeconds": 7})
    answer = power.maps.list()
    assert answer.status == 429
    assert answer.headers["Retry-After"] == "7"


def test_only_some_verbs_of_some_resources(power: Power) -> None:
    match = {"verbs": ["create"], "resources": ["configmaps"], "namespaces": [power.space.name]}
    power.fault(match, error={"code": 409})
    assert power.client.post(power.maps.path, {"metadata": {"name": "a"}}).status == 409
    assert power.maps.list().status == 200
    other = f"/api/v1/namespaces/{power.space.name}/secrets"
    assert power.client.post(other, {"metadata": {"name": "a"}}).status == 201


def test_only_one_object_and_one_client(power: Power) -> None:
    for name in ("a", "b"):
        power.maps.create(name)
    power.fault({"names": ["a"], "userAgents": ["tests/"]}, error={"code": 503})
    assert power.maps.get("a").status == 503
    assert power.maps.get("b").status == 200
    headers = {"User-Agent": "somebody else"}
    assert power.client.get(power.maps.item("a"), headers=headers).status == 200


def test_after_some_that_go_right(power: Power) -> None:
    fault = power.fault(error={"code": 500}, skip=2, count=1)
    codes = [power.maps.list().status for _ in range(4)]
    assert codes == [200, 200, 500, 200]
    assert power.happened(fault) == {"matched": 4, "applied": 1}


def test_chance_is_the_same_for_the_same_seed(power: Power) -> None:
    def codes() -> list[int]:
        fault = power.fault(error={"code": 500}, probability=0.5, seed=7)
        statuses = [power.maps.list().status for _ in range(20)]
        power.client.delete(f"{power.base}/faults/{fault}")
        return statuses

    first = codes()
    assert set(first) == {200, 500}
    assert codes() == first


def test_a_slow_answer(power: Power) -> None:
    power.fault(delay="300ms")
    began = monotonic()
    assert power.maps.list().status == 200
    assert monotonic() - began >= 0.3


def test_a_connection_that_is_cut_before_anything_is_done(power: Power) -> None:
    power.fault(cut="before", count=1)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError, OSError)):
        power.client.post(power.maps.path, {"metadata": {"name": "a"}})
    power.client.close()
    assert power.maps.get("a").status == 404


def test_a_connection_that_is_cut_when_it_is_done(power: Power) -> None:
    power.fault(cut="after", count=1)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError, OSError)):
        power.client.post(power.maps.path, {"metadata": {"name": "a"}})
    power.client.close()
    assert power.maps.get("a").status == 200


def test_a_stale_read(power: Power) -> None:
    power.maps.create("a", data={"k": "old"})
    value = power.maps.read("a")
    value["data"] = {"k": "new"}
    changed = int(power.maps.update(value)["metadata"]["resourceVersion"])
    newest = int(power.maps.list().version)
    power.fault(stale=newest - changed + 1)
    assert power.maps.read("a")["data"] == {"k": "old"}
    listed = power.maps.list().body["items"]
    assert [item["data"] for item in listed if item["metadata"]["name"] == "a"] == [{"k": "old"}]


WATCHES = {"verbs": ["watch"], "resources": ["secrets"]}


def test_events_that_get_lost(power: Power) -> None:
    fault = power.fault(WATCHES, events={"drop": True}, count=1)
    secrets = power.space.secrets
    with secrets.watch(resourceVersion=secrets.list().version) as watch:
        secrets.create_all("a", "b")
        assert watch.next().name == "b"
    assert power.happened(fault)["applied"] == 1


def test_events_that_come_again(power: Power) -> None:
    power.fault(WATCHES, events={"repeat": 2}, count=1)
    secrets = power.space.secrets
    with secrets.watch(resourceVersion=secrets.list().version) as watch:
        secrets.create_all("a", "b")
        assert [event.name for event in watch.take(4)] == ["a", "a", "a", "b"]


def test_a_watch_that_is_cut(power: Power) -> None:
    power.fault(WATCHES, cut="middle")
    secrets = power.space.secrets
    with secrets.watch(resourceVersion=secrets.list().version) as watch:
        secrets.create("a")
        assert len(watch.rest()) <= 1


BAD = {
    "nothing": ({}, "spec: one of error, delay, cut, stale and events says what happens"),
    "code": ({"error": {"code": 200}}, "spec.error.code: must be from 400 to 599"),
    "cut": ({"cut": "sometimes"}, "spec.cut: must be one of before, after, middle"),
    "delay": ({"delay": "soon"}, 'spec.delay: time: invalid duration "soon"'),
    "probability": ({"cut": "before", "probability": 2}, "spec.probability: must be from 0 to 1"),
    "count": (
        {"cut": "before", "count": -1},
        "spec: count, skip, stale, delay and repeat cannot be negative",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_fault_that_makes_no_sense(power: Power, what: str) -> None:
    spec, message = BAD[what]
    answer = power.client.post(f"{power.base}/faults", {"metadata": {"name": "x"}, "spec": spec})
    assert (answer.status, answer.message) == (400, message)


def test_powers_themselves_never_go_wrong(power: Power) -> None:
    power.fault({}, error={"code": 500})
    assert power.client.get("/api/v1/namespaces").status == 500
    assert power.client.get(f"{power.base}/faults").status == 200
    assert power.client.delete(f"{power.base}/faults").status == 200
    assert power.client.get("/api/v1/namespaces").status == 200
