"""The YAML view: live content, editing, and concurrent changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import yaml
from support.browser import HOSTILE, PHONE, Visitor
from support.namespaces import Space

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]


def side(space: Space, name: str, page: str = "yaml", plural: str = "configmaps") -> str:
    return f"#/objects/core/{plural}/{space.name}/{name}/{page}"


def text_of(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("region", name="YAML")


def editor(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("textbox", name="YAML of the object")


def button(visitor: Visitor, name: str) -> Locator:
    return visitor.page.get_by_role("button", name=name)


def begin(visit: Visit, space: Space, name: str, plural: str = "configmaps") -> Visitor:
    visitor = visit(space.server, side(space, name, plural=plural))
    expect(text_of(visitor)).to_contain_text(name)
    visitor.page.keyboard.press("e")
    expect(editor(visitor)).to_be_focused()
    return visitor


def rewrite(visitor: Visitor, old: str, new: str) -> None:
    editor(visitor).fill(editor(visitor).input_value().replace(old, new))


def check(visitor: Visitor) -> None:
    editor(visitor).press("Control+s")


def test_an_object_is_read_live_and_managed_fields_when_asked_for(
    visit: Visit, kubernetes: Space
) -> None:
    kubernetes.config_maps.create("read", data={"colour": "red", "hostile": HOSTILE})
    visitor = visit(kubernetes.server, side(kubernetes, "read"))
    expect(text_of(visitor)).to_contain_text(f'hostile: "{HOSTILE}"')
    expect(text_of(visitor)).not_to_contain_text("managedFields")
    visitor.page.keyboard.press("m")
    expect(text_of(visitor)).to_contain_text("managedFields")
    kubernetes.config_maps.patch("read", {"data": {"colour": "blue"}})
    expect(visitor.page.locator(".fresh", has_text="colour: blue")).to_be_visible()
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button(visitor, "Copy").click()
    expect(visitor.page.get_by_text("Copied.")).to_be_visible()
    copied = yaml.safe_load(visitor.page.evaluate("navigator.clipboard.readText()"))
    assert copied == kubernetes.config_maps.read("read")
    visitor.picture("yaml")
    assert visitor.findings() == []


def test_parts_are_folded_by_the_keyboard(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("folded", data={"inside": "x"}, labels={"a": "b"})
    visitor = visit(kubernetes.server, side(kubernetes, "folded"))
    expect(text_of(visitor)).to_contain_text("inside: x")
    text_of(visitor).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft"):
        visitor.page.keyboard.press(key)
    expect(text_of(visitor)).not_to_contain_text("inside: x")
    expect(text_of(visitor)).to_contain_text("a: b")
    visitor.page.keyboard.press("ArrowRight")
    expect(text_of(visitor)).to_contain_text("inside: x")


def test_values_of_secrets_are_hidden_until_asked_for(visit: Visit, kubernetes: Space) -> None:
    annotations = {"tool.example.com/last-applied-configuration": "aHVudGVyMg=="}
    kubernetes.secrets.create(
        "hidden", metadata={"annotations": annotations}, stringData={"word": "hunter2"}
    )
    visitor = visit(kubernetes.server, side(kubernetes, "hidden", plural="secrets"))
    expect(text_of(visitor)).to_contain_text("hidden (12 characters)")
    assert "aHVudGVyMg==" not in visitor.page.content()
    visitor.go(side(kubernetes, "hidden", "owners", "secrets"))
    expect(visitor.page.get_by_role("region", name="Fields by manager")).to_contain_text("word:")
    assert "aHVudGVyMg==" not in visitor.page.content()
    visitor.go(side(kubernetes, "hidden", plural="secrets"))
    visitor.page.get_by_label("Values").check()
    expect(text_of(visitor)).to_contain_text("word: aHVudGVyMg==")


@pytest.mark.both_dialects
def test_an_object_is_changed_with_the_keyboard_alone(visit: Visit, space: Space) -> None:
    space.config_maps.create("typed", data={"a": "1"})
    visitor = begin(visit, space, "typed")
    keys = visitor.page.keyboard
    for key in ("ArrowDown", "ArrowDown", "Home"):  # below apiVersion and data
        keys.press(key)
    keys.press("Tab")
    keys.type("added: by keys\n")
    assert "\n  added: by keys\n" in editor(visitor).input_value()
    keys.press("Escape")
    expect(button(visitor, "Check")).to_be_focused()
    keys.press("Enter")
    changes = visitor.page.get_by_role("region", name="What would change")
    expect(changes.locator(".added")).to_contain_text(["added: by keys"])
    assert "added" not in space.config_maps.read("typed")["data"]
    expect(button(visitor, "Save")).to_be_focused()
    visitor.picture(f"editing-{space.dialect.name}")
    assert visitor.findings() == []
    keys.press("Enter")
    expect(text_of(visitor)).to_contain_text("added: by keys")
    value = space.config_maps.read("typed")
    assert value["data"] == {"a": "1", "added": "by keys"}
    assert "fairlead-console" in [
        managed_field["manager"] for managed_field in value["metadata"]["managedFields"]
    ]


def test_what_the_server_does_not_take_is_told_at_its_line(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("wrong", data={"a": "1"})
    visitor = begin(visit, kubernetes, "wrong")
    noted = visitor.page.locator(".editor .noted")
    rewrite(visitor, "kind: ConfigMap", "kind: ConfigMap\ncolour: red")
    check(visitor)
    expect(noted).to_have_text(['colour: red← unknown field "colour"'])
    rewrite(visitor, "\ncolour: red", "")
    rewrite(visitor, "  name: wrong", "  labels:\n    a: '-'\n    b: c\n  name: wrong")
    check(visitor)
    expect(noted).to_contain_text(["labels:← metadata.labels: Invalid value"])
    rewrite(visitor, "    b: c", "   b: c")
    check(visitor)
    expect(visitor.page.get_by_role("alert")).to_contain_text(re.compile(r"line \d+"))
    visitor.page.get_by_role("alert").get_by_role("button").first.click()
    expect(editor(visitor)).to_be_focused()
    visitor.picture("editing-refused")
    assert visitor.findings() == []


def test_what_others_change_meanwhile_is_shown_and_both_can_be_had(
    visit: Visit, kubernetes: Space
) -> None:
    lines = dict.fromkeys("abcdefgh", "1")
    kubernetes.config_maps.create("moved", data=lines)
    visitor = begin(visit, kubernetes, "moved")
    rewrite(visitor, 'b: "1"', "b: mine")
    kubernetes.config_maps.patch("moved", {"data": {"g": "theirs"}})
    others = visitor.page.get_by_role("region", name="What others changed")
    expect(others.locator(".added")).to_contain_text(["g: theirs", "resourceVersion"])
    mine = visitor.page.get_by_role("region", name="What you changed")
    expect(mine.locator(".added")).to_contain_text(["b: mine"])
    visitor.picture("editing-moved")
    assert visitor.findings() == []
    button(visitor, "Take mine on top of theirs").click()
    expect(others).to_have_count(0)
    check(visitor)
    button(visitor, "Save").click()
    expect(text_of(visitor)).to_contain_text("g: theirs")
    assert kubernetes.config_maps.read("moved")["data"] == {**lines, "b": "mine", "g": "theirs"}


def test_where_both_changed_a_line_somebody_must_choose(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("same", data={"a": "1"})
    visitor = begin(visit, kubernetes, "same")
    rewrite(visitor, 'a: "1"', "a: mine")
    kubernetes.config_maps.patch("same", {"data": {"a": "theirs"}})
    button(visitor, "Take mine on top of theirs").click()
    check(visitor)
    expect(visitor.page.get_by_role("alert")).to_contain_text("Choose what stays")
    written = editor(visitor).input_value()
    assert "<<<<<<< yours\n  a: mine\n=======\n  a: theirs\n>>>>>>> theirs\n" in written
    editor(visitor).fill(re.sub(r"(?s)<<<<<<<.*?\n(.*?)=======.*theirs\n", r"\1", written))
    check(visitor)
    button(visitor, "Save").click()
    expect(text_of(visitor)).to_contain_text("a: mine")
    assert kubernetes.config_maps.read("same")["data"] == {"a": "mine"}


def test_nothing_typed_is_lost_and_one_can_begin_anew(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("kept", data={"a": "1"})
    visitor = begin(visit, kubernetes, "kept")
    rewrite(visitor, 'a: "1"', "a: typed")
    visitor.go("#/kinds/core/configmaps")
    expect(visitor.page.get_by_role("grid")).to_be_visible()
    kubernetes.config_maps.patch("kept", {"data": {"a": "theirs"}})
    visitor.page.reload()
    visitor.go(side(kubernetes, "kept"))
    expect(editor(visitor)).to_have_value(re.compile("a: typed"))
    button(visitor, "Start again from theirs").click()
    expect(editor(visitor)).to_have_value(re.compile("a: theirs"))
    editor(visitor).press("Control+z")
    expect(editor(visitor)).to_have_value(re.compile("a: typed"))
    button(visitor, "Cancel").click()
    visitor.page.get_by_role("dialog").get_by_role("button", name="Throw away").click()
    expect(text_of(visitor)).to_contain_text("a: theirs")


def test_an_object_that_goes_while_one_edits_leaves_the_text(
    visit: Visit, kubernetes: Space
) -> None:
    kubernetes.config_maps.create("gone", data={"a": "1"})
    visitor = begin(visit, kubernetes, "gone")
    rewrite(visitor, 'a: "1"', "a: typed")
    kubernetes.config_maps.remove("gone")
    expect(visitor.page.get_by_text("It was deleted meanwhile")).to_be_visible()
    expect(editor(visitor)).to_have_value(re.compile("a: typed"))


def test_who_may_read_but_not_write_is_told_so(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("readonly", data={"a": "1"})
    kubernetes.collection("rolebindings", "rbac.authorization.@").create(
        "alice",
        subjects=[{"kind": "User", "name": "alice"}],
        roleRef={"kind": "ClusterRole", "name": "view"},
    )
    visitor = visit(kubernetes.server, side(kubernetes, "readonly"), "alice-token", viewport=PHONE)
    button(visitor, "Edit").click()
    rewrite(visitor, 'a: "1"', "a: mine")
    button(visitor, "Check").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text('User "alice" cannot update')
    expect(editor(visitor)).to_have_value(re.compile("a: mine"))
    visitor.picture("editing-phone")


def test_warnings_are_shown_before_saving(visit: Visit, kubernetes: Space) -> None:
    spec = {"containers": [{"name": "c", "image": "a"}], "nodeSelector": {"a": "b"}}
    kubernetes.collection("podtemplates").create("warned", template={"spec": spec})
    visitor = begin(visit, kubernetes, "warned", "podtemplates")
    rewrite(visitor, "a: b", "beta.kubernetes.io/os: linux")
    check(visitor)
    expect(visitor.page.get_by_text("Warning: ")).to_contain_text("beta.kubernetes.io/os")
    expect(button(visitor, "Save")).to_be_visible()
