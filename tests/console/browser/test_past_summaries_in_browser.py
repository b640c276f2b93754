"""The summary of an object as it was: at a moment, with what was around it then."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support.browser import Visitor
from support.namespaces import Space
from support.simulation import Pods, container
from support.waiting import eventually

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container()]}}
WORKLOAD = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}


def card(visitor: Visitor, title: str) -> Locator:
    return visitor.page.get_by_role("region", name=title, exact=True)


def banner(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("status").filter(has_text="This is how it was")


def summary_of(space: Space, name: str) -> str:
    return f"#/objects/core/configmaps/{space.name}/{name}"


def test_a_summary_shows_the_pods_that_there_were(returning: Visit, pods: Pods) -> None:
    deployments = pods.space.collection("deployments", "apps")
    deployments.create("web", spec=WORKLOAD)

    def ready(count: int) -> Callable[[], bool]:
        return lambda: deployments.read("web")["status"].get("readyReplicas", 0) == count

    eventually(ready(2), "both pods are ready")
    then = deployments.read("web")["metadata"]["resourceVersion"]
    deployments.patch("web", {"spec": {"replicas": 0}})
    eventually(ready(0), "no pod is left")
    route = f"#/objects/apps/deployments/{pods.space.name}/web"
    visitor = returning(pods.server, f"{route}/summary?at={then}")
    expect(banner(visitor)).to_contain_text(f"(revision {then}). 2 of 2 ready")
    expect(card(visitor, "Pods")).to_contain_text("2 Running")
    expect(card(visitor, "Events")).to_contain_text("ScalingReplicaSet")
    expect(visitor.page.get_by_role("group", name="Actions")).to_have_count(0)
    visitor.picture("summary-then")
    assert visitor.findings() == []
    card(visitor, "Pods").get_by_role("link").first.click()
    expect(visitor.page.get_by_role("heading", name=re.compile("^Pod web-"))).to_be_visible()
    expect(banner(visitor)).to_contain_text(f"(revision {then}). Running")
    expect(card(visitor, "Place")).to_contain_text("Node")
    expect(card(visitor, "Log")).to_be_hidden()


def test_a_summary_leads_to_two_minutes_ago_by_one_key(returning: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a", data={"colour": "red"})
    kubernetes.config_maps.patch("a", {"data": {"colour": "blue"}})
    visitor = returning(kubernetes.server, summary_of(kubernetes, "a"))
    expect(card(visitor, "Data")).to_contain_text("blue")
    visitor.page.keyboard.press("@")
    moment = visitor.page.get_by_label("Go to a moment")
    expect(moment).to_be_focused()
    expect(card(visitor, "Data")).to_contain_text("blue")
    moment.fill("two minutes ago")
    moment.press("Enter")
    expect(card(visitor, "Data")).to_contain_text("red")
    visitor.page.get_by_role("link", name="Show it as it is now").click()
    expect(card(visitor, "Data")).to_contain_text("blue")
    expect(banner(visitor)).to_have_count(0)


def test_ages_of_a_past_summary_are_those_of_then(returning: Visit, kubernetes: Space) -> None:
    made = kubernetes.config_maps.create("a")
    visitor = returning(kubernetes.server, summary_of(kubernetes, "a"))
    expect(card(visitor, "Facts")).not_to_contain_text("(0s ago)")
    version = made["metadata"]["resourceVersion"]
    visitor.go(f"{summary_of(kubernetes, 'a')}/summary?at={version}")
    expect(banner(visitor)).to_be_visible()
    expect(card(visitor, "Facts")).to_contain_text("(0s ago)")
    visitor.go(summary_of(kubernetes, "a"))
    expect(card(visitor, "Facts")).not_to_contain_text("(0s ago)")


def test_the_summary_of_what_is_gone_is_known(returning: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a", data={"colour": "red"})
    kubernetes.config_maps.remove("a")
    visitor = returning(kubernetes.server, f"{summary_of(kubernetes, 'a')}/history")
    expect(visitor.page.get_by_text("deleted", exact=True).first).to_be_visible()
    visitor.page.keyboard.press("[")
    visitor.page.get_by_role("link", name="Summary as it was").click()
    expect(card(visitor, "Data")).to_contain_text("red")
    visitor.page.get_by_role("button", name="Forward").click()
    expect(visitor.page.get_by_text("It was not there then.")).to_be_visible()


def test_time_travel_leads_to_the_summary_of_an_object(returning: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a", data={"colour": "red"})
    other = kubernetes.config_maps.create("b")["metadata"]["resourceVersion"]
    kubernetes.config_maps.patch("a", {"data": {"colour": "blue"}})
    route = f"#/travel?at={other}&with=1"
    visitor = returning(kubernetes.server, route, namespace=kubernetes.name)
    things = visitor.page.get_by_role("region", name="What was there")
    things.get_by_role("button", name=re.compile(r"\ba\b")).click()
    visitor.page.get_by_role("link", name="Summary as it was").click()
    expect(banner(visitor)).to_contain_text(f"(revision {other})")
    expect(card(visitor, "Data")).to_contain_text("red")
