"""Which pods are deleted first, by each criterion in order."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from fairlead.base import clock
from fairlead.codec.types.times import format_time
from fairlead.controllers.workloads.pods import Pod, to_remove
from fairlead.storage.version import Version

COST = "cost"


def ago(seconds: float) -> str:
    return format_time(clock.now() - timedelta(seconds=seconds))


def pod(
    name: str,
    *,
    node: str = "n",
    phase: str = "Running",
    ready: str | None = None,
    cost: str = "",
    restarts: int = 0,
    created: str = "2020-01-01T00:00:00Z",
) -> Pod:
    metadata: dict[str, Any] = {"name": name, "uid": name, "creationTimestamp": created}
    if cost:
        metadata["annotations"] = {COST: cost}
    status: dict[str, Any] = {"phase": phase, "containerStatuses": [{"restartCount": restarts}]}
    if ready is not None:
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": ready}
        status["conditions"] = [condition]
    value = {"metadata": metadata, "spec": {"nodeName": node}, "status": status}
    return Pod(Version(f"ns/{name}", 1, "v1", b""), value)


LONG_AGO = "2020-01-01T00:00:00Z"

# The first of each pair goes before the second, whatever counts less says.
PAIRS = {
    "not assigned": (
        pod("z", node="", phase="Pending", cost="9"),
        pod("a", phase="Pending", cost="0"),
    ),
    "pending": (pod("z", phase="Pending", cost="9"), pod("a", phase="Unknown")),
    "unknown": (pod("z", phase="Unknown", cost="9"), pod("a", phase="Running")),
    "not ready": (pod("z", cost="9"), pod("a", ready=LONG_AGO)),
    "cheaper": (pod("z", ready=LONG_AGO, cost="-1"), pod("a", ready=ago(60), cost="0")),
    "ready for less long": (pod("z", ready=ago(60)), pod("a", ready=LONG_AGO, restarts=5)),
    "restarted more": (
        pod("z", ready=LONG_AGO, restarts=2, created=LONG_AGO),
        pod("a", ready=LONG_AGO, restarts=1, created=ago(60)),
    ),
    "younger": (pod("z", created=ago(60)), pod("a", created=LONG_AGO)),
    "of like age, by chance": (pod("a", created=ago(1000)), pod("z", created=ago(999))),
}


@pytest.mark.parametrize("name", PAIRS)
def test_deletion_order_of_pods_by_each_criterion(name: str) -> None:
    first, second = PAIRS[name]
    for pods in ([first, second], [second, first]):
        assert to_remove(pods, [], 1, COST) == [first]


def test_where_many_related_pods_are_one_goes_first() -> None:
    alone, crowded = pod("a", node="one"), pod("z", node="two")
    related = [alone, crowded, pod("other", node="two"), pod("done", node="one", phase="Failed")]
    assert to_remove([alone, crowded], related, 1, COST) == [crowded]


def test_a_cost_that_is_no_number_counts_as_none() -> None:
    odd, cheap = pod("a", cost="much"), pod("z", cost="-1")
    assert to_remove([odd, cheap], [], 1, COST) == [cheap]


def test_costs_can_be_switched_off() -> None:
    first, second = pod("a", cost="5"), pod("z", cost="-5")
    assert to_remove([second, first], [], 1, "") == [first]


def test_deletion_order_returns_all_pods_if_all_are_too_many() -> None:
    pods = [pod("a"), pod("b")]
    assert to_remove(pods, [], 2, COST) == pods
