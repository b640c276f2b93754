"""The panel with the powers of tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support.browser import Visitor
from support.namespaces import Space, random_word
from support.power import Power

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]


@pytest.fixture
def visitor(returning: Visit, power: Power) -> Visitor:
    return returning(power.space.server, "#/testing")


def panel(visitor: Visitor, name: str) -> Locator:
    return visitor.page.get_by_role("region", name=name, exact=True).first


def test_back_to_a_snapshot(visitor: Visitor, power: Power) -> None:
    name = random_word()
    snapshots = panel(visitor, "Snapshots")
    snapshots.get_by_label("Name").fill(name)
    snapshots.get_by_role("button", name="Take a snapshot").click()
    restore = snapshots.get_by_role("button", name=f"Restore {name}")
    expect(restore).to_be_visible()
    power.maps.create("gone")
    restore.click()
    expect(visitor.page.get_by_text(f"Went back to {name}")).to_be_visible()
    assert power.maps.get("gone").status == 404
    visitor.picture("testing")
    assert visitor.findings() == []
    snapshots.get_by_role("button", name=f"Remove {name}").click()
    expect(restore).to_have_count(0)


def test_a_fault_by_a_form(visitor: Visitor, power: Power) -> None:
    faults = panel(visitor, "Faults")
    faults.get_by_label("Verbs").fill("create")
    faults.get_by_label("Resources").fill("configmaps, secrets")
    faults.get_by_label("Namespaces").fill(power.space.name)
    faults.get_by_label("With", exact=True).fill("503")
    faults.get_by_role("button", name="Add a fault").click()
    expect(faults.get_by_role("table")).to_contain_text("configmaps,secrets")
    assert power.client.post(power.maps.path, {"metadata": {"name": "a"}}).status == 503
    faults.get_by_role("button", name="Remove fault-").click()
    expect(faults.get_by_role("table")).to_have_count(0)
    assert power.client.post(power.maps.path, {"metadata": {"name": "a"}}).status == 201


def test_the_clock_moves_if_it_can(visitor: Visitor, power: Power) -> None:
    clock = panel(visitor, "Clock")
    clock.get_by_label("By a duration").fill("soon")
    clock.get_by_role("button", name="Move forward").click()
    expect(clock.get_by_role("alert")).to_contain_text("soon")
    before = power.client.get(f"{power.base}/clocks/clock").body["status"]["aheadSeconds"]
    clock.get_by_role("button", name="+1m").click()
    expect(clock).to_contain_text("ahead of the machine's clock")
    expect(clock.get_by_role("alert")).to_have_count(0)
    after = power.client.get(f"{power.base}/clocks/clock").body["status"]["aheadSeconds"]
    assert after - before == pytest.approx(60, abs=1)


def test_a_controller_is_paused_and_resumed(visitor: Visitor, power: Power) -> None:
    controllers = panel(visitor, "Controllers")
    controllers.get_by_role("button", name="Pause cronjob").press("Enter")
    expect(controllers).to_contain_text("cronjob (paused)")
    controllers.get_by_role("button", name="Resume cronjob").press("Enter")
    expect(controllers.get_by_role("button", name="Pause cronjob")).to_be_visible()


def test_recorded_requests_are_text(visitor: Visitor, power: Power) -> None:
    power.client.get("/api/v1/<img/src=x/onerror=alert(1)>")
    requests = panel(visitor, "Requests")
    requests.get_by_label("Filter").fill("onerror")
    requests.get_by_role("button", name="Look again").click()
    expect(requests.get_by_role("table")).to_contain_text("onerror")
    assert visitor.page.locator("main img").count() == 0


def test_there_are_no_powers_without_the_flag(returning: Visit, kubernetes: Space) -> None:
    visitor = returning(kubernetes.server, "#/testing")
    expect(visitor.page.get_by_role("alert")).to_contain_text("--testing")
    expect(visitor.page.get_by_role("link", name="Testing")).to_have_count(0)


def test_powers_are_for_those_who_have_the_right(returning: Visit, power: Power) -> None:
    visitor = returning(power.space.server, "#/testing", token="alice-token")
    expect(panel(visitor, "Faults").get_by_role("alert")).to_contain_text('User "alice" cannot')
