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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Ends with its module: the event loop it brings would be in the way of other tests."""
    with browser() as running:
        yield running


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    """`visit(server, route, token=..., namespace=..., viewport=...)` opens the console, by default
    as an administrator. Errors of the page fail the test."""
    visitors: list[Visitor] = []

    def come(
        server: ServerProcess,
        route: str = "#/overview",
        token: str | None = ADMIN_TOKEN,
        namespace: str = "",
        viewport: ViewportSize = DESK,
    ) -> Visitor:
        visitor = Visitor(chromium, server, viewport)
        visitors.append(visitor)
        visitor.open(route, token, namespace)
        return visitor

    yield come
    for visitor in visitors:
        visitor.close()
    assert [wrong for visitor in visitors for wrong in visitor.went_wrong] == []


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
