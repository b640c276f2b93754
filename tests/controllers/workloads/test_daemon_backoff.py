"""Daemons that fail repeatedly are replaced with back-off."""

from __future__ import annotations

import pytest

from fairlead.base import clock
from fairlead.controllers.workloads.daemon_sets.controller import Backoff

HERE, THERE = ("uid", 1, "here"), ("uid", 1, "there")


class Clock:
    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.moment = 0.0
        patch.setattr(clock, "time", lambda: self.moment)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_each_pause_is_twice_as_long_as_the_one_before_up_to_a_quarter_of_an_hour(
    time: Clock,
) -> None:
    backoff, pauses = Backoff(), []
    for _ in range(12):
        assert backoff.left(HERE) == 0.0
        backoff.replaced(HERE)
        pauses.append(backoff.left(HERE))
        time.moment += pauses[-1]
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]
    assert backoff.left(THERE) == 0.0


def test_a_pause_runs_out(time: Clock) -> None:
    backoff = Backoff()
    backoff.replaced(HERE)
    time.moment += 0.75
    assert backoff.left(HERE) == 0.25


def test_failures_of_long_ago_are_forgotten(time: Clock) -> None:
    backoff = Backoff()
    for _ in range(3):
        backoff.replaced(HERE)
    time.moment += 1801
    backoff.replaced(HERE)
    assert backoff.left(HERE) == 1.0
