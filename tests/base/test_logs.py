"""Clients cannot inject into the log."""

from __future__ import annotations

import asyncio
import logging

import pytest
from support.waiting import eventually

from fairlead.base import logs
from fairlead.base.logs import FORMAT, OneLine, Tally, quoted, shortened

logger = logging.getLogger("fairlead.test")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tally(clock: Clock, caplog: pytest.LogCaptureFixture) -> Tally:
    caplog.set_level(logging.INFO)
    return Tally(logger, logging.INFO, "refused", clock)


def test_the_first_of_a_kind_is_said_and_the_rest_is_counted(
    tally: Tally, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(1000):
        tally.add("bad token", f"detail {number}")
        tally.add("bad certificate")
    assert caplog.messages == ["refused: bad token: detail 0", "refused: bad certificate"]
    clock.now += 61
    tally.add("bad token", "detail later")
    assert caplog.messages[2:] == [
        "refused: bad token: 999 more in 60 seconds",
        "refused: bad token: detail later",
    ]


def test_kinds_are_few(tally: Tally, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10_000):
        tally.add(f"kind {number}")
    assert len(caplog.messages) < 50
    assert len(tally._until) < 50


def test_the_count_is_said_though_nothing_follows(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "WINDOW", 0.05)
    caplog.set_level(logging.INFO)

    async def run() -> None:
        tally = Tally(logger, logging.INFO, "refused")
        for _ in range(5):
            tally.add("bad token")
        await asyncio.to_thread(eventually, lambda: not tally._until, "the count is said")

    asyncio.run(run())
    assert caplog.messages == ["refused: bad token", "refused: bad token: 4 more in 0 seconds"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "'plain'"),
        ("a\nb\r\x1b[31m", r"'a\nb\r\x1b[31m'"),
        ("ü\u202e", r"'\xfc\u202e'"),
        ("x" * 300, f"'{'x' * 200}'... (300 characters)"),
    ],
)
def test_text_of_others_is_quoted(text: str, expected: str) -> None:
    assert quoted(text) == expected


def test_a_list_of_thousands_is_cut_off() -> None:
    assert shortened("ü" * 2000) == "ü" * 2000
    assert shortened("ü" * 2001) == "ü" * 2000 + "... (2001 characters)"


def test_a_message_is_one_line_and_a_traceback_follows() -> None:
    formatter = OneLine(FORMAT)

    def written(message: str, error: Exception | None = None) -> str:
        info = (type(error), error, None) if error is not None else None
        return formatter.format(logging.LogRecord("n", logging.INFO, "f", 1, message, None, info))

    assert written("two\nlines\x1b[2J").endswith(r" INFO two\nlines\x1b[2J")
    assert written("ümläut").endswith(" INFO ümläut")
    assert written("x", ValueError("bad")).endswith(" INFO x\nValueError: bad")
