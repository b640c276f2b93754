"""A browser, a signed-in visitor, and a cluster with objects that change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from support.browser import DESK, Visitor, browser
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
def idle_visitors(chromium: Browser) -> Iterator[list[Visitor]]:
    """Visitors of previous tests, whose tabs `visit` uses again."""
    idle: list[Visitor] = []
    yield idle
    for visitor in idle:
        visitor.close()


@pytest.fixture
def visit(chromium: Browser, idle_visitors: list[Visitor]) -> Iterator[Visit]:
    """`visit(server, route, token=..., namespace=..., viewport=...)` opens the console, by default
    as an administrator. Errors of the page fail the test.

    The page is loaded again for every test, in a tab of a previous one if there is such a tab.
    `in_new_tab` is for tests that change the tab itself, e.g. listen to its events; it is closed
    after the test.
    """
    visitors: list[Visitor] = []
    closed: list[Visitor] = []

    def come(
        server: ServerProcess,
        route: str = "#/overview",
        token: str | None = ADMIN_TOKEN,
        namespace: str = "",
        viewport: ViewportSize = DESK,
        *,
        in_new_tab: bool = False,
    ) -> Visitor:
        idle = [one for one in idle_visitors if (one.server, one.viewport) == (server, viewport)]
        if idle and not in_new_tab:
            visitor = idle[0]
            idle_visitors.remove(visitor)
        else:
            visitor = Visitor(chromium, server, viewport)
        (closed if in_new_tab else visitors).append(visitor)
        visitor.begin(route, token, namespace)
        return visitor

    yield come
    for visitor in closed:
        visitor.close()
    for visitor in visitors:
        visitor.leave()
    wrong = [message for visitor in (*visitors, *closed) for message in visitor.went_wrong]
    assert wrong == []
    idle_visitors += visitors  # of a test that failed none is used again


@pytest.fixture(scope="module")
def returning(chromium: Browser) -> Iterator[Visit]:
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
        visitor = known[server.address, token] = Visitor(chromium, server)
        visitor.open(route, token, namespace)
        return visitor

    yield come
    for visitor in known.values():
        visitor.close()
    assert [wrong for visitor in known.values() for wrong in visitor.went_wrong] == []
