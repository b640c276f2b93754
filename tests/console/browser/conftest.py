"""A browser, a signed-in visitor, and a cluster with objects that change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from support.browser import DESK, Tabs, Visitor, browser
from support.client import ADMIN_TOKEN
from support.process import ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

Visit = Callable[..., Visitor]


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Ends with the tests of the console: the event loop that it brings would be in the way of
    other tests."""
    with browser() as running:
        yield running


@pytest.fixture(scope="package")
def tabs(chromium: Browser) -> Iterator[Tabs]:
    tabs = Tabs(chromium)
    yield tabs
    tabs.close()


@pytest.fixture
def visit(chromium: Browser, tabs: Tabs) -> Iterator[Visit]:
    """`visit(server, route, token=..., namespace=..., viewport=...)` opens the console, by default
    as an administrator. Errors of the page fail the test.

    The page is loaded again for every test, in a tab of a previous test if there is one.
    `in_new_tab` is for tests that change the tab itself or stop its server.
    """
    visitors: list[Visitor] = []
    new: list[Visitor] = []

    def come(
        server: ServerProcess,
        route: str = "#/overview",
        token: str | None = ADMIN_TOKEN,
        namespace: str = "",
        viewport: ViewportSize = DESK,
        *,
        in_new_tab: bool = False,
    ) -> Visitor:
        if in_new_tab:
            visitor = Visitor(chromium, server, viewport)
            new.append(visitor)
        else:
            visitor = tabs.take(server, viewport)
            visitors.append(visitor)
        visitor.begin(route, token, namespace)
        return visitor

    yield come
    for visitor in new:
        visitor.close()
    assert [message for visitor in new for message in visitor.went_wrong] == []
    tabs.give_back(visitors)


@pytest.fixture(scope="module")
def returning(tabs: Tabs) -> Iterator[Visit]:
    """Like `visit`, for tests that leave the page unchanged: reuses the page of the previous test,
    which saves loading it again."""
    known: dict[tuple[str, str], Visitor] = {}

    def come(
        server: ServerProcess, route: str, token: str = ADMIN_TOKEN, namespace: str = ""
    ) -> Visitor:
        visitor = known.get((server.address, token))
        if visitor is not None:
            visitor.come_back(route, namespace)
            return visitor
        visitor = known[server.address, token] = tabs.take(server)
        visitor.begin(route, token, namespace)
        return visitor

    yield come
    tabs.give_back(known.values())
