"""Lists without objects, small screens, keys, and links into an open tab."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.browser import PHONE, Visitor
from support.console import code_of
from support.namespaces import Space
from support.simulation import Pods

expect = pytest.importorskip("playwright.sync_api").expect

Visit = Callable[..., Visitor]


def test_an_empty_list_says_what_could_be_there_and_how_to_make_it(
    returning: Visit, kubernetes: Space
) -> None:
    visitor = returning(kubernetes.server, "#/kinds/apps/deployments", namespace=kubernetes.name)
    page = visitor.page
    expect(page.get_by_text(f"There is no Deployment in {kubernetes.name}.")).to_be_visible()
    line = "kubectl create deployment web --image=nginx --replicas=2 --namespace "
    expect(page.locator(".command")).to_have_text(line + kubernetes.name)
    visitor.picture("empty-list")
    assert visitor.findings() == []
    page.get_by_role("link", name="Write a Deployment").click()
    expect(page.get_by_role("heading", name="New Deployment")).to_be_visible()


def test_a_list_that_a_filter_empties_can_be_shown_again(
    returning: Visit, kubernetes: Space
) -> None:
    kubernetes.secrets.create("a")
    visitor = returning(kubernetes.server, "#/kinds/core/secrets", namespace=kubernetes.name)
    visitor.page.get_by_label("Filter").fill("nothing like it")
    expect(visitor.page.get_by_text("Nothing here fits the filter.")).to_be_visible()
    visitor.page.get_by_role("button", name="Show all").click()
    expect(visitor.page.get_by_role("gridcell", name="a", exact=True)).to_be_visible()


def test_a_phone_shows_first_how_a_pod_is(visit: Visit, pods: Pods) -> None:
    pods.create("p")
    pods.await_ready()
    visitor = visit(
        pods.server, "#/kinds/core/pods", namespace=pods.space.name, viewport=PHONE, in_new_tab=True
    )
    status = visitor.page.get_by_role("gridcell", name="Running")
    expect(status).to_be_in_viewport()
    expect(visitor.page.get_by_role("gridcell", name="p", exact=True)).to_be_in_viewport()
    visitor.picture("phone-pods")
    assert visitor.findings() == []


def test_the_list_of_keys_is_that_of_the_page(returning: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a")
    visitor = returning(kubernetes.server, "#/kinds/core/configmaps", namespace=kubernetes.name)
    keys = visitor.page.get_by_role("dialog", name="Keys")
    visitor.page.get_by_role("gridcell", name="a", exact=True).wait_for()
    visitor.page.keyboard.press("?")
    expect(keys).to_contain_text("pick this row, or drop it")
    expect(keys).to_contain_text("In the list")
    visitor.page.keyboard.press("Escape")
    visitor.go("#/apply")
    expect(visitor.page.get_by_role("textbox", name="YAML to apply")).to_be_visible()
    visitor.page.get_by_role("button", name="Keys").click()
    expect(keys).to_contain_text("In the editor")
    expect(keys).not_to_contain_text("pick this row")


def test_a_sign_in_link_works_in_a_tab_that_is_open(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "", token=None)
    expect(visitor.page.get_by_label("Token")).to_be_visible()
    code = code_of(kubernetes.client)
    visitor.go(f"#code={code}")
    expect(visitor.page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(visitor.page.locator("#user")).to_have_text("admin")
    assert "code" not in visitor.page.url
    visitor.go(f"#code={code_of(kubernetes.client)}")
    expect(visitor.page.get_by_text("You are signed in already.")).to_be_visible()
    expect(visitor.page.get_by_role("heading", name="Overview")).to_be_visible()
