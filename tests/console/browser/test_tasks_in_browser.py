"""Six questions of a new user. Each is answered after at most one click or one key from the page
where one starts; what is typed is the question itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import Visitor
from support.namespaces import Space
from support.process import FreshServer
from support.simulation import Pods, behaviour

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]
COUNT = """
() => {
    window.actions = 0;
    const count = event => { if (event.isTrusted) window.actions += 1; };
    document.addEventListener("click", count, {capture: true});
    document.addEventListener("keydown", count, {capture: true});
}
"""


def card(visitor: Visitor, title: str) -> Locator:
    return visitor.page.get_by_role("region", name=title, exact=True)


def begin(visitor: Visitor) -> None:
    """Count clicks and keys from now on."""
    visitor.page.evaluate(COUNT)


def actions(visitor: Visitor) -> Any:
    return visitor.page.evaluate("() => window.actions")


def test_why_a_pod_is_not_ready_is_on_the_start_page(visit: Visit, pods: Pods) -> None:
    failing = behaviour(image_pull_failure="manifest unknown")
    pods.create("web", annotations=failing)
    visitor = visit(pods.server, namespace=pods.space.name)
    begin(visitor)
    reason = card(visitor, "Pods that do not run").get_by_role("row").filter(has_text="web")
    expect(reason).to_contain_text("ImagePull")
    expect(reason).to_contain_text("nginx:1")
    assert actions(visitor) == 0


def test_what_holds_a_deletion_is_on_the_start_page(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("held", metadata={"finalizers": ["example.com/guard"]})
    kubernetes.config_maps.delete("held")
    visitor = visit(kubernetes.server, namespace=kubernetes.name)
    begin(visitor)
    held = card(visitor, "Deletions that are held up").get_by_role("row").filter(has_text="held")
    expect(held.first).to_contain_text("held by example.com/guard")
    assert actions(visitor) == 0


def test_who_changed_a_field_is_one_key_away(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a", data={"colour": "red"})
    kubernetes.config_maps.patch("a", {"data": {"colour": "blue"}}, fieldManager="painter")
    visitor = visit(kubernetes.server, namespace=kubernetes.name)
    begin(visitor)
    visitor.page.keyboard.press("f")
    row = visitor.page.get_by_role("row").filter(has_text="data.colour")
    expect(row).to_contain_text("painter")
    expect(visitor.page.get_by_role("row").filter(has_text="admin").first).to_be_visible()
    assert actions(visitor) == 1


def test_who_changed_a_field_of_an_object_is_one_click_away(
    visit: Visit, kubernetes: Space
) -> None:
    kubernetes.config_maps.create("a", data={"colour": "red"})
    kubernetes.config_maps.patch("a", {"data": {"colour": "blue"}}, fieldManager="painter")
    visitor = visit(kubernetes.server, f"#/objects/core/configmaps/{kubernetes.name}/a")
    begin(visitor)
    visitor.page.get_by_role("link", name="History").click()
    main = visitor.page.get_by_role("main")
    expect(main.get_by_text("by admin")).to_be_visible()
    expect(main.get_by_text("painter (Update)")).to_be_visible()
    expect(main.get_by_text("data.colour", exact=True)).to_be_visible()
    assert actions(visitor) == 1


def test_how_it_was_two_minutes_ago_is_one_key_and_the_words(
    visit: Visit, kubernetes: Space
) -> None:
    kubernetes.config_maps.create("old")
    visitor = visit(kubernetes.server, namespace=kubernetes.name)
    expect(visitor.page.get_by_role("heading", name="Overview")).to_be_visible()
    begin(visitor)
    visitor.page.keyboard.press("@")
    moment = visitor.page.get_by_label("Go to a moment")
    expect(moment).to_be_focused()
    expect(visitor.page.get_by_role("status").filter(has_text="This is how it was")).to_be_visible()
    assert actions(visitor) == 1
    moment.fill("two minutes ago")
    moment.press("Enter")
    place = visitor.page.get_by_role("group", name="Time").get_by_role("status")
    expect(place).to_contain_text("1 of ")


def test_why_somebody_is_forbidden_is_one_click_away(
    visit: Visit, fresh_server: FreshServer
) -> None:
    server = fresh_server()
    alice = server.client("alice-token")
    assert alice.get("/api/v1/namespaces/default/secrets/db").status == 403
    alice.close()
    visitor = visit(server, in_new_tab=True)
    begin(visitor)
    denied = card(visitor, "Requests that were denied").get_by_role("row").filter(has_text="alice")
    denied.get_by_role("link", name="Why not?").click()
    expect(visitor.page.get_by_text("No. alice may not get secrets db")).to_be_visible()
    expect(card(visitor, "What is missing")).to_contain_text("resourceNames")
    assert actions(visitor) == 1


def test_why_nobody_is_behind_a_service_is_one_key_away(visit: Visit, kubernetes: Space) -> None:
    spec = {"selector": {"app": "nobody"}, "ports": [{"port": 80}]}
    kubernetes.collection("services").create("lonely", spec=spec)
    visitor = visit(kubernetes.server, "#/kinds/core/services", namespace=kubernetes.name)
    expect(visitor.page.get_by_role("row").filter(has_text="lonely")).to_be_visible()
    begin(visitor)
    visitor.page.keyboard.press("Enter")
    expect(card(visitor, "Why it is not well")).to_contain_text(
        "No pod in this namespace has the labels app=nobody."
    )
    assert actions(visitor) == 1
