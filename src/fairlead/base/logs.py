"""Log formats. Text from clients cannot forge lines, leak secrets or grow the log without bound."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

import orjson

TEXT, JSON = "text", "json"
REQUESTS, DEBUG = 1, 2  # of `-v`
_PROGRAM = "fairlead"
FORMAT = "%(asctime)s %(levelname)s %(message)s"
WINDOW = 60.0  # seconds in which further messages of the same kind are only counted
_MAX_KINDS = 32
_OTHERS = "other reasons"
_MAX_LENGTH = 1000  # characters of a field
_FIELDS = "fields"  # the attribute of a LogRecord that holds them
_UNQUOTED_TYPES = (bool, int, float)  # shown without quotes
_DELETE = "\x7f"  # the one control character that JSON does not escape


class Logger:
    """Logs constant messages with fields, which both formats show in their own way. The fields are
    formatted only if the line is written, each as one line of limited length: values may come from
    clients. `err` is the field of an error."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, message: str, **fields: object) -> None:
        self._write(logging.DEBUG, message, fields)

    def info(self, message: str, **fields: object) -> None:
        self._write(logging.INFO, message, fields)

    def warning(self, message: str, **fields: object) -> None:
        self._write(logging.WARNING, message, fields)

    def error(self, message: str, **fields: object) -> None:
        self._write(logging.ERROR, message, fields)

    def critical(self, message: str, **fields: object) -> None:
        self._write(logging.CRITICAL, message, fields)

    def exception(self, message: str, **fields: object) -> None:
        """Log an error with the traceback of the exception that is being handled."""
        self._write(logging.ERROR, message, fields, sys.exception())

    def log(
        self, level: int, message: str, *, trace: BaseException | None = None, **fields: object
    ) -> None:
        """Log at a level, with the traceback of `trace`."""
        self._write(level, message, fields, trace)

    def _write(
        self,
        level: int,
        message: str,
        fields: Mapping[str, object],
        trace: BaseException | None = None,
    ) -> None:
        """Write a line without the fields that are empty."""
        if self._logger.isEnabledFor(level):
            shown = {name: value for name, value in fields.items() if value not in ("", None)}
            self._logger.log(level, message, exc_info=trace, extra={_FIELDS: shown})


def _limited(value: object) -> str:
    text = str(value)
    if len(text) <= _MAX_LENGTH:
        return text
    return f"{text[:_MAX_LENGTH]}... ({len(text)} characters)"


def _in_text(value: object) -> str:
    """A field as printable ASCII: numbers as they are, all else in quotes."""
    if isinstance(value, _UNQUOTED_TYPES):
        return repr(value).lower()
    text = _limited(value)
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return json.dumps(text).replace(_DELETE, "\\u007f")


def _in_json(value: object) -> object:
    if isinstance(value, _UNQUOTED_TYPES):
        return value
    text = _limited(value)
    if text.isascii():
        return text
    return text.encode(errors="backslashreplace").decode()  # e.g. unpaired surrogates


def described(record: logging.LogRecord) -> str:
    """The message of a record and its fields, as the text format shows them."""
    message = record.getMessage()
    if not message.isprintable():  # from another library
        message = "".join(
            letter if letter.isprintable() else ascii(letter)[1:-1] for letter in message
        )
    fields: Mapping[str, object] = getattr(record, _FIELDS, {})
    return " ".join((message, *(f"{name}={_in_text(value)}" for name, value in fields.items())))


class TextLines(logging.Formatter):
    """Formats records as one line for people: time, level, message, fields. A traceback follows
    it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = described(record)
        return super().formatMessage(record)


class JsonLines(logging.Formatter):
    """Formats records as one JSON object per line. `ts`, `msg`, `v` and `err` are as in the
    reference's logs: `v` is the verbosity that shows a message, and errors have none."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": round(record.created, 6),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": _in_json(record.getMessage()),
        }
        if record.levelno < logging.ERROR:
            line["v"] = DEBUG if record.levelno < logging.INFO else 0
        fields: Mapping[str, object] = getattr(record, _FIELDS, {})
        for name, value in fields.items():
            line[name] = _in_json(value)
        if record.exc_info:
            trace = self.formatException(record.exc_info)
            line["traceback"] = trace.encode(errors="backslashreplace").decode()
        return orjson.dumps(line).decode()


def set_up_logs(form: str, verbosity: int) -> None:
    """Configure logging to standard error. The verbosity sets the level of general messages;
    request logs have their own rules."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == JSON else TextLines(FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    set_level(verbosity)
    if form == JSON:  # also warnings and uncaught exceptions of threads
        logging.captureWarnings(True)
        threading.excepthook = _log_thread_end


def set_level(verbosity: int) -> None:
    """Write debug messages from verbosity 2 on."""
    level = logging.DEBUG if verbosity >= DEBUG else logging.NOTSET
    logging.getLogger(_PROGRAM).setLevel(level)


def _log_thread_end(end: threading.ExceptHookArgs) -> None:
    name = end.thread.name if end.thread is not None else "unknown"
    if end.exc_value is not None:
        Logger(_PROGRAM).log(logging.ERROR, "a thread failed", trace=end.exc_value, name=name)


def log_exit_reason(message: str) -> None:
    """Print on one line why the program ends; as a JSON object if the log is JSON."""
    text = " ".join(message.split())
    if is_json_log():
        Logger(_PROGRAM).critical("the program ends", err=text)
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
        logger: Logger,
        level: int,
        message: str,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._logger = logger
        self._level = level
        self._message = message
        self._clock = clock
        self._more: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def add(self, kind: str, detail: str = "") -> None:
        """Count one message; `detail` is logged only with the first of its kind, as `err`."""
        now = self._clock()
        if kind not in self._until and len(self._until) >= _MAX_KINDS:
            kind = _OTHERS
        if now < self._until.get(kind, 0.0):
            self._more[kind] += 1
            return
        self._summarise(kind)
        self._until[kind] = now + WINDOW
        self._more[kind] = 0
        self._logger.log(self._level, self._message, reason=kind, err=detail)
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
            self._logger.log(self._level, self._message, reason=kind, more=more, seconds=WINDOW)
