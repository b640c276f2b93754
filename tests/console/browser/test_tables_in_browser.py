"""Any kind as a live table."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support.browser import HOSTILE, PHONE, Visitor
from support.client import Object
from support.filling import fill
from support.namespaces import Space, random_word
from support.process import ServerProcess
from support.waiting import eventually

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]
CONFIG_MAPS = "#/kinds/core/configmaps"
MANY = 10_000


def rows(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("row").filter(has=visitor.page.get_by_role("gridcell"))


def row(visitor: Visitor, text: str) -> Locator:
    return rows(visitor).filter(has_text=text)


def names(visitor: Visitor) -> list[str]:
    return [text.split("\n")[0] for text in rows(visitor).all_inner_texts()]


@pytest.mark.both_dialects
def test_objects_come_change_and_go_while_one_looks(visit: Visit, space: Space) -> None:
    space.config_maps.create("first", data={"a": "1"})
    visitor = visit(space.server, CONFIG_MAPS, namespace=space.name)
    expect(row(visitor, "first")).to_have_count(1)
    space.config_maps.create("second", data={"a": "1", "b": "2"})
    cell = row(visitor, "second").get_by_role("gridcell").nth(1)
    expect(cell).to_have_text("2")
    space.config_maps.patch("second", {"data": {"c": "3"}})
    expect(cell).to_have_text("3")
    space.config_maps.remove("second")
    expect(row(visitor, "second")).to_have_count(0)
    visitor.picture(f"table-{space.dialect.name}")
    assert visitor.findings() == []


def test_a_custom_kind_is_a_kind_like_others(visit: Visit, kubernetes: Space) -> None:
    plural, group = f"boats{random_word()}", "console.example.com"
    columns = [{"name": "Sails", "type": "integer", "jsonPath": ".spec.sails"}]
    shape = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        **{"name": "v1", "served": True, "storage": True},
        **{"schema": {"openAPIV3Schema": shape}, "additionalPrinterColumns": columns},
    }
    visitor = visit(kubernetes.server, "#/kinds", namespace=kubernetes.name)
    kubernetes.everywhere("customresourcedefinitions", "apiextensions.@").create(
        f"{plural}.{group}",
        spec={
            **{"group": group, "scope": "Namespaced", "versions": [version]},
            "names": {"plural": plural, "kind": plural.title()},
        },
    )
    boats = kubernetes.collection(plural, group)
    eventually(lambda: boats.list().status == 200, "it is served")
    visitor.go(f"#/kinds/{group}/{plural}")
    boats.client.post(
        boats.path,
        {
            **{"apiVersion": f"{group}/v1", "kind": plural.title()},
            **{"metadata": {"name": "sloop"}, "spec": {"sails": 2}},
        },
    )
    expect(visitor.page.get_by_role("columnheader", name="Sails")).to_be_visible()
    expect(row(visitor, "sloop").get_by_role("gridcell").nth(1)).to_have_text("2")


def test_what_is_filtered_and_sorted_stays_in_the_address(visit: Visit, kubernetes: Space) -> None:
    for number in (10, 9, 1):
        data = {f"k{key}": "" for key in range(number)}
        kubernetes.config_maps.create(f"own-{number}", data=data)
    visitor = visit(kubernetes.server, CONFIG_MAPS, namespace=kubernetes.name)
    page = visitor.page
    page.get_by_label("Filter").fill("own")
    expect(rows(visitor)).to_have_count(3)
    page.get_by_role("button", name="Data").click()
    assert names(visitor) == ["own-1", "own-9", "own-10"]
    page.get_by_role("button", name="Data").click()
    assert names(visitor) == ["own-10", "own-9", "own-1"]
    page.reload()
    expect(rows(visitor)).to_have_count(3)
    assert names(visitor) == ["own-10", "own-9", "own-1"]
    expect(page.get_by_role("columnheader", name="Data")).to_have_attribute(
        "aria-sort", "descending"
    )


def test_a_selector_is_the_servers(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("red", labels={"colour": "red"})
    kubernetes.config_maps.create("blue", labels={"colour": "blue"})
    visitor = visit(kubernetes.server, CONFIG_MAPS, namespace=kubernetes.name)
    labels = visitor.page.get_by_label("Label selector")
    labels.fill("colour=red")
    labels.press("Enter")
    expect(rows(visitor)).to_have_count(1)
    labels = visitor.page.get_by_label("Label selector")
    labels.fill("colour in (")
    labels.press("Enter")
    expect(visitor.page.locator("#count")).to_contain_text("unable to parse requirement")


def test_keys_are_enough(visit: Visit, kubernetes: Space) -> None:
    for name in ("a", "b", "c"):
        kubernetes.secrets.create(name)
    visitor = visit(kubernetes.server)
    keyboard = visitor.page.keyboard
    keyboard.press("n")
    keyboard.type(kubernetes.name)
    keyboard.press("Enter")
    expect(visitor.page.locator("#namespace")).to_contain_text(kubernetes.name)
    keyboard.press("g")
    keyboard.type("secret")
    keyboard.press("Enter")
    expect(rows(visitor)).to_have_count(3)
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Secret b")
    keyboard.press("?")
    expect(visitor.page.get_by_role("dialog", name="Keys")).to_be_visible()
    visitor.picture("keys")
    keyboard.press("Escape")
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)
    keyboard.press("/")
    keyboard.type("secret c")
    expect(visitor.page.get_by_role("option", selected=True)).to_contain_text(kubernetes.name)
    visitor.picture("search")
    keyboard.press("Enter")
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Secret c")


def test_ten_thousand_rows_do_not_hold_the_page(visit: Visit, kubernetes: Space) -> None:
    fill(kubernetes.server, kubernetes.name, MANY)
    visitor = visit(kubernetes.server, CONFIG_MAPS, namespace=kubernetes.name)
    page = visitor.page
    count = page.locator("#count")
    expect(count).to_have_text(re.compile(rf"{MANY + 1} · live"), timeout=60_000)
    assert rows(visitor).count() < 100
    page.keyboard.press("End")
    expect(row(visitor, f"many-{MANY:08}")).to_be_visible()
    page.get_by_label("Filter").fill("many-000077")
    expect(count).to_have_text(re.compile(r"^100 of 10001 · live"))
    page.get_by_label("Filter").fill("")
    kubernetes.config_maps.create("a-new-one")
    page.get_by_label("Filter").fill("a-new-one")
    expect(rows(visitor)).to_have_count(1)
    visitor.picture("many")


def test_whoever_may_not_look_is_told_why(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/kinds/core/secrets", token="alice-token")
    message = visitor.page.get_by_role("alert")
    expect(message).to_contain_text('User "alice" cannot list resource "secrets"')
    visitor.picture("without-rights")
    assert visitor.findings() == []


def test_markup_in_what_a_cluster_says_stays_text(visit: Visit, kubernetes: Space) -> None:
    event: Object = {
        **{"reason": HOSTILE, "message": f"{HOSTILE}<script>alert(2)</script>", "type": "Warning"},
        "involvedObject": {"kind": HOSTILE, "name": "b", "namespace": kubernetes.name},
    }
    kubernetes.collection("events").create("hostile", **event)
    visitor = visit(kubernetes.server, "#/kinds/core/events", namespace=kubernetes.name)
    expect(rows(visitor).filter(has_text=HOSTILE)).to_have_count(1)
    assert visitor.page.locator("img").count() == 0


def test_it_can_be_read_on_a_phone_and_in_the_dark(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("small")
    visitor = visit(
        kubernetes.server, CONFIG_MAPS, namespace=kubernetes.name, viewport=PHONE, in_new_tab=True
    )
    expect(row(visitor, "small")).to_be_visible()
    wide = "document.documentElement.scrollWidth > innerWidth"
    assert visitor.page.evaluate(wide) is False
    visitor.picture("phone")
    assert visitor.findings() == []
    visitor.page.emulate_media(color_scheme="dark")
    visitor.picture("phone-dark")
    assert visitor.findings() == []


def test_a_watch_that_ends_begins_again(
    visit: Visit, fresh_server: Callable[..., ServerProcess]
) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    space.secrets.create("before")
    visitor = visit(server, "#/kinds/core/secrets", namespace=space.name, in_new_tab=True)
    expect(row(visitor, "before")).to_have_count(1)
    server.stop()
    expect(visitor.page.locator("#count")).to_contain_text("cannot be reached")
    server.flags = ("--secure-port", server.address.rpartition(":")[2])
    server.start()
    space.client = server.client()
    space.collection("secrets").create("after")
    expect(row(visitor, "after")).to_have_count(1)
    visitor.went_wrong.clear()


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("networking.k8s.io/servicecidrs", "CIDRs"),
        ("storage.k8s.io/volumeattributesclasses", "DriverName"),
        ("resource.k8s.io/resourceclaims", "State"),
        ("core/serviceaccounts", "Age"),
    ],
)
def test_kinds_of_release_1_36(
    kind: str, column: str, visit: Visit, server_1_36: ServerProcess
) -> None:
    visitor = visit(server_1_36, f"#/kinds/{kind}")
    expect(visitor.page.get_by_role("columnheader", name=column)).to_have_count(1)
