"""One console for several servers, one of them without a console of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from support.browser import DESK
from support.client import ADMIN_TOKEN
from support.local_console import LocalConsole, contexts_file, local_console, place_of
from support.process import ServerProcess
from support.waiting import eventually

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server without a console, as servers of others are."""
    directory = tmp_path_factory.mktemp("without")
    server = ServerProcess(directory, "kubernetes", ("--console=false",)).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def console(
    tmp_path_factory: pytest.TempPathFactory,
    server: ServerProcess,
    cluster_server: ServerProcess,
    without: ServerProcess,
) -> Iterator[LocalConsole]:
    config = contexts_file(
        tmp_path_factory.mktemp("contexts") / "config",
        "here",
        here=place_of(server, ADMIN_TOKEN),
        there=place_of(cluster_server, ADMIN_TOKEN),
        without=place_of(without, ADMIN_TOKEN),
        gone=({"server": "https://127.0.0.1:1"}, {}),
        refused=place_of(server, "wrong"),
    )
    with local_console(config) as running:
        yield running


@pytest.fixture
def page(chromium: Browser, console: LocalConsole) -> Iterator[Page]:
    """A page that the link has signed in; errors of the page fail the test."""
    context = chromium.new_context(viewport=DESK, reduced_motion="reduce")
    wrong: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(console.link)
    page.get_by_role("navigation", name="Views").wait_for()
    console.next_link()
    yield page
    context.close()
    assert wrong == []


def go_to(page: Page, context: str) -> None:
    page.get_by_label("Context").select_option(context)


def test_the_servers_of_all_contexts_are_shown(page: Page, server: ServerProcess) -> None:
    expect(page.get_by_label("Context")).to_have_value("here")
    assert "code" not in page.url
    expect(page.get_by_text("dialect kubernetes")).to_be_visible()
    go_to(page, "there")
    expect(page.get_by_text("dialect cluster")).to_be_visible()
    expect(page.get_by_role("link", name="Live feed")).to_be_visible()
    page.screenshot(path="build/console/contexts.png")
    go_to(page, "here")
    expect(page.get_by_text("dialect kubernetes")).to_be_visible()
    stored = page.evaluate("JSON.stringify(sessionStorage)")
    assert ADMIN_TOKEN not in stored


def test_a_server_without_history_is_shown_all_the_same(page: Page, without: ServerProcess) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    without.client().post(path, {"metadata": {"name": "a"}, "data": {"x": "1"}}, fieldManager="zoe")
    go_to(page, "without")
    expect(page.get_by_text("dialect kubernetes")).to_be_visible()
    views = page.get_by_role("navigation", name="Views")
    for name in ("Live feed", "Time travel", "Server"):
        expect(views.get_by_role("link", name=name)).to_have_count(0)
    page.evaluate("location.hash = '#/objects/core/configmaps/default/a/owners'")
    expect(page.get_by_role("button", name="zoe")).to_be_visible()
    expect(page.get_by_role("link", name="History")).to_have_count(0)
    page.screenshot(path="build/console/contexts-without-history.png")
    page.get_by_role("link", name="Summary").click()
    page.get_by_role("button", name="Delete this ConfigMap").click()
    expect(page.get_by_text("kubectl --context without delete")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("t")  # it leads nowhere here
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).not_to_contain_text("time travel")


def test_a_server_of_others_is_not_asked_for_a_history(page: Page, without: ServerProcess) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    client = without.client()
    eventually(
        lambda: client.post("/api/v1/namespaces/default/pods", pod).status == 201, "there is a pod"
    )
    go_to(page, "here")
    expect(page.get_by_text("dialect kubernetes")).to_be_visible()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    go_to(page, "without")
    expect(page.get_by_role("region", name="Objects")).to_contain_text("Pod")
    page.evaluate("location.hash = '#/map'")
    expect(page.get_by_text("looked at every")).to_be_visible()
    page.evaluate("location.hash = '#/objects/core/pods/default/p'")
    expect(page.get_by_text("when its agent registers it")).to_be_visible()
    assert [url for url in requested if "/history" in url] == []


def test_a_server_that_is_away_does_not_keep_others_away(page: Page) -> None:
    go_to(page, "gone")
    expect(page.get_by_role("alert")).to_contain_text("nothing listens")
    go_to(page, "refused")
    expect(page.get_by_role("alert")).to_contain_text("credentials of this context")
    go_to(page, "here")
    expect(page.get_by_text("dialect kubernetes")).to_be_visible()


def test_a_draft_for_one_server_is_none_for_another(page: Page) -> None:
    page.evaluate("location.hash = '#/apply'")
    page.get_by_role("textbox").first.fill("kind: ConfigMap")
    go_to(page, "there")
    expect(page.get_by_text("dialect cluster")).to_be_visible()
    page.evaluate("location.hash = '#/apply'")
    expect(page.get_by_role("textbox").first).not_to_have_value("kind: ConfigMap")
    go_to(page, "here")
    expect(page.get_by_text("dialect kubernetes")).to_be_visible()
    page.evaluate("location.hash = '#/apply'")
    expect(page.get_by_role("textbox").first).to_have_value("kind: ConfigMap")
