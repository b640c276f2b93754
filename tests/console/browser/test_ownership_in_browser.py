"""The ownership view: the manager of every field, and the effect of an apply."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import HOSTILE, PHONE, Visitor
from support.namespaces import Space

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]
APPLY = "application/apply-patch+yaml"


def apply(space: Space, manager: str, data: dict[str, str], **query: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned"}, "data": data}
    answer = space.client.patch(
        space.config_maps.item("owned"), body, kind=APPLY, fieldManager=manager, **query
    )
    assert answer.status in (200, 201), answer.text


def written(data: dict[str, str], before: str = "") -> str:
    lines = [f"  {name}: {value}" for name, value in data.items()]
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: owned\ndata:\n"
    return before + head + "\n".join(lines) + "\n"


def come(visit: Visit, space: Space, **options: Any) -> Visitor:
    route = f"#/objects/core/configmaps/{space.name}/owned/owners"
    return visit(space.server, route, **options)


def document(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("region", name="Fields by manager")


def line(visitor: Visitor, text: str) -> Locator:
    return document(visitor).locator(".line", has_text=text)


def ask(visitor: Visitor, text: str) -> None:
    expect(document(visitor)).to_be_visible()
    visitor.page.keyboard.press("w")
    visitor.page.get_by_role("textbox", name="YAML to apply").fill(text)
    visitor.page.get_by_role("button", name="What would happen?").click()


@pytest.mark.both_dialects
def test_every_field_shows_its_managers(visit: Visit, space: Space) -> None:
    apply(space, "red", {"mine": "1", "both": "2"})
    apply(space, HOSTILE, {"theirs": "3", "both": "2"})
    visitor = come(visit, space)
    expect(line(visitor, "mine:")).to_have_attribute(
        "title", re.compile(r"red \(Apply by admin, \d+s ago")
    )
    expect(line(visitor, "both:").locator(".note")).to_have_text(f"{HOSTILE} + red")
    expect(line(visitor, "theirs:").locator(".note")).to_have_text(HOSTILE)
    expect(line(visitor, "uid:").locator(".note")).to_have_count(0)
    legend = visitor.page.get_by_role("group", name="Managers").get_by_role("button")
    expect(legend).to_contain_text([f"{HOSTILE} Apply", "red Apply"])
    visitor.picture(f"ownership-{space.dialect.name}")
    assert visitor.findings() == []


def test_keys_tell_whose_a_line_is_and_keep_to_one_manager(visit: Visit, kubernetes: Space) -> None:
    apply(kubernetes, "red", {"mine": "1"})
    apply(kubernetes, "blue", {"theirs": "3"})
    visitor = come(visit, kubernetes)
    expect(line(visitor, "mine:")).to_be_visible()
    document(visitor).focus()
    for _ in range(4):  # apiVersion, data, mine, theirs
        visitor.page.keyboard.press("ArrowDown")
    expect(visitor.page.get_by_role("status").filter(has_text="data.theirs")).to_contain_text(
        "blue (Apply"
    )
    visitor.page.keyboard.press("2")
    expect(visitor.page.get_by_role("button", name="red Apply")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(line(visitor, "theirs:")).to_have_class(re.compile("dim"))
    expect(line(visitor, "mine:")).not_to_have_class(re.compile("dim"))
    visitor.page.keyboard.press("0")
    expect(line(visitor, "theirs:")).not_to_have_class(re.compile("dim"))


def test_conflicts_of_an_apply_are_shown_in_place_before_anything_is_taken(
    visit: Visit, kubernetes: Space
) -> None:
    apply(kubernetes, "red", {"a": "1", "b": "2"})
    visitor = come(visit, kubernetes)
    ask(visitor, written({"a": "mine", "c": "new"}))
    conflict = line(visitor, "a:").filter(has_text="conflict")
    expect(conflict).to_contain_text('conflict with red: yours is "mine"')
    alert = visitor.page.get_by_role("alert")
    expect(alert.get_by_role("row").nth(1)).to_have_text('.data.ared"1""mine"')
    changes = visitor.page.get_by_role("region", name="What would change")
    expect(changes.locator(".added")).to_contain_text(["a: mine", "c: new"])
    hands = visitor.page.get_by_role("row", name=re.compile(r"^\.data\.a red \(Apply\)"))
    expect(hands).to_contain_text("fairlead-console (Apply)")
    visitor.picture("ownership-conflict")
    assert visitor.findings() == []
    visitor.page.get_by_role("button", name="Apply and take over").click()
    visitor.page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert kubernetes.config_maps.read("owned")["data"] == {"a": "1", "b": "2"}
    visitor.page.get_by_role("button", name="Apply and take over").click()
    visitor.page.get_by_role("dialog").get_by_role("button", name="Take over").click()
    expect(line(visitor, "a: mine").locator(".note")).to_have_text("fairlead-console")
    data = kubernetes.config_maps.read("owned")["data"]
    assert data == {"a": "mine", "b": "2", "c": "new"}


def test_what_a_manager_no_longer_says_is_told_to_go(visit: Visit, kubernetes: Space) -> None:
    apply(kubernetes, "red", {"a": "1", "b": "2"})
    visitor = come(visit, kubernetes)
    expect(document(visitor)).to_be_visible()
    visitor.page.keyboard.press("w")
    visitor.page.get_by_role("textbox", name="Field manager").fill("red")
    others = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: owned\n---\n"
    visitor.page.get_by_label("File to apply").set_input_files(
        {
            "name": "owned.yaml",
            "mimeType": "application/yaml",
            "buffer": written({"a": "x"}, others).encode(),
        }
    )
    expect(visitor.page.get_by_role("listitem").filter(has_text=".data.b")).to_be_visible()
    kubernetes.config_maps.patch("owned", {"data": {"a": "other"}}, fieldManager="blue")
    visitor.page.get_by_role("button", name="Apply", exact=True).click()
    visitor.page.get_by_role("dialog").get_by_role("button", name="Apply").click()
    expect(visitor.page.get_by_text("It changed meanwhile")).to_be_visible()
    assert kubernetes.config_maps.read("owned")["data"] == {"a": "other", "b": "2"}
    visitor.page.get_by_role("button", name="Apply and take over").click()
    visitor.page.get_by_role("dialog").get_by_role("button", name="Take over").click()
    expect(line(visitor, "b:")).to_have_count(0)
    assert kubernetes.config_maps.read("owned")["data"] == {"a": "x"}


def test_a_file_that_is_wrong_or_not_allowed_is_told_so(visit: Visit, kubernetes: Space) -> None:
    apply(kubernetes, "red", {"a": "1"})
    kubernetes.collection("rolebindings", "rbac.authorization.@").create(
        "alice",
        subjects=[{"kind": "User", "name": "alice"}],
        roleRef={"kind": "ClusterRole", "name": "view"},
    )
    visitor = come(visit, kubernetes)
    ask(visitor, written({"a": "x"}) + "colour: red\n")
    expect(visitor.page.locator(".editor .noted")).to_contain_text(["colour: red"])
    other = come(visit, kubernetes, token="alice-token", viewport=PHONE)
    ask(other, written({"a": "x"}))
    expect(other.page.get_by_role("alert")).to_contain_text('User "alice" cannot patch')
    expect(line(other, "a:").first).to_be_visible()
    other.picture("ownership-phone")
