"""Time travel: a slider over the versions of an object and over the history of a namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support.browser import HOSTILE, Visitor
from support.namespaces import Space

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]


def history_of(space: Space, name: str) -> str:
    return f"#/objects/core/configmaps/{space.name}/{name}/history"


def difference(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("region", name="Difference")


def versions(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("list", name="Versions").get_by_role("listitem")


def changed_twice(space: Space, name: str = "a") -> None:
    space.config_maps.create(name, data={"colour": "red"})
    space.config_maps.patch(name, {"data": {"colour": "green"}}, fieldManager="painter")
    space.config_maps.patch(name, {"data": {"colour": "blue"}})


def test_the_slider_goes_back_by_keyboard(returning: Visit, cluster: Space) -> None:
    changed_twice(cluster)
    visitor = returning(cluster.server, history_of(cluster, "a"))
    expect(versions(visitor)).to_have_count(3)
    expect(difference(visitor)).to_contain_text("colour: blue")
    slider = visitor.page.get_by_role("slider", name="Version")
    slider.focus()
    slider.press("ArrowLeft")
    expect(difference(visitor)).to_contain_text("colour: green")
    expect(visitor.page.get_by_text("painter (Update)")).to_be_visible()
    visitor.page.keyboard.press("[")
    visitor.page.get_by_label("the whole state").check()
    expect(visitor.page.get_by_role("region", name="State", exact=True)).to_contain_text(
        "colour: red"
    )
    visitor.page.keyboard.press("]")
    expect(visitor.page.get_by_role("region", name="State", exact=True)).to_contain_text(
        "colour: green"
    )
    visitor.picture("history")
    assert visitor.findings() == []


def test_any_two_versions_are_compared(returning: Visit, kubernetes: Space) -> None:
    changed_twice(kubernetes)
    visitor = returning(kubernetes.server, history_of(kubernetes, "a"))
    expect(versions(visitor)).to_have_count(3)
    visitor.page.get_by_label("Compare with").select_option("the oldest")
    expect(difference(visitor).locator(".removed")).to_contain_text("colour: red")
    expect(difference(visitor).locator(".added")).to_contain_text("colour: blue")
    visitor.page.get_by_label("Compare with").select_option("a chosen one")
    other = visitor.page.get_by_role("slider", name="Compared with")
    other.focus()
    other.press("ArrowRight")
    expect(difference(visitor).locator(".removed")).to_contain_text("colour: green")
    kept = visitor.page.url
    assert "with=" in kept
    visitor.page.reload()
    expect(difference(visitor).locator(".removed")).to_contain_text("colour: green")


def test_new_versions_append_while_one_looks(returning: Visit, kubernetes: Space) -> None:
    changed_twice(kubernetes)
    visitor = returning(kubernetes.server, history_of(kubernetes, "a"))
    expect(versions(visitor)).to_have_count(3)
    kubernetes.config_maps.patch("a", {"data": {"colour": "white"}})
    expect(versions(visitor)).to_have_count(4)
    expect(difference(visitor)).to_contain_text("colour: white")
    kubernetes.config_maps.remove("a")
    expect(versions(visitor)).to_have_count(5)
    expect(versions(visitor).first).to_contain_text("deleted")


def test_the_past_of_what_is_gone(returning: Visit, kubernetes: Space) -> None:
    changed_twice(kubernetes)
    kubernetes.config_maps.remove("a")
    visitor = returning(kubernetes.server, history_of(kubernetes, "a"))
    expect(versions(visitor)).to_have_count(4)
    expect(versions(visitor).first).to_contain_text("deleted")
    expect(versions(visitor).first).to_contain_text("admin")
    visitor.page.keyboard.press("[")
    expect(difference(visitor)).to_contain_text("colour: blue")


def test_markup_of_the_past_is_text(returning: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a", data={"x": HOSTILE})
    manager = HOSTILE[:100]
    kubernetes.config_maps.patch("a", {"data": {"x": f"{HOSTILE}!"}}, fieldManager=manager)
    visitor = returning(kubernetes.server, history_of(kubernetes, "a"))
    expect(difference(visitor)).to_contain_text(f"{HOSTILE}!")
    expect(visitor.page.get_by_text(f"{HOSTILE} (Update)")).to_be_visible()
    assert visitor.page.locator("main img").count() == 0


def test_who_may_not_read_it_may_not_read_its_past(returning: Visit, kubernetes: Space) -> None:
    changed_twice(kubernetes)
    visitor = returning(kubernetes.server, history_of(kubernetes, "a"), token="alice-token")
    expect(visitor.page.get_by_role("alert")).to_contain_text('User "alice" cannot get resource')


def thing(visitor: Visitor, name: str) -> Locator:
    return visitor.page.get_by_role("region", name="What was there").get_by_role(
        "button", name=name
    )


def test_a_namespace_as_it_was(returning: Visit, cluster: Space) -> None:
    first = cluster.config_maps.create("stays", data={"colour": "red"})
    cluster.config_maps.create("goes")
    middle = cluster.config_maps.patch("stays", {"data": {"colour": "green"}})
    cluster.config_maps.remove("goes")
    cluster.config_maps.create("comes")
    at, against = middle.version, first["metadata"]["resourceVersion"]
    visitor = returning(cluster.server, f"#/travel?at={at}&with={against}", namespace=cluster.name)
    expect(thing(visitor, "stays")).to_contain_text("changed")
    expect(thing(visitor, "goes")).to_contain_text("added")
    expect(thing(visitor, "comes")).to_have_count(0)
    thing(visitor, "stays").click()
    expect(difference(visitor).locator(".removed")).to_contain_text("colour: red")
    expect(difference(visitor).locator(".added")).to_contain_text("colour: green")
    visitor.page.get_by_label("Compare with").select_option("now")
    expect(thing(visitor, "goes")).to_contain_text("added")
    expect(thing(visitor, "comes")).to_contain_text("removed")
    visitor.picture("travel")
    assert visitor.findings() == []


def test_what_never_changed_was_there_all_the_time(returning: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("old")
    visitor = returning(kubernetes.server, "#/travel", namespace=kubernetes.name)
    visitor.page.get_by_label("also what is the same").check()
    expect(thing(visitor, "old")).to_have_count(1)
    kubernetes.secrets.create("fresh")
    expect(thing(visitor, "fresh")).to_contain_text("added")
    visitor.page.get_by_role("button", name="Back").click()
    expect(thing(visitor, "fresh")).to_have_count(0)
    expect(thing(visitor, "old")).to_have_count(1)


def test_a_namespace_of_somebody_else_is_empty(returning: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a")
    visitor = returning(
        kubernetes.server, "#/travel", token="alice-token", namespace=kubernetes.name
    )
    expect(visitor.page.get_by_text("0 changes")).to_be_visible()
    expect(thing(visitor, "a")).to_have_count(0)


def test_one_goes_to_a_moment_in_words(returning: Visit, kubernetes: Space) -> None:
    changed_twice(kubernetes)
    visitor = returning(kubernetes.server, history_of(kubernetes, "a"))
    expect(difference(visitor)).to_contain_text("colour: blue")
    visitor.page.keyboard.press("@")
    moment = visitor.page.get_by_label("Go to a moment")
    expect(moment).to_be_focused()
    moment.fill("two hours ago")
    moment.press("Enter")
    expect(visitor.page.get_by_text("Nothing is known of then")).to_be_visible()
    place = visitor.page.get_by_role("group", name="Time").get_by_role("status")
    expect(place).to_contain_text("1 of 3")
    moment.fill("now")
    moment.press("Enter")
    expect(place).to_contain_text("3 of 3")
    moment.fill("soon")
    moment.press("Enter")
    expect(visitor.page.get_by_text('What moment is "soon"?')).to_be_visible()


def test_a_click_on_the_axis_goes_to_a_moment_and_a_drag_compares_two(
    returning: Visit, kubernetes: Space
) -> None:
    changed_twice(kubernetes)
    visitor = returning(kubernetes.server, history_of(kubernetes, "a"))
    expect(difference(visitor)).to_contain_text("colour: blue")
    place = visitor.page.get_by_role("group", name="Time").get_by_role("status")
    box = visitor.page.locator(".axis").bounding_box()
    assert box is not None
    left, right, y = box["x"] + 1, box["x"] + box["width"] - 1, box["y"] + 5
    visitor.page.mouse.click(left, y)
    expect(place).to_contain_text("1 of 3")
    visitor.page.mouse.move(left, y)
    visitor.page.mouse.down()
    visitor.page.mouse.move(right, y)
    visitor.page.mouse.up()
    expect(visitor.page.get_by_label("Compare with")).to_have_value("chosen")
    expect(visitor.page.get_by_role("slider", name="Compared with")).to_have_value("0")
    visitor.picture("time-axis")
    assert visitor.findings() == []
