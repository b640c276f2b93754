"""The pods that wait for a node: in what order, and when again."""

from __future__ import annotations

import pytest

from fairlead.base import clock
from fairlead.controllers.simulation.scheduler.cluster import Event
from fairlead.controllers.simulation.scheduler.queue import Waiting


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Waiting:
    monkeypatch.setattr(clock, "time", lambda: moments[0])
    moments[0] = 1000.0
    return Waiting()


moments = [0.0]


def taken(waiting: Waiting) -> list[str]:
    found = []
    while (key := waiting.take()) is not None:
        found.append(key)
    return found


def test_those_that_count_most_are_first_then_those_that_came_first(waiting: Waiting) -> None:
    for key, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
        waiting.add(key, priority)
    assert taken(waiting) == ["b", "d", "a", "c"]


def test_one_that_found_no_node_waits_for_what_may_help_it(waiting: Waiting) -> None:
    waiting.add("a", 0)
    taken(waiting)
    waiting.put_off("a", Event.NODE)
    moments[0] += 20
    assert not waiting.happened(Event.POD_GONE)
    assert taken(waiting) == []
    assert waiting.happened(Event.NODE)
    assert taken(waiting) == ["a"]


def test_pauses_between_tries_grow_to_ten_seconds(waiting: Waiting) -> None:
    waiting.add("a", 0)
    for pause in (1, 2, 4, 8, 10, 10):
        assert taken(waiting) == ["a"]
        waiting.put_off("a", Event.NODE)
        assert waiting.happened(Event.NODE)
        assert waiting.pause() == pause
        assert taken(waiting) == []
        moments[0] += pause


def test_after_five_minutes_one_is_tried_whatever_happened(waiting: Waiting) -> None:
    waiting.add("a", 0)
    taken(waiting)
    waiting.put_off("a", Event.VOLUME)
    assert waiting.pause() == 300
    moments[0] += 300
    assert taken(waiting) == ["a"]


def test_one_that_changed_is_tried_at_once(waiting: Waiting) -> None:
    waiting.add("a", 0)
    taken(waiting)
    waiting.put_off("a", Event.NODE)
    waiting.add("a", 0)
    assert taken(waiting) == ["a"]


def test_one_that_was_dropped_does_not_come_back(waiting: Waiting) -> None:
    waiting.add("a", 0)
    taken(waiting)
    waiting.put_off("a", Event.NODE)
    waiting.drop("a")
    assert not waiting.happened(Event.NODE)
    moments[0] += 300
    assert taken(waiting) == []
    assert waiting.pause() is None
