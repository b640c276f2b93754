"""The queue of pods without a node: its order and its retries."""

from __future__ import annotations

import pytest

from fairlead.base import clock
from fairlead.controllers.simulation.scheduler.cluster import Event
from fairlead.controllers.simulation.scheduler.queue import PodQueue


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> PodQueue:
    monkeypatch.setattr(clock, "time", lambda: moments[0])
    moments[0] = 1000.0
    return PodQueue()


moments = [0.0]


def taken(waiting: PodQueue) -> list[str]:
    results = []
    while (key := waiting.take()) is not None:
        results.append(key)
    return results


def test_scheduling_queue_goes_by_priority_and_then_by_age(waiting: PodQueue) -> None:
    for key, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
        waiting.add(key, priority)
    assert taken(waiting) == ["b", "d", "a", "c"]


def test_unschedulable_pod_waits_for_an_event_that_may_help_it(waiting: PodQueue) -> None:
    waiting.add("a", 0)
    taken(waiting)
    waiting.put_off("a", Event.NODE)
    moments[0] += 20
    assert not waiting.wake(Event.POD_GONE)
    assert taken(waiting) == []
    assert waiting.wake(Event.NODE)
    assert taken(waiting) == ["a"]


def test_scheduling_queue_backoff_grows_to_ten_seconds(waiting: PodQueue) -> None:
    waiting.add("a", 0)
    for pause in (1, 2, 4, 8, 10, 10):
        assert taken(waiting) == ["a"]
        waiting.put_off("a", Event.NODE)
        assert waiting.wake(Event.NODE)
        assert waiting.pause() == pause
        assert taken(waiting) == []
        moments[0] += pause


def test_unschedulable_pod_is_tried_again_after_five_minutes(waiting: PodQueue) -> None:
    waiting.add("a", 0)
    taken(waiting)
    waiting.put_off("a", Event.VOLUME)
    assert waiting.pause() == 300
    moments[0] += 300
    assert taken(waiting) == ["a"]


def test_unschedulable_pod_that_changed_is_tried_at_once(waiting: PodQueue) -> None:
    waiting.add("a", 0)
    taken(waiting)
    waiting.put_off("a", Event.NODE)
    waiting.add("a", 0)
    assert taken(waiting) == ["a"]


def test_dropped_pod_does_not_come_back_to_the_scheduling_queue(waiting: PodQueue) -> None:
    waiting.add("a", 0)
    taken(waiting)
    waiting.put_off("a", Event.NODE)
    waiting.drop("a")
    assert not waiting.wake(Event.NODE)
    moments[0] += 300
    assert taken(waiting) == []
    assert waiting.pause() is None
