"""Signing in to the console in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from support.browser import Visitor
from support.client import ADMIN_TOKEN
from support.namespaces import Space

expect = pytest.importorskip("playwright.sync_api").expect

Visit = Callable[..., Visitor]


def test_without_a_token_there_is_only_the_way_in(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/kinds/core/secrets", token=None)
    expect(visitor.page.get_by_label("Token")).to_be_focused()
    expect(visitor.page.get_by_role("navigation")).to_have_count(0)
    visitor.picture("signed-out")
    assert visitor.findings() == []


def test_a_token_that_is_not_known_is_refused_in_words(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, token=None)
    visitor.page.get_by_label("Token").fill("wrong")
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.get_by_role("alert")).to_have_text(re.compile("Unauthorized"))
    expect(visitor.page.get_by_label("Token")).to_be_visible()


def test_signing_out_forgets_the_token(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server)
    visitor.page.get_by_role("button", name="Sign out").click()
    expect(visitor.page.get_by_label("Token")).to_be_visible()
    assert ADMIN_TOKEN not in str(visitor.page.evaluate("({...sessionStorage})"))
    visitor.page.reload()
    expect(visitor.page.get_by_label("Token")).to_be_visible()


def test_a_one_time_link_lets_its_user_in_once(visit: Visit, kubernetes: Space) -> None:
    answer = kubernetes.client.post("/console/link", {})
    assert answer.status in (200, 201), answer.text
    link = f"#code={answer.body['code']}"
    visitor = visit(kubernetes.server, link, token=None)
    expect(visitor.page.get_by_role("navigation", name="Views")).to_be_visible()
    expect(visitor.page.locator("#user")).to_have_text("admin")
    assert answer.body["code"] not in visitor.page.url
    other = visit(kubernetes.server, link, token=None)
    expect(other.page.get_by_role("alert")).to_be_visible()
    expect(other.page.get_by_label("Token")).to_be_visible()


def test_a_link_does_not_replace_who_is_signed_in(visit: Visit, kubernetes: Space) -> None:
    code = kubernetes.client.post("/console/link", {}).body["code"]
    visitor = visit(kubernetes.server, f"#code={code}", token="alice-token")
    expect(visitor.page.get_by_text("You are signed in already")).to_be_visible()
    assert visitor.page.evaluate("sessionStorage.getItem('fairlead.token')") == "alice-token"


def test_a_session_is_renewed_before_it_ends(visit: Visit, kubernetes: Space) -> None:
    code = kubernetes.client.post("/console/link", {}).body["code"]
    visitor = visit(kubernetes.server, token=None, in_new_tab=True)
    page = visitor.page
    page.clock.install()
    visitor.begin(f"#code={code}", token=None)
    expect(page.get_by_role("navigation", name="Views")).to_be_visible()
    with page.expect_response("**/console/session") as renewed:
        page.clock.fast_forward("55:00")
    assert renewed.value.status == 200
    visitor.go("#/kinds/core/configmaps")
    expect(page.get_by_role("grid")).to_be_visible()


def test_signing_out_ends_a_session_for_good(visit: Visit, kubernetes: Space) -> None:
    code = kubernetes.client.post("/console/link", {}).body["code"]
    page = visit(kubernetes.server, f"#code={code}", token=None).page
    expect(page.get_by_role("navigation", name="Views")).to_be_visible()
    token = page.evaluate("sessionStorage.getItem('fairlead.token')")
    with page.expect_response("**/console/session"):
        page.get_by_role("button", name="Sign out").click()
    other = kubernetes.server.client(token)
    assert other.get("/api/v1/namespaces").status == 401


def test_no_other_host_is_asked_for_anything(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, token=None, in_new_tab=True)
    with visitor.requested() as requests:
        visitor.open("#/kinds", ADMIN_TOKEN)
        expect(visitor.page.get_by_role("heading", name="Kinds")).to_be_visible()
    assert requests
    assert {url for url in requests if not url.startswith(kubernetes.server.address)} == set()
