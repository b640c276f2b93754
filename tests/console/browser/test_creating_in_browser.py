"""Creating objects from a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support.browser import Visitor
from support.namespaces import Space, random_word
from support.waiting import eventually

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]


def editor(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("textbox", name="YAML of new objects")


def come(visit: Visit, space: Space) -> Visitor:
    visitor = visit(space.server, "#/kinds/core/configmaps", namespace=space.name)
    expect(visitor.page.get_by_role("grid")).to_be_focused()
    visitor.page.keyboard.press("c")
    expect(editor(visitor)).to_be_focused()
    return visitor


@pytest.mark.both_dialects
def test_an_object_is_made_with_the_keyboard_alone(visit: Visit, space: Space) -> None:
    visitor = come(visit, space)
    text = editor(visitor).input_value()
    assert f"namespace: {space.name}" in text
    keys = visitor.page.keyboard
    keys.type("made")
    keys.press("Control+s")
    expect(visitor.page.get_by_role("region", name="New ConfigMap")).to_contain_text("name: made")
    assert space.config_maps.get("made").status == 404
    visitor.picture(f"creating-{space.dialect.name}")
    assert visitor.findings() == []
    keys.press("Enter")
    expect(visitor.page.get_by_role("heading", name="ConfigMap made")).to_be_visible()
    eventually(lambda: space.config_maps.get("made").status == 200, "it is made")


def test_several_documents_are_made_in_their_order(visit: Visit, kubernetes: Space) -> None:
    visitor = come(visit, kubernetes)
    new = f"test-{random_word()}"
    documents = (
        f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {new}\n",
        f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: inside\n  namespace: {new}\n",
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json"}}\n',
    )
    editor(visitor).fill("---\n".join(documents))
    editor(visitor).press("Control+s")
    expect(visitor.page.get_by_text("once its namespace is there")).to_be_visible()
    visitor.page.get_by_role("button", name="Create all 3").click()
    expect(visitor.page.get_by_role("gridcell", name="json")).to_be_visible()
    path = f"/api/v1/namespaces/{new}/secrets/inside"
    assert kubernetes.client.get(path).status == 200


def test_what_is_wrong_is_told_at_its_line_and_nothing_is_made(
    visit: Visit, kubernetes: Space
) -> None:
    visitor = come(visit, kubernetes)
    good = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: good\n"
    editor(visitor).fill(f"{good}---\n{good}  colour: red\n")
    editor(visitor).press("Control+s")
    noted = visitor.page.locator(".editor .noted")
    expect(noted).to_have_text(['  colour: red← unknown field "metadata.colour"'])
    editor(visitor).fill("kind: Nothing\napiVersion: example.com/v1\n")
    editor(visitor).press("Control+s")
    expect(noted).to_have_text([re.compile("no kind Nothing in example.com/v1")])
    assert kubernetes.config_maps.get("good").status == 404
    visitor.go("#/kinds/core/configmaps")
    expect(visitor.page.get_by_role("grid")).to_be_focused()
    visitor.page.keyboard.press("c")
    expect(editor(visitor)).to_have_value(re.compile("kind: Nothing"))
