"""What stands in the log: lines that clients can neither forge, nor fill with secrets, nor grow."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic

import orjson

TEXT, JSON = "text", "json"
_PROGRAM = "fairlead"
_DEBUG = 2  # of `-v`
FORMAT = "%(asctime)s %(levelname)s %(message)s"
WINDOW = 60.0  # seconds for which one line stands for all that are like it
_MOST_KINDS = 32
_OTHERS = "other reasons"
_LONGEST = 200
_LONGEST_LIST = 2000
_FIELDS = "fields"  # of a record


def quoted(text: object, longest: int = _LONGEST) -> str:
    """Text that a client or another server chose, as one line of printable ASCII in quotes."""
    full = str(text)
    shown = ascii(full[:longest])
    return shown if len(full) <= longest else f"{shown}... ({len(full)} characters)"


def shortened(text: object) -> str:
    """Text of ours that names as many things as there are."""
    full = str(text)
    if len(full) <= _LONGEST_LIST:
        return full
    return f"{full[:_LONGEST_LIST]}... ({len(full)} characters)"


class OneLine(logging.Formatter):
    """No message has more than its line, whoever's text got into it; a traceback follows it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        if not record.message.isprintable():
            record.message = "".join(
                letter if letter.isprintable() else ascii(letter)[1:-1] for letter in record.message
            )
        return super().formatMessage(record)


Field = str | int | float


def with_fields(**fields: Field) -> dict[str, dict[str, Field]]:
    """For `extra=` of a call that logs: what stands beside the message in JSON, without what is
    empty."""
    return {_FIELDS: {name: value for name, value in fields.items() if value != ""}}


class JsonLines(logging.Formatter):
    """One object a line, with the fields of `with_fields`; a traceback is one text in it."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Field] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **getattr(record, _FIELDS, {}),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        try:
            return orjson.dumps(told).decode()
        except orjson.JSONEncodeError:  # half a surrogate pair, say
            return orjson.dumps({name: _encodable(value) for name, value in told.items()}).decode()


def _encodable(value: Field) -> Field:
    if not isinstance(value, str):
        return value
    return value.encode(errors="backslashreplace").decode()


def set_up_logs(form: str, verbosity: int) -> None:
    """Log to the standard error from now on. Requests are logged by those who see them; this says
    from which level on other lines are."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == JSON else OneLine(FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    if verbosity >= _DEBUG:
        logging.getLogger(_PROGRAM).setLevel(logging.DEBUG)
    if form == JSON:  # also what would be written there by others
        logging.captureWarnings(True)
        threading.excepthook = _log_thread_end


def _log_thread_end(end: threading.ExceptHookArgs) -> None:
    name = end.thread.name if end.thread is not None else "unknown"
    logger = logging.getLogger(_PROGRAM)
    if end.exc_value is not None:
        logger.error("the thread %s has failed", name, exc_info=end.exc_value)


def last_words(message: str) -> None:
    """Say on one line why the program ends, in the form of the log if that is for programs."""
    text = " ".join(message.split())
    if are_for_programs():
        logging.getLogger(_PROGRAM).critical("%s", text)
    else:
        print(f"{_PROGRAM}: {text}", file=sys.stderr, flush=True)


def are_for_programs() -> bool:
    """Whether nothing but objects is to be written to the standard error."""
    handlers = logging.getLogger().handlers
    return any(isinstance(handler.formatter, JsonLines) for handler in handlers)


class Tally:
    """Says the first of a kind at once and counts those that follow; a minute later one line
    tells how many they were. Kinds are words of ours, and few."""

    def __init__(
        self,
        logger: logging.Logger,
        level: int,
        what: str,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._logger = logger
        self._level = level
        self._what = what
        self._clock = clock
        self._more: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def add(self, kind: str, detail: str = "") -> None:
        """Count one; `detail` is said with the first of a kind only."""
        now = self._clock()
        if kind not in self._until and len(self._until) >= _MOST_KINDS:
            kind = _OTHERS
        if now < self._until.get(kind, 0.0):
            self._more[kind] += 1
            return
        self._summarise(kind)
        self._until[kind] = now + WINDOW
        self._more[kind] = 0
        shown = f"{kind}: {detail}" if detail else kind
        self._logger.log(self._level, "%s: %s", self._what, shown)
        self._summarise_later(kind)

    def _summarise_later(self, kind: str) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # the next one of its kind does it
            return
        loop.call_later(WINDOW, self._close, kind)

    def _close(self, kind: str) -> None:
        """The window is over. If there were more, the next one is open at once, so that there is
        never more than a line a minute."""
        if self._clock() < self._until.get(kind, 0.0) - 1.0:
            return
        if self._more.get(kind):
            self._summarise(kind)
            self._more[kind] = 0
            self._until[kind] = self._clock() + WINDOW
            self._summarise_later(kind)
        else:
            self._until.pop(kind, None)
            self._more.pop(kind, None)

    def _summarise(self, kind: str) -> None:
        more = self._more.get(kind)
        if more:
            self._logger.log(
                self._level, "%s: %s: %d more in %d seconds", self._what, kind, more, WINDOW
            )
