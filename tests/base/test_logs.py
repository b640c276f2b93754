"""Clients cannot inject into the log."""

from __future__ import annotations

import ast
import asyncio
import json
import logging
from pathlib import Path

import pytest
from support.logged import logged
from support.waiting import eventually

from fairlead.base import logs
from fairlead.base.logs import FORMAT, JsonLines, Logger, Tally, TextLines, described

logger = Logger("fairlead.test")


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


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return logged(caplog).splitlines()


def test_tally_logs_the_first_of_a_kind_and_counts_the_rest(
    tally: Tally, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(1000):
        tally.add("bad token", f"detail {number}")
        tally.add("bad certificate")
    assert lines(caplog) == [
        'refused reason="bad token" err="detail 0"',
        'refused reason="bad certificate"',
    ]
    clock.now += 61
    tally.add("bad token", "detail later")
    assert lines(caplog)[2:] == [
        'refused reason="bad token" more=999 seconds=60.0',
        'refused reason="bad token" err="detail later"',
    ]


def test_tally_has_few_kinds(tally: Tally, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10_000):
        tally.add(f"kind {number}")
    assert len(caplog.messages) < 50
    assert len(tally._until) < 50


def test_tally_logs_the_count_though_nothing_follows(
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
    assert lines(caplog) == [
        'refused reason="bad token"',
        'refused reason="bad token" more=4 seconds=0.05',
    ]


HOSTILE = ["a\nb\r\x1b[31m", "\x9b31m\x7f\u2028", "ü\u202e", '"quoted\\" v=9', "\ud800", "x" * 5000]


@pytest.mark.parametrize("value", HOSTILE)
def test_field_of_the_text_format_is_printable_ascii_of_limited_length(
    value: str, caplog: pytest.LogCaptureFixture
) -> None:
    logger.warning("said", by=value, count=3)
    [record] = caplog.records
    line = TextLines(FORMAT).format(record)
    assert line.isascii()
    assert line.isprintable()
    assert len(line) < 1200
    field = described(record).removeprefix("said by=").removesuffix(" count=3")
    expected = value if len(value) <= 1000 else f"{value[:1000]}... (5000 characters)"
    assert json.loads(field) == expected


@pytest.mark.parametrize("value", HOSTILE)
def test_line_of_the_json_format_is_one_object_with_the_fields(
    value: str, caplog: pytest.LogCaptureFixture
) -> None:
    logger.warning("said", by=value, seconds=0.25, done=True, nothing="")
    [record] = caplog.records
    line = JsonLines().format(record)
    assert "\n" not in line
    written = json.loads(line)
    assert tuple(written) == ("ts", "level", "logger", "msg", "v", "by", "seconds", "done")
    assert (written["seconds"], written["done"], written["v"]) == (0.25, True, 0)
    assert len(written["by"]) < 1100


def test_error_of_the_json_format_has_its_cause_and_no_verbosity(
    caplog: pytest.LogCaptureFixture,
) -> None:
    try:
        raise ValueError("bad")
    except ValueError as error:
        logger.exception("it failed", err=error)
    written = json.loads(JsonLines().format(caplog.records[0]))
    assert (written["msg"], written["err"], "v" in written) == ("it failed", "bad", False)
    assert written["traceback"].endswith("ValueError: bad")


def test_field_below_the_level_is_not_formatted() -> None:
    class Costly:
        def __str__(self) -> str:
            raise AssertionError("it was formatted")

    logging.getLogger("fairlead.test").setLevel(logging.INFO)
    logger.debug("said", value=Costly())


def test_message_of_a_library_is_one_line_and_a_traceback_follows() -> None:
    formatter = TextLines(FORMAT)

    def written(message: str, error: Exception | None = None) -> str:
        info = (type(error), error, None) if error is not None else None
        return formatter.format(logging.LogRecord("n", logging.INFO, "f", 1, message, None, info))

    assert written("two\nlines\x1b[2J").endswith(r" INFO two\nlines\x1b[2J")
    assert written("ümläut").endswith(" INFO ümläut")
    assert written("x", ValueError("bad")).endswith(" INFO x\nValueError: bad")


SOURCES = sorted(Path(logs.__file__).parents[1].rglob("*.py"))
_OF_OTHERS = ("base/logs.py", "testing/libraries.py")  # they use the loggers of libraries, too
_METHODS = {"debug", "info", "warning", "error", "critical", "exception", "log"}


def test_messages_of_all_log_calls_are_constant_and_values_are_fields() -> None:
    interpolated = []
    for file in SOURCES:
        text = file.read_text()
        if file.as_posix().endswith(_OF_OTHERS) or "ogger" not in text:
            continue
        assert "logging.getLogger" not in text, file
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Call(ast.Attribute(ast.Name("logger" | "_LOG"), method), arguments) if (
                    method in _METHODS
                ):
                    message = arguments[1 if method == "log" else 0]
                    is_constant = isinstance(message, ast.Constant | ast.Name)
                    if not is_constant or "%" in ast.unparse(message):
                        interpolated.append(f"{file}:{node.lineno}")
    assert interpolated == []
