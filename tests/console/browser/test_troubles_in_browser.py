"""Hostile names, malformed answers and lost connections."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.browser import Visitor
from support.client import ADMIN_TOKEN
from support.namespaces import Space, random_word
from support.waiting import eventually

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Request, Route

Visit = Callable[..., Visitor]
WATCHES = "**/configmaps?watch=true*"
TOO_OLD = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}


def route_of(space: Space, name: str, side: str = "") -> str:
    return f"#/objects/core/configmaps/{space.name}/{name}{side}"


@pytest.mark.parametrize(
    ("route", "says"),
    [
        ("#/constructor", "there is no view constructor"),
        ("#/__proto__", "there is no view __proto__"),
        ("#/access/toString", "there is no such page"),
        ("#/objects/core/namespaces/-/default/constructor", "there is no such object"),
    ],
)
def test_what_every_object_has_is_no_page(
    returning: Visit, kubernetes: Space, route: str, says: str
) -> None:
    visitor = returning(kubernetes.server, route)
    expect(visitor.page.get_by_role("alert")).to_have_text(says)


@pytest.mark.parametrize("name", [".", "..", "%2e%2E"])
def test_a_name_leads_to_no_other_path(visit: Visit, kubernetes: Space, name: str) -> None:
    visitor = visit(kubernetes.server, "#/kinds")
    with visitor.requested() as requests:
        visitor.go(route_of(kubernetes, name))
        expect(visitor.page.get_by_role("alert")).to_contain_text("Name parameter invalid")
    assert [url for url in requests if "/api/" in url and "/configmaps/" not in url] == []


@pytest.mark.both_dialects
def test_values_of_secrets_stay_hidden_in_the_past_until_asked_for(
    visit: Visit, space: Space
) -> None:
    secrets = space.collection("secrets")
    secrets.create("a", stringData={"same": "sesame-1", "other": "sesame-2"})
    secrets.patch("a", {"stringData": {"other": "sesame-3"}})
    visitor = visit(space.server, f"#/objects/core/secrets/{space.name}/a/history")
    moments = visitor.page.get_by_role("region", name="Two moments")
    expect(moments.get_by_role("region")).to_contain_text("hidden (12 characters, another value)")
    moments.get_by_label("the whole state").check()
    expect(moments).to_contain_text("same: hidden (12 characters)")
    expect(moments).not_to_contain_text("c2VzYW1l")
    moments.get_by_label("values", exact=True).check()
    expect(moments).to_contain_text("c2VzYW1lLTM=")


def test_only_secrets_have_values_to_ask_for(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a", data={"x": "1"})
    visitor = visit(kubernetes.server, route_of(kubernetes, "a", "/history"))
    expect(visitor.page.get_by_label("the whole state")).to_be_visible()
    expect(visitor.page.get_by_label("values", exact=True)).to_be_hidden()


def test_a_server_that_tells_nonsense_of_its_kinds_spoils_no_others(
    visit: Visit, kubernetes: Space
) -> None:
    visitor = visit(kubernetes.server, token=None)
    messages = [None, 7, {"name": "../x", "kind": "Up"}, {"name": "x"}, {"name": "y", "kind": "Y"}]
    visitor.page.route("**/apis/apps/v1", lambda route: route.fulfill(json={"resources": messages}))
    visitor.page.route("**/apis/batch/v1", lambda route: route.fulfill(json=[]))
    visitor.page.route("**/apis/policy/v1", lambda route: route.abort())
    visitor.begin("#/kinds", ADMIN_TOKEN)
    expect(visitor.page.get_by_role("link", name="Pod", exact=True)).to_be_visible()
    expect(visitor.page.get_by_role("heading", name="batch")).to_have_count(0)


def test_one_who_leaves_while_a_kind_is_sought_loses_no_others(
    visit: Visit, kubernetes: Space
) -> None:
    visitor = visit(kubernetes.server, "#/kinds")
    expect(visitor.page.get_by_role("link", name="Deployment")).to_be_visible()
    held: list[Route] = []
    visitor.page.route("**/apis/apps/v1", lambda route: held.append(route))
    with visitor.page.expect_request("**/apis/apps/v1"):
        visitor.go("#/kinds/none.example.com/nothings")
    visitor.go("#/kinds/core/pods")
    expect(visitor.page.get_by_role("heading", name="Pod")).to_be_visible()
    for route in held:
        route.abort()
    visitor.go("#/kinds")
    expect(visitor.page.get_by_role("link", name="Deployment")).to_be_visible()


def test_an_object_of_a_kind_that_was_added_since_is_found(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/kinds")
    plural, group = f"rafts{random_word()}", "console.example.com"
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    kubernetes.everywhere("customresourcedefinitions", "apiextensions.@").create(
        f"{plural}.{group}",
        spec={
            **{"group": group, "scope": "Namespaced", "versions": [version]},
            "names": {"plural": plural, "kind": plural.title()},
        },
    )
    rafts = kubernetes.collection(plural, group)
    eventually(lambda: rafts.list().status == 200, "it is served")
    rafts.create("a", apiVersion=f"{group}/v1", kind=plural.title())
    visitor.go(f"#/objects/{group}/{plural}/{kubernetes.name}/a")
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text(f"{plural.title()} a")


def test_an_object_that_is_not_current_says_so(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a")
    visitor = visit(kubernetes.server, "#/kinds")
    visitor.page.route(WATCHES, lambda route: route.abort())
    visitor.go(route_of(kubernetes, "a"))
    says = visitor.page.get_by_text("not current: the server cannot be reached")
    expect(says).to_be_visible()
    visitor.page.unroute(WATCHES)
    expect(says).to_have_count(0)


def test_an_object_that_went_while_nobody_listened_is_deleted(
    visit: Visit, kubernetes: Space
) -> None:
    kubernetes.config_maps.create("a")
    visitor = visit(kubernetes.server, "#/kinds")
    visitor.page.route(WATCHES, lambda route: route.fulfill(body=json.dumps(TOO_OLD) + "\n"))
    visitor.go(route_of(kubernetes, "a"))
    expect(visitor.page.get_by_role("heading", name="ConfigMap a")).to_be_visible()
    kubernetes.config_maps.remove("a")
    expect(visitor.page.get_by_text("deleted", exact=True)).to_be_visible()
    visitor.page.unroute(WATCHES)
    kubernetes.config_maps.create("a")
    expect(visitor.page.get_by_text("deleted", exact=True)).to_have_count(0)


def test_one_can_try_again_where_nothing_could_be_shown(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/kinds")
    visitor.page.route("**/apis", lambda route: route.abort())
    visitor.page.reload()
    expect(visitor.page.get_by_role("alert")).to_have_text("the server cannot be reached")
    visitor.page.unroute("**/apis")
    visitor.page.get_by_role("button", name="Try again").click()
    expect(visitor.page.get_by_role("heading", name="Kinds")).to_be_visible()


def test_a_difference_of_many_lines_does_not_freeze_the_page(
    visit: Visit, kubernetes: Space
) -> None:
    kubernetes.config_maps.create("a", data={f"k{at:04}": "1" for at in range(3000)})
    kubernetes.config_maps.patch("a", {"data": {f"k{at:04}": "2" for at in range(3000)}})
    visitor = visit(kubernetes.server, route_of(kubernetes, "a", "/history"))
    difference = visitor.page.get_by_role("region", name="Difference")
    more = difference.get_by_role("button", name="more lines")
    expect(more).to_be_visible()
    output = difference.locator("code").count()
    assert 0 < output < 3000
    more.press("Enter")
    expect(difference.locator("code")).not_to_have_count(output)
    expect(difference).to_be_focused()


def test_one_who_may_not_watch_is_told_and_asks_for_no_lists_in_vain(
    visit: Visit, kubernetes: Space
) -> None:
    group = f"rbac.authorization.{kubernetes.dialect.group_domain}"
    rule = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}
    kubernetes.collection("roles", "rbac.authorization.@").create("reader", rules=[rule])
    kubernetes.collection("rolebindings", "rbac.authorization.@").create(
        "reader",
        roleRef={"apiGroup": group, "kind": "Role", "name": "reader"},
        subjects=[{"apiGroup": group, "kind": "User", "name": "alice"}],
    )
    kubernetes.config_maps.create("a")
    visitor = visit(kubernetes.server, "#/kinds", "alice-token", namespace=kubernetes.name)
    visitor.go(route_of(kubernetes, "a"))
    expect(visitor.page.get_by_text('not current: configmaps "a" is forbidden')).to_be_visible()
    refused: list[Request] = []

    def note_refusal(request: Request) -> None:
        response = request.response()
        if response is not None and response.status == 403:
            refused.append(request)

    visitor.page.on("requestfinished", note_refusal)
    visitor.go("#/travel")
    expect(visitor.page.get_by_text("kinds may not be listed")).to_be_visible()
    visitor.page.remove_listener("requestfinished", note_refusal)
    assert refused == []


def test_what_could_not_be_looked_at_is_not_called_right(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/kinds", namespace=kubernetes.name)
    visitor.page.route("**/limitranges?*", lambda route: route.abort())
    visitor.go("#/overview")
    verdict = visitor.page.get_by_role("status").filter(has_text="not all could be looked at")
    expect(verdict).to_be_visible()


def test_a_server_that_is_well_again_is_so_in_the_verdict(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/kinds", namespace=kubernetes.name)
    visitor.page.route("**/readyz*", lambda route: route.fulfill(status=500, body="[-]log failed"))
    visitor.go("#/overview")
    expect(visitor.page.get_by_role("status").filter(has_text="1 thing is wrong")).to_be_visible()
    visitor.page.unroute("**/readyz*")
    verdict = visitor.page.get_by_role("status").filter(has_text="nothing is wrong")
    expect(verdict).to_be_visible()


def test_what_turns_the_direction_of_a_text_is_shown_as_what_it_is(
    visit: Visit, kubernetes: Space
) -> None:
    odd = "\u202egnp.exe\u2066 \x1b[31mred"
    kubernetes.config_maps.create(
        "a", data={"odd": odd}, metadata={"annotations": {"example.com/odd": odd}}
    )
    about = {"kind": "ConfigMap", "apiVersion": "v1", "name": "a", "namespace": kubernetes.name}
    kubernetes.collection("events").create(
        "odd", type="Warning", reason="Odd", message=odd, involvedObject=about
    )
    visitor = visit(kubernetes.server, route_of(kubernetes, "a"))
    shown = r"\u202egnp.exe\u2066 ^[[31mred"
    expect(visitor.page.get_by_role("region", name="Data")).to_contain_text(shown)
    expect(visitor.page.get_by_role("region", name="Facts")).to_contain_text(shown)
    visitor.go("#/overview")
    expect(visitor.page.get_by_role("row").filter(has_text="Odd").first).to_contain_text(shown)
    # What is edited is the text itself.
    visitor.go(route_of(kubernetes, "a", "/yaml"))
    visitor.page.get_by_role("button", name="Edit").click()
    text = visitor.page.get_by_role("textbox", name="YAML").input_value()
    assert yaml.safe_load(text)["data"]["odd"] == odd


def test_one_long_cell_makes_no_other_column_wide(visit: Visit, kubernetes: Space) -> None:
    plural, group = f"boats{random_word()}", "console.example.com"
    shape = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    column = {"name": "W" * 60, "type": "string", "jsonPath": ".spec.a"}
    version = {
        **{"name": "v1", "served": True, "storage": True},
        **{"schema": {"openAPIV3Schema": shape}, "additionalPrinterColumns": [column]},
    }
    kubernetes.everywhere("customresourcedefinitions", "apiextensions.@").create(
        f"{plural}.{group}",
        spec={
            **{"group": group, "scope": "Namespaced", "versions": [version]},
            "names": {"plural": plural, "kind": plural.title()},
        },
    )
    boats = kubernetes.collection(plural, group)
    eventually(lambda: boats.list().status == 200, "it is served")
    kind: Any = {"apiVersion": f"{group}/v1", "kind": plural.title()}
    boats.create("a", **kind, spec={"a": "long " * 100})
    visitor = visit(kubernetes.server, f"#/kinds/{group}/{plural}", namespace=kubernetes.name)
    expect(visitor.page.get_by_role("gridcell").nth(1)).to_be_in_viewport()
    grid = visitor.page.get_by_role("grid")
    assert grid.evaluate("one => one.scrollWidth <= one.clientWidth")
