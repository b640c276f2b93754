"""Orders are fulfilled, or get a condition with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from platform_support import PATIENCE, Platform

from fairlead.client import is_gone
from fairlead.testing import Cluster, User

pytestmark = pytest.mark.usefixtures("provisioner")

Object = dict[str, Any]


def test_an_order_is_met(platform: Platform) -> None:
    platform.order()
    status = platform.await_reason("Provisioned")
    assert status["endpoint"] == f"orders.{platform.namespace}.db.example.com:5432"
    secret = platform.secrets.get(status["secret"], platform.namespace)
    assert secret["data"].keys() == {"user", "password"}


def test_credentials_go_with_their_database_and_come_back_without_it(platform: Platform) -> None:
    platform.order()
    platform.await_reason("Provisioned")
    lost = platform.await_secret()
    platform.secrets.delete("orders-database", platform.namespace)
    platform.secrets.wait(
        "orders-database",
        lambda item: item is not None and item["metadata"]["uid"] != lost["metadata"]["uid"],
        platform.namespace,
        timeout=PATIENCE,
    )
    platform.databases.delete("orders", platform.namespace)
    platform.secrets.wait("orders-database", is_gone, platform.namespace, timeout=PATIENCE)


def test_an_order_waits_for_its_plan(cluster: Cluster, platform: Platform) -> None:
    platform.plan(most=5)
    platform.order()
    platform.await_reason("PlanExceeded")
    platform.plan(most=10)
    platform.await_reason("Provisioned")
    platform.databases.create(platform.database("lost", plan="unknown"), platform.namespace)
    platform.await_reason("PlanNotFound", "lost")


def test_a_plan_that_is_full_has_room_again_when_a_database_goes(platform: Platform) -> None:
    platform.plan(capacity=1)
    platform.order("first")
    platform.order("second")
    # Which of the two is older is in their order, not in ours: they may be of the same second.
    reasons = platform.await_reasons("Provisioned", "PlanFull")
    placed, other = reasons["Provisioned"], reasons["PlanFull"]
    assert platform.await_reason("PlanFull", other).get("endpoint") is None
    platform.databases.delete(placed, platform.namespace)
    platform.await_reason("Provisioned", other)


def test_the_status_is_written_once_a_change(
    cluster: Cluster, platform: Platform, account: User
) -> None:
    platform.order("first")
    platform.await_reason("Provisioned", "first")  # it has heard of the plan
    with cluster.record() as recording:
        platform.order()
        platform.await_reason("Provisioned")
        platform.plan(most=30)
        cluster.wait_idle()
    written = recording.requests(user=account.name, namespace=platform.namespace)
    assert sorted((item["verb"], item["resource"]) for item in written) == [
        ("create", "secrets"),
        ("patch", "databases"),
    ]


@pytest.mark.parametrize("resource", ["secrets", "databases/status"])
def test_a_write_that_fails_is_tried_again(
    cluster: Cluster, platform: Platform, account: User, resource: str
) -> None:
    with cluster.fault(
        error=500,
        users=[account.name],
        verbs=["create", "patch"],
        resources=[resource],
        namespaces=[platform.namespace],
        count=1,
    ) as fault:
        platform.order()
        platform.await_reason("Provisioned")
    assert fault.applied == 1
