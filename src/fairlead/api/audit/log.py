"""The log backend: writes events as lines to a file or to standard output."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from contextlib import nullcontext, suppress
from queue import SimpleQueue

from fairlead.api.audit.backend import Outcome, count_lost
from fairlead.api.audit.record import Record
from fairlead.api.audit.rotation import FileLock, RotatingFile
from fairlead.auth.authentication.user import User

PLUGIN = "log"
STDOUT = "-"
_SECONDS_TO_END = 5.0


class FileLog:
    """Writes to a local file, without waiting for the disk."""

    def __init__(self, file: RotatingFile) -> None:
        self._file = file
        self._write_one = file.write

    def deliver(self, event: bytes, count: int = 1) -> bool:
        """Write an event, or `count` events in one buffer."""
        try:
            self._write_one(event)
        except OSError as error:
            count_lost(PLUGIN, error.strerror or str(error), count)
            return False
        return True

    def _write(self, events: list[bytes]) -> tuple[int, str]:
        """Write events; returns how many failed, and why."""
        lost_count, reason = 0, ""
        for event in events:
            try:
                self._file.write(event)
            except OSError as error:
                lost_count, reason = lost_count + 1, error.strerror or str(error)
        return lost_count, reason

    async def deliver_in_background(self, events: list[bytes]) -> bool:
        lost_count, reason = await asyncio.to_thread(self._write, events)
        if lost_count:
            count_lost(PLUGIN, reason, lost_count)
        return not lost_count

    async def close(self) -> None:
        await asyncio.to_thread(self._file.close)


class StreamLog:
    """Writes to standard output in a separate thread: its reader may be slow or gone, and must not
    keep the server from ending. Processes that share the output lock it with `turns`."""

    def __init__(self, descriptor: int = 1, lock: FileLock | None = None) -> None:
        self._descriptor = descriptor
        self._lock = lock
        self._todo: SimpleQueue[tuple[bytes, asyncio.Future[str]]] = SimpleQueue()
        self._pending: set[asyncio.Future[str]] = set()
        self._thread: threading.Thread | None = None

    def deliver(self, event: bytes) -> Outcome:
        return self.deliver_in_background([event])

    async def deliver_in_background(self, events: list[bytes]) -> bool:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="audit log", daemon=True)
            self._thread.start()
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        self._todo.put((b"".join(events), future))
        error = await future
        if error:
            count_lost(PLUGIN, error, len(events))
        return not error

    def _work(self) -> None:
        while True:
            data, future = self._todo.get()
            error = self._write(data)
            with suppress(RuntimeError):  # the loop is closed
                future.get_loop().call_soon_threadsafe(_set_result, future, error)

    def _write(self, data: bytes) -> str:
        """Write the data; returns the error message, if any."""
        try:
            with self._lock.lock() if self._lock is not None else nullcontext():
                while data:
                    data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            return error.strerror or str(error)
        return ""

    async def close(self) -> None:
        if self._pending:
            await asyncio.wait(self._pending, timeout=_SECONDS_TO_END)


def _set_result(future: asyncio.Future[str], error: str) -> None:
    if not future.done():
        future.set_result(error)


# The legacy text format.


def legacy_line(record: Record) -> bytes:
    """An event as a line of text. Every value is quoted, so that none can break the line."""
    subject, impersonated = record.subject, record.impersonated
    user, addresses = subject.user, subject.caller.addresses
    values = {
        "id": record.id,
        "stage": record.stage,
        "ip": addresses[0] if addresses else "<unknown>",
        "method": subject.verb,
        "user": user.name if user is not None and user.name else "<none>",
        "groups": _groups(user, "<none>"),
        "as": impersonated.name if impersonated is not None else "<self>",
        "asgroups": _groups(impersonated, "<lookup>"),
        "user-agent": subject.caller.agent,
        "namespace": subject.namespace or "<none>",
        "uri": subject.uri,
        "response": str(record.code) if record.code else "<deferred>",
    }
    text = " ".join(f"{name}={_quoted(value)}" for name, value in values.items())
    return f"{_moment(record.received)} AUDIT: {text}\n".encode()


def _groups(user: User | None, default: str) -> str:
    if user is None or not user.groups:
        return default
    return ",".join(map(_quoted, user.groups))


def _quoted(text: str) -> str:
    text_json = json.dumps(text, ensure_ascii=False)
    return text_json.encode("utf-8", "replace").decode()


def _moment(stamp: str) -> str:
    """Without trailing zeros in the fraction."""
    return stamp.rstrip("Z").rstrip("0").rstrip(".") + "Z"
