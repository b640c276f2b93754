"""Graphs of the server itself."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from support.browser import PHONE, Visitor
from support.namespaces import Space
from support.process import ServerProcess

expect = pytest.importorskip("playwright.sync_api").expect

Visit = Callable[..., Visitor]


def sample(time: float, **fields: object) -> dict[str, object]:
    """A sample of ten seconds in which nothing happened but what the fields say."""
    nothing = (0, 0, 0)
    return {
        **{"time": time, "seconds": 10, "requests": {"GET 200": 50, "LIST 200": 20, "POST 201": 8}},
        **{"reads": (70, 0.002, 0.02), "writes": (8, 0.004, 0.03), "commits": nothing},
        **dict.fromkeys(("stalls", "stallSeconds", "rejected", "failedCommits", "queued"), 0),
        **{"cpuSeconds": 1, "watches": 12, "underWay": 1, "objects": 200, "bytes": 5_000_000},
        **{"revision": 100, "memory": 80_000_000, **fields},
    }


def serve(visitor: Visitor, samples: list[dict[str, object]], **facts: object) -> None:
    """Have the page see these samples."""
    place = {"process": 0, "processes": 1, "period": 600, **facts}
    document = {"samples": samples[:-1], "now": samples[-1], **place}
    visitor.page.route("**/console/server?*", lambda route: route.fulfill(json=document))


HOUR = [
    sample(
        1_800_000_000 + 10 * step,
        revision=100 + step,
        watches=10 + step % 7,
        requests={"GET 200": 40 + step % 50, "LIST 200": step % 30, "PUT 200": 9, "PUT 409": 1},
        reads=(70, 0.002, 0.01 + (step % 40) / 2000),
    )
    for step in range(360)
]


def test_the_page_shows_what_the_server_does(visit: Visit, space: Space) -> None:
    for number in range(5):
        space.config_maps.create(f"a{number}")
    visitor = visit(space.server, "#/server")
    page = visitor.page
    verbs = page.get_by_role("figure").filter(has_text="Requests by verb")
    expect(verbs).to_contain_text("/s")
    expect(page.get_by_role("figure")).to_have_count(14)
    objects = page.get_by_role("figure").filter(has=page.get_by_role("heading", name="Objects"))
    assert int(objects.get_by_role("listitem").inner_text()) > 50
    assert visitor.findings() == []
    visitor.picture("server-now")


def test_values_of_a_moment_are_told_by_pointer_and_keys(
    visit: Visit, server: ServerProcess
) -> None:
    visitor = visit(server, "#/nowhere")
    serve(visitor, HOUR)
    visitor.go("#/server")
    page = visitor.page
    revision = page.get_by_role("figure").filter(has=page.get_by_role("heading", name="Revision"))
    expect(revision.get_by_role("listitem")).to_have_text("459")
    page.get_by_role("figure").first.get_by_role("img").hover()
    told = int(revision.get_by_role("listitem").inner_text())
    assert 270 < told < 290  # the middle of the hour
    visitor.picture("server-hour")
    moment = page.get_by_role("slider", name="Moment")
    moment.press("Home")
    expect(revision.get_by_role("listitem")).to_have_text("100")
    moment.press("ArrowRight")
    expect(revision.get_by_role("listitem")).to_have_text("101")
    expect(page.get_by_role("img", name=re.compile("^Requests by code.* 409 "))).to_be_visible()


def test_the_numbers_are_also_a_table(visit: Visit, server: ServerProcess) -> None:
    visitor = visit(server, "#/nowhere")
    serve(visitor, HOUR)
    visitor.go("#/server")
    page = visitor.page
    page.get_by_text("The numbers, by minutes").click()
    table = page.get_by_role("table", name="The last hour by minutes")
    expect(table.get_by_role("row")).to_have_count(61)
    expect(table.get_by_role("row").nth(1)).to_contain_text("459")
    assert visitor.findings() == []


def test_what_is_not_well_is_said_in_words(visit: Visit, server: ServerProcess) -> None:
    visitor = visit(server, "#/nowhere", viewport=PHONE)
    wrong = [
        sample(HOUR[-1]["time"] + 10, stalls=2, stallSeconds=0.5),  # type: ignore[operator]
        sample(HOUR[-1]["time"] + 20, requests={"LIST 429": 7}, rejected=5),  # type: ignore[operator]
        sample(HOUR[-1]["time"] + 30, requests={"GET 504": 1}),  # type: ignore[operator]
    ]
    serve(visitor, [*HOUR, *wrong], processes=2)
    visitor.go("#/server")
    page = visitor.page
    page.emulate_media(color_scheme="dark")
    expect(page.get_by_text("2 times everybody had to wait")).to_contain_text("0.5 s in all")
    expect(page.get_by_text("7 requests (429)")).to_contain_text("5 of them because a queue")
    expect(page.get_by_text("1 request (504)")).to_be_visible()
    expect(page.get_by_text("each has numbers of its own")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert visitor.findings() == []
    visitor.picture("server-troubles-phone-dark")
    page.emulate_media(color_scheme="light")


def test_who_may_not_read_metrics_is_told_so(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/server", token="alice-token")
    expect(visitor.page.get_by_role("alert")).to_contain_text('cannot get path "/metrics"')
