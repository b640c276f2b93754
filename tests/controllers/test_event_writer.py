"""The event writer of controllers: aggregation, limits and failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from fairlead.base import clock
from fairlead.base.errors import internal
from fairlead.controllers.events import NORMAL, EventWriter, Recorder
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.storage.backend import StorageError

LAST = "Last"
NODE: Any = type("Node", (), {"kind": "Node", "api_version": "v1"})()


class Writes:
    """Takes events in, after so many failures."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.written: list[str] = []
        self.events: dict[str, Object] = {}
        self.is_last = asyncio.Event()

    async def create(self, _resource: str, event: Object) -> Object:
        if event["reason"] == LAST:
            self.is_last.set()
        if self.failures:
            raise self.failures.pop(0)
        self.written.append(event["reason"])
        self.events[event["metadata"]["name"]] = event
        return event

    async def change(
        self, _resource: str, _namespace: str, name: str, change: Callable[[Object], Object]
    ) -> Object:
        self.events[name] = change(self.events[name])
        return self.events[name]


async def _written(writes: Writes, writer: EventWriter) -> list[str]:
    running = asyncio.create_task(writer.run())
    await asyncio.wait_for(writes.is_last.wait(), 5)
    running.cancel()
    return writes.written


def _recorder(writes: Writes, writer: EventWriter) -> Recorder:
    return Recorder(writer, cast(Client, writes), "test")


def _say(recorder: Recorder, reason: str, text: str = "") -> None:
    recorder.record(NODE, {"metadata": {"name": "n", "uid": "u"}}, NORMAL, reason, text or reason)


def test_events_that_cannot_be_written_keep_no_others_from_it() -> None:
    failures = internal("no"), StorageError("the disk is full"), KeyError("a defect")

    async def work() -> list[str]:
        writer, writes = EventWriter(), Writes(*failures)
        for reason in ("A", "B", "C", LAST):
            _say(_recorder(writes, writer), reason)
        return await _written(writes, writer)

    assert asyncio.run(work()) == [LAST]


def test_event_writer_writes_on_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> list[str]:
        writer, writes = EventWriter(), Writes()
        _say(_recorder(writes, writer), "Before")
        monkeypatch.setattr(clock, "_ahead", -365 * 86400.0)
        _say(_recorder(writes, writer), LAST)
        return await _written(writes, writer)

    assert asyncio.run(work()) == ["Before", LAST]


async def _counts(texts: list[str], skipped: dict[int, float], monkeypatch: Any) -> dict[str, int]:
    """How often each text is told in the end; before some of them so many seconds pass."""
    writer, writes = EventWriter(), Writes()
    for index, text in enumerate(texts):
        monkeypatch.setattr(clock, "_ahead", clock._ahead + skipped.get(index, 0.0))
        _say(_recorder(writes, writer), "Made", text)
    _say(_recorder(writes, writer), LAST)
    await _written(writes, writer)
    return {event["message"]: event["count"] for event in writes.events.values()}


def test_many_events_that_differ_in_their_text_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"pod {number}" for number in range(12)] + ["pod 3"]
    reported = asyncio.run(_counts(texts, {}, monkeypatch))
    single = {f"pod {number}": 1 for number in range(9)}
    assert reported == single | {"pod 3": 2, "(combined from similar events): pod 11": 3, LAST: 1}


def test_events_are_told_singly_again_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"pod {number}" for number in range(11)]
    reported = asyncio.run(_counts(texts, {10: 601.0}, monkeypatch))
    assert reported["pod 10"] == 1
