"""Log formats. Text from clients cannot forge lines, leak secrets or grow the log without bound."""

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
WINDOW = 60.0  # seconds in which further messages of the same kind are only counted
_MAX_KINDS = 32
_OTHERS = "other reasons"
_MAX_TEXT_LENGTH = 200
_MAX_LIST_LENGTH = 2000
_FIELDS = "fields"  # attribute of a LogRecord


def quoted(text: object, longest: int = _MAX_TEXT_LENGTH) -> str:
    """Return text from a client or another server as one line of printable ASCII in quotes."""
    full = str(text)
    shown = ascii(full[:longest])
    return shown if len(full) <= longest else f"{shown}... ({len(full)} characters)"


def shortened(text: object) -> str:
    """Cut off a text of ours that lists arbitrarily many names."""
    full = str(text)
    if len(full) <= _MAX_LIST_LENGTH:
        return full
    return f"{full[:_MAX_LIST_LENGTH]}... ({len(full)} characters)"


class OneLine(logging.Formatter):
    """Formats every message as one line, escaping control characters; a traceback follows it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        if not record.message.isprintable():
            record.message = "".join(
                letter if letter.isprintable() else ascii(letter)[1:-1] for letter in record.message
            )
        return super().formatMessage(record)


Field = str | int | float


def with_fields(**fields: Field) -> dict[str, dict[str, Field]]:
    """Return the `extra=` argument of a logging call: fields for the JSON format. Empty texts are
    left out."""
    return {_FIELDS: {name: value for name, value in fields.items() if value != ""}}


class JsonLines(logging.Formatter):
    """Formats records as one JSON object per line, with the fields of `with_fields`. A traceback is
    one string in it."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Field] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **getattr(record, _FIELDS, {}),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        try:
            return orjson.dumps(fields).decode()
        except orjson.JSONEncodeError:  # e.g. an unpaired surrogate
            return orjson.dumps(
                {name: _encodable(value) for name, value in fields.items()}
            ).decode()


def _encodable(value: Field) -> Field:
    if not isinstance(value, str):
        return value
    return value.encode(errors="backslashreplace").decode()


def set_up_logs(form: str, verbosity: int) -> None:
    """Configure logging to standard error. The verbosity sets the level of general messages;
    request logs have their own rules."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == JSON else OneLine(FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    set_level(verbosity)
    if form == JSON:  # also warnings and uncaught exceptions of threads
        logging.captureWarnings(True)
        threading.excepthook = _log_thread_end


def set_level(verbosity: int) -> None:
    """Let debug messages through, or no longer."""
    level = logging.DEBUG if verbosity >= _DEBUG else logging.NOTSET
    logging.getLogger(_PROGRAM).setLevel(level)


def _log_thread_end(end: threading.ExceptHookArgs) -> None:
    name = end.thread.name if end.thread is not None else "unknown"
    logger = logging.getLogger(_PROGRAM)
    if end.exc_value is not None:
        logger.error("the thread %s failed", name, exc_info=end.exc_value)


def log_exit_reason(message: str) -> None:
    """Print on one line why the program ends; as a JSON object if the log is JSON."""
    text = " ".join(message.split())
    if is_json_log():
        logging.getLogger(_PROGRAM).critical("%s", text)
    else:
        print(f"{_PROGRAM}: {text}", file=sys.stderr, flush=True)


def is_json_log() -> bool:
    """Return whether standard error carries JSON lines only."""
    handlers = logging.getLogger().handlers
    return any(isinstance(handler.formatter, JsonLines) for handler in handlers)


class Tally:
    """Logs the first message of a kind at once and counts the following ones; a minute later one
    line has their number. Kinds are a small, fixed set of words."""

    def __init__(
        self,
        logger: logging.Logger,
        level: int,
        source: str,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._logger = logger
        self._level = level
        self._source = source
        self._clock = clock
        self._more: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def add(self, kind: str, detail: str = "") -> None:
        """Count one message; `detail` is logged only with the first of its kind."""
        now = self._clock()
        if kind not in self._until and len(self._until) >= _MAX_KINDS:
            kind = _OTHERS
        if now < self._until.get(kind, 0.0):
            self._more[kind] += 1
            return
        self._summarise(kind)
        self._until[kind] = now + WINDOW
        self._more[kind] = 0
        shown = f"{kind}: {detail}" if detail else kind
        self._logger.log(self._level, "%s: %s", self._source, shown)
        self._summarise_later(kind)

    def _summarise_later(self, kind: str) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no event loop: the next message of this kind logs the count
            return
        loop.call_later(WINDOW, self._close, kind)

    def _close(self, kind: str) -> None:
        """End the window. If messages were counted in it, log their number and open the next
        window, so that there is at most one line per minute."""
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
                self._level, "%s: %s: %d more in %d seconds", self._source, kind, more, WINDOW
            )
