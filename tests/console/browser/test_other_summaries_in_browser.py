"""The summaries of data, claims, autoscalers and kinds of which nothing is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support.browser import HOSTILE, Visitor
from support.history import custom
from support.namespaces import Space

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]


def route(space: Space, plural: str, name: str, group: str = "core") -> str:
    return f"#/objects/{group}/{plural}/{space.name}/{name}"


def card(visitor: Visitor, title: str) -> Locator:
    return visitor.page.get_by_role("region", name=title, exact=True)


@pytest.mark.both_dialects
def test_values_of_a_secret_are_hidden_until_somebody_asks(returning: Visit, space: Space) -> None:
    space.secrets.create("s", stringData={"password": HOSTILE, "other": "tide"})
    visitor = returning(space.server, route(space, "secrets", "s"))
    data = card(visitor, "Data")
    expect(data).to_contain_text("password")
    expect(data).not_to_contain_text("tide")
    data.get_by_role("button", name="Show password").click()
    expect(data).to_contain_text(HOSTILE)
    expect(data).not_to_contain_text("tide")
    assert visitor.page.locator("main img").count() == 0
    visitor.picture("secret")
    assert visitor.findings() == []


def test_the_data_of_a_config_map_is_shown_as_it_changes(
    returning: Visit, kubernetes: Space
) -> None:
    kubernetes.config_maps.create("c", data={"motd": "hello\nworld"}, binaryData={"raw": "/w=="})
    visitor = returning(kubernetes.server, route(kubernetes, "configmaps", "c"))
    expect(card(visitor, "Data")).to_contain_text("hello\nworld")
    expect(card(visitor, "Data")).to_contain_text("binary, in base 64")
    kubernetes.config_maps.patch("c", {"data": {"motd": "ahoy"}})
    expect(card(visitor, "Data")).to_contain_text("ahoy")


def test_a_claim_says_what_it_waits_for(returning: Visit, kubernetes: Space) -> None:
    resources = {"requests": {"storage": "1Gi"}}
    kubernetes.collection("persistentvolumeclaims").create(
        "c",
        spec={
            "accessModes": ["ReadWriteOnce"],
            "resources": resources,
            "storageClassName": "nowhere",
        },
    )
    visitor = returning(kubernetes.server, route(kubernetes, "persistentvolumeclaims", "c"))
    why = card(visitor, "Why it is not well")
    expect(why).to_contain_text("There is no StorageClass nowhere.")
    expect(card(visitor, "Claim")).to_contain_text("1Gi")
    expect(card(visitor, "Pods that mount it")).to_contain_text("No pod does.")


def test_an_autoscaler_draws_what_is_wanted_and_measured(
    returning: Visit, kubernetes: Space
) -> None:
    scalers = kubernetes.collection("horizontalpodautoscalers", "autoscaling", "v2")
    target = {"type": "Utilization", "averageUtilization": 50}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scalers.create("h", spec={"maxReplicas": 5, "scaleTargetRef": scaled, "metrics": [metric]})
    current = {"averageUtilization": 80, "averageValue": "80m"}
    measured = {"type": "Resource", "resource": {"name": "cpu", "current": current}}
    status = {"currentReplicas": 2, "desiredReplicas": 4, "currentMetrics": [measured]}
    answer = kubernetes.client.patch(scalers.item("h", "status"), {"status": status})
    assert answer.status == 200, answer.text
    scaler = route(kubernetes, "horizontalpodautoscalers", "h", "autoscaling")
    visitor = returning(kubernetes.server, scaler)
    expect(card(visitor, "Scaling")).to_contain_text("80 %")
    expect(card(visitor, "Over time")).to_contain_text("Measured, and what is aimed at: 80")
    expect(card(visitor, "Over time").get_by_role("img")).to_have_count(2)
    visitor.picture("autoscaler")
    assert visitor.findings() == []


def test_a_custom_kind_shows_its_columns_and_relations(returning: Visit, cluster: Space) -> None:
    widgets = custom(cluster)
    owner = cluster.config_maps.create("owner")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    owners = [{**reference, "uid": owner["metadata"]["uid"]}]
    widgets.make("w", spec={"size": 3}, metadata={"ownerReferences": owners})
    group = widgets.path.split("/")[2]
    visitor = returning(cluster.server, route(cluster, "widgets", "w", group))
    expect(card(visitor, "Related")).to_contain_text("ConfigMap owner owns it")
