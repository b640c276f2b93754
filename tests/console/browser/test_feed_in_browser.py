"""The feed of all changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support.browser import HOSTILE, Visitor
from support.namespaces import Space

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Route

Visit = Callable[..., Visitor]


def row(visitor: Visitor, text: str) -> Locator:
    return visitor.page.get_by_role("row").filter(has_text=text)


def feed(returning: Visit, space: Space, query: str = "") -> Visitor:
    visitor = returning(space.server, f"#/feed{query}", namespace=space.name)
    expect(visitor.page.get_by_role("status").filter(has_text="live")).to_be_visible()
    return visitor


def test_what_others_do_is_shown_below_their_names(returning: Visit, cluster: Space) -> None:
    visitor = feed(returning, cluster)
    cluster.config_maps.create("a", data={"x": "1"})
    cluster.config_maps.patch("a", {"data": {"x": "2"}}, fieldManager=HOSTILE)
    expect(row(visitor, "data.x")).to_contain_text(HOSTILE)
    expect(row(visitor, "admin")).to_contain_text("2")
    expect(row(visitor, f"{cluster.name}/a")).to_have_count(2)
    assert visitor.page.locator("main img").count() == 0
    visitor.picture("feed")
    assert visitor.findings() == []


def test_the_manager_that_is_named_is_who_made_the_change(
    returning: Visit, kubernetes: Space
) -> None:
    visitor = feed(returning, kubernetes)
    kubernetes.config_maps.create("a", data={"x": "1"})
    kubernetes.config_maps.patch("a", {"data": {"x": "2"}}, fieldManager="zoe")
    expect(row(visitor, "data.x")).to_contain_text("zoe")
    expect(row(visitor, "data.x").get_by_role("gridcell").nth(1)).to_have_text("zoe")
    visitor.page.get_by_label("by who did it").uncheck()
    expect(row(visitor, "data.x")).to_contain_text("admin zoe")
    visitor.page.get_by_label("by who did it").check()


def taken_over(space: Space) -> None:
    """One manager takes a field from another one."""
    for manager, value in (("deployer", "1"), ("zoe", "2")):
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        answer = space.client.request(
            "PATCH",
            space.config_maps.item("a"),
            {**config, "data": {"x": value}},
            headers={"Content-Type": "application/apply-patch+yaml"},
            fieldManager=manager,
            force="true",
        )
        assert answer.status in (200, 201), answer.text


def test_who_lost_what_to_whom_is_told_in_feed_history_and_ownership(
    returning: Visit, kubernetes: Space
) -> None:
    visitor = feed(returning, kubernetes)
    taken_over(kubernetes)
    expect(row(visitor, "lost by deployer")).to_contain_text("zoe")
    row(visitor, "lost by deployer").click()
    expect(visitor.page.get_by_role("heading", name="ConfigMap a")).to_be_visible()
    expect(visitor.page.get_by_text("zoe took data.x from deployer")).to_be_visible()
    slider = visitor.page.get_by_role("slider", name="Version")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("by admin as zoe$"))
    visitor.page.get_by_role("link", name="Ownership").click()
    expect(visitor.page.get_by_text("zoe took data.x from deployer")).to_be_visible()
    chip = visitor.page.get_by_role("button", name="zoe")
    expect(chip).to_have_attribute("title", re.compile(r"^zoe \(Apply by admin, "))
    visitor.picture("lost-fields")
    assert visitor.findings() == []


def test_a_line_leads_to_the_object_then(returning: Visit, kubernetes: Space) -> None:
    visitor = feed(returning, kubernetes)
    kubernetes.config_maps.create("a", data={"x": "1"})
    kubernetes.config_maps.patch("a", {"data": {"x": "2"}})
    expect(row(visitor, f"{kubernetes.name}/a")).to_have_count(2)
    row(visitor, "created").filter(has_text=f"{kubernetes.name}/a").click()
    expect(visitor.page.get_by_role("heading", name="ConfigMap a")).to_be_visible()
    expect(visitor.page.get_by_role("region", name="State")).to_contain_text('x: "1"')


def test_space_pauses_and_goes_on(returning: Visit, kubernetes: Space) -> None:
    visitor = feed(returning, kubernetes)
    kubernetes.config_maps.create("before")
    expect(row(visitor, "before")).to_have_count(1)
    visitor.page.keyboard.press(" ")
    kubernetes.config_maps.create("meanwhile")
    expect(visitor.page.get_by_text("paused, 1 since then")).to_be_visible()
    expect(row(visitor, "meanwhile")).to_have_count(0)
    visitor.page.keyboard.press(" ")
    expect(row(visitor, "meanwhile")).to_have_count(1)


def test_the_feed_is_filtered(returning: Visit, kubernetes: Space) -> None:
    visitor = feed(returning, kubernetes, "?order=time")
    kubernetes.config_maps.create("one")
    kubernetes.secrets.create("two")
    expect(row(visitor, kubernetes.name)).not_to_have_count(0)
    expect(row(visitor, f"{kubernetes.name}/two")).to_have_count(1)
    visitor.page.get_by_label("Kind", exact=True).select_option("Secret")
    expect(row(visitor, f"{kubernetes.name}/one")).to_have_count(0)
    visitor.page.get_by_label("Kind", exact=True).select_option("every kind")
    visitor.page.get_by_label("Filter").fill("ONE")
    expect(row(visitor, f"{kubernetes.name}/one")).to_have_count(1)
    expect(row(visitor, f"{kubernetes.name}/two")).to_have_count(0)
    visitor.page.get_by_label("Filter").fill("")
    visitor.page.get_by_label("Who", exact=True).select_option("admin")
    expect(row(visitor, f"{kubernetes.name}/two")).to_have_count(1)


def test_changes_that_were_missed_have_a_word(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/kinds", namespace=kubernetes.name)
    requests: list[str] = []

    def answer(route: Route) -> None:
        """The first watch is told that it is too late; then history begins further on."""
        url = route.request.url
        requests.append(url)
        version = str(100 * len(requests))
        if len(requests) == 2:
            status = {"code": 410, "reason": "Expired", "message": "too old"}
            body = json.dumps({"type": "ERROR", "object": status}) + "\n"
            return route.fulfill(body=body, content_type="application/json")
        metadata = {"resourceVersion": version, "oldest": str(int(version) - 50)}
        item = {"resourceVersion": version, "type": "ADDED", "name": f"at-{version}", "by": []}
        if len(requests) in (1, 3):
            return route.fulfill(json={"metadata": metadata, "items": [item]})
        return None  # a watch on which nothing happens

    visitor.page.route(re.compile("/history"), answer)
    visitor.go("#/feed?order=time")
    expect(row(visitor, "Changes from 101 to 250 were missed.")).to_have_count(1)
    expect(row(visitor, "at-100")).to_have_count(1)
    expect(row(visitor, "at-300")).to_have_count(1)
    assert "since=100" in requests[2]


def test_a_cut_connection_is_made_again(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/kinds", namespace=kubernetes.name)
    cut: list[str] = []

    def answer(route: Route) -> None:
        if "watch=true" in route.request.url and not cut:
            cut.append(route.request.url)
            return route.abort()
        return route.continue_()

    visitor.page.route(re.compile("/history"), answer)
    visitor.go("#/feed")
    expect(visitor.page.get_by_text("the server cannot be reached")).to_be_visible()
    kubernetes.config_maps.create("meanwhile")
    expect(row(visitor, "meanwhile")).to_have_count(1)


def test_thousands_of_changes_at_once_do_not_pile_up(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/kinds", namespace=kubernetes.name)
    items = [
        {
            "resourceVersion": str(number),
            **{"type": "MODIFIED", "name": f"n{number}", "kind": "Pod", "resource": "pods"},
            **{"user": f"user-{number % 7}", "by": [], "changed": ["spec.x"]},
        }
        for number in range(10, 10_010)
    ]
    events = "".join(json.dumps({"type": "MODIFIED", "object": item}) + "\n" for item in items)

    def answer(route: Route) -> None:
        if "watch=true" in route.request.url:
            if "resourceVersion=9" in route.request.url:
                route.fulfill(body=events, content_type="application/json")
            return  # the next one goes on without an event
        metadata = {"resourceVersion": "9", "oldest": "1"}
        route.fulfill(json={"metadata": metadata, "items": []})

    visitor.page.route(re.compile("/history"), answer)
    visitor.go("#/feed?order=time")
    expect(row(visitor, "n10009")).to_have_count(1)
    count = visitor.page.get_by_role("grid", name="Changes").get_attribute("aria-rowcount")
    assert 2000 <= int(count or 0) <= 2501
    assert visitor.page.get_by_role("row").count() < 100


def test_nothing_of_others_is_told_without_rights(returning: Visit, kubernetes: Space) -> None:
    visitor = returning(kubernetes.server, "#/feed", token="alice-token", namespace=kubernetes.name)
    expect(visitor.page.get_by_role("status").filter(has_text="0 · live")).to_be_visible()
    kubernetes.config_maps.create("hidden")
    admin = feed(returning, kubernetes)
    expect(row(admin, "hidden")).to_have_count(1)
    expect(row(visitor, "hidden")).to_have_count(0)
