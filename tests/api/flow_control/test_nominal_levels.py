"""Priority levels of flowcontrol/v1, release 1.36."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Collection, Space
from support.waiting import eventually

GROUP = "flowcontrol.apiserver.k8s.io"
QUEUE = {"type": "Queue", "queuing": {"queues": 4, "handSize": 2, "queueLengthLimit": 3}}


@pytest.fixture
def levels(space_1_36: Space) -> Collection:
    return space_1_36.everywhere("prioritylevelconfigurations", GROUP)


def test_a_fresh_server_has_its_levels(levels: Collection) -> None:
    stored = {item["metadata"]["name"]: item["spec"] for item in levels.list().body["items"]}
    lendable = {
        name: (spec["limited"]["nominalConcurrencyShares"], spec["limited"]["lendablePercent"])
        for name, spec in stored.items()
        if name != "exempt"
    }
    assert lendable == {
        "catch-all": (5, 0),
        "global-default": (20, 50),
        "leader-election": (10, 0),
        "node-high": (40, 25),
        "system": (30, 33),
        "workload-high": (40, 50),
        "workload-low": (100, 90),
    }
    assert stored["exempt"]["type"] == "Exempt"
    assert stored["exempt"]["exempt"]["lendablePercent"] == 0


def test_two_schemas_went_away(space_1_36: Space) -> None:
    names = space_1_36.everywhere("flowschemas", GROUP).names()
    assert len(names) == 11
    assert not {"endpoint-controller", "workload-leader-election"} & set(names)


def test_an_answer_names_the_stored_level(levels: Collection) -> None:
    uids = {item["metadata"]["uid"] for item in levels.list().body["items"]}
    answer = levels.list()
    assert answer.headers["X-Kubernetes-PF-PriorityLevel-UID"] in uids


def refused(levels: Collection, **spec: Any) -> list[tuple[str, str]]:
    answer = levels.client.post(levels.path, {"metadata": {"name": "odd"}, "spec": spec})
    assert answer.status == 422
    return [(field, message) for field, _, message in answer.causes]


def test_shares_and_percents_have_bounds(levels: Collection) -> None:
    limited = {
        "nominalConcurrencyShares": -1,
        "lendablePercent": 101,
        "borrowingLimitPercent": -1,
        "limitResponse": QUEUE,
    }
    assert refused(levels, type="Limited", limited=limited) == [
        (
            "spec.limited.nominalConcurrencyShares",
            "Invalid value: -1: must be a non-negative integer",
        ),
        (
            "spec.limited.lendablePercent",
            "Invalid value: 101: must be between 0 and 100, inclusive",
        ),
        (
            "spec.limited.borrowingLimitPercent",
            "Invalid value: -1: if specified, must be a non-negative integer",
        ),
    ]


def test_a_limited_level_is_not_exempt(levels: Collection) -> None:
    limited = {"limitResponse": QUEUE}
    assert refused(levels, type="Limited", limited=limited, exempt={}) == [
        ("spec.exempt", "Forbidden: must be nil if the type is Limited")
    ]
    assert refused(levels, type="") == [("spec.type", "Required value")]


def test_no_shares_are_kept_and_missing_ones_filled_in(levels: Collection) -> None:
    limited = {"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"}}
    spec = levels.create("none", spec={"type": "Limited", "limited": limited})["spec"]
    assert (spec["limited"]["nominalConcurrencyShares"], spec["limited"]["lendablePercent"]) == (
        0,
        0,
    )
    del limited["nominalConcurrencyShares"]
    spec = levels.create("some", spec={"type": "Limited", "limited": limited})["spec"]
    assert spec["limited"]["nominalConcurrencyShares"] == 30
    for name in ("none", "some"):
        levels.remove(name)


def test_the_exempt_part_of_the_exempt_level_may_change(levels: Collection) -> None:
    patched = levels.patch("exempt", {"spec": {"exempt": {"nominalConcurrencyShares": 3}}})
    assert patched.status == 200
    limited = {"spec": {"limited": {"limitResponse": {"type": "Reject"}}}}
    answer = levels.patch("exempt", limited)
    assert answer.message.endswith(
        "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value]"
    )
    assert levels.patch("exempt", {"spec": {"exempt": None}}).status == 200
    eventually(lambda: "exempt" in levels.read("exempt")["spec"], "the default is back")
