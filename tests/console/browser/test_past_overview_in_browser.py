"""The overview as it was: what was wrong at a moment, and how much there was."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support.browser import Visitor
from support.namespaces import Space

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]
POD = {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}
FAILED = {"type": "Failed", "status": "True", "reason": "Deadline", "message": "too late"}


def card(visitor: Visitor, title: str) -> Locator:
    return visitor.page.get_by_role("region", name=title, exact=True)


def count_of(visitor: Visitor, kind: str) -> Locator:
    items = card(visitor, "Objects").get_by_role("listitem")
    return items.filter(has=visitor.page.get_by_role("link", name=kind, exact=True))


def banner(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("status").filter(has_text="This is how it was")


@pytest.fixture
def when_it_failed(kubernetes: Space) -> str:
    """The revision of a moment at which a job had failed that is gone now, as is one of the two
    secrets that there were."""
    kubernetes.secrets.create_all("a", "b")
    jobs = kubernetes.collection("jobs", "batch")
    jobs.create("failing", spec={"template": {"spec": POD}})
    change = {"status": {"conditions": [FAILED]}}
    failed = kubernetes.client.patch(jobs.item("failing", "status"), change)
    revision: str = failed.body["metadata"]["resourceVersion"]
    jobs.remove("failing")
    kubernetes.secrets.remove("b")
    return revision


def test_problems_and_counts_are_those_of_then(
    visit: Visit, kubernetes: Space, when_it_failed: str
) -> None:
    route = f"#/overview?at={when_it_failed}"
    visitor = visit(kubernetes.server, route, namespace=kubernetes.name)
    expect(banner(visitor)).to_contain_text(f"(revision {when_it_failed})")
    expect(card(visitor, "Jobs that failed")).to_contain_text("too late")
    expect(count_of(visitor, "Job")).to_contain_text("1")
    expect(count_of(visitor, "Secret")).to_contain_text("2")
    expect(card(visitor, "Health")).to_be_hidden()
    visitor.picture("overview-then")
    assert visitor.findings() == []


def test_the_overview_leads_to_the_past_by_one_key_and_back(
    visit: Visit, kubernetes: Space, when_it_failed: str
) -> None:
    visitor = visit(kubernetes.server, "#/overview", namespace=kubernetes.name)
    expect(count_of(visitor, "Secret")).to_contain_text("1")
    visitor.page.keyboard.press("@")
    expect(visitor.page.get_by_label("Go to a moment")).to_be_focused()
    expect(banner(visitor)).to_be_visible()
    expect(count_of(visitor, "Secret")).to_contain_text("1")
    visitor.page.get_by_role("slider", name="Moment").fill("0")
    expect(count_of(visitor, "Secret")).to_have_count(0)
    visitor.page.get_by_role("link", name="Show it as it is now").click()
    expect(count_of(visitor, "Secret")).to_contain_text("1")
    expect(banner(visitor)).to_have_count(0)


def test_the_past_overview_leads_to_objects_as_they_were(
    visit: Visit, kubernetes: Space, when_it_failed: str
) -> None:
    route = f"#/overview?at={when_it_failed}"
    visitor = visit(kubernetes.server, route, namespace=kubernetes.name)
    card(visitor, "Jobs that failed").get_by_role("link", name="failing").click()
    expect(visitor.page.get_by_role("heading", name=re.compile("^Job failing"))).to_be_visible()
    expect(banner(visitor)).to_contain_text(f"(revision {when_it_failed}). Failed")


def test_time_travel_leads_to_the_overview_of_a_moment(
    visit: Visit, kubernetes: Space, when_it_failed: str
) -> None:
    route = f"#/travel?at={when_it_failed}"
    visitor = visit(kubernetes.server, route, namespace=kubernetes.name)
    visitor.page.get_by_role("link", name="As an overview").click()
    expect(card(visitor, "Jobs that failed")).to_contain_text("too late")
