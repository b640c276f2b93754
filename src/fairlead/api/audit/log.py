"""The log backend: writes events as lines to a file or to standard output."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from contextlib import nullcontext, suppress
from queue import SimpleQueue

from fairlead.api.audit.backend import Outcome, lose
from fairlead.api.audit.file_lock import Turns
from fairlead.api.audit.record import Record
from fairlead.api.audit.rotation import RotatingFile
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
            lose(PLUGIN, error.strerror or str(error), count)
            return False
        return True

    def _write(self, events: list[bytes]) -> tuple[int, str]:
        """Write events; returns how many failed, and why."""
        lost, why = 0, ""
        for event in events:
            try:
                self._file.write(event)
            except OSError as error:
                lost, why = lost + 1, error.strerror or str(error)
        return lost, why

    async def deliver_aside(self, events: list[bytes]) -> bool:
        lost, why = await asyncio.to_thread(self._write, events)
        if lost:
            lose(PLUGIN, why, lost)
        return not lost

    async def close(self) -> None:
        await asyncio.to_thread(self._file.close)


class StreamLog:
    """Writes to standard output in a separate thread: its reader may be slow or gone, and must not
    keep the server from ending. Processes that share the output lock it with `turns`."""

    def __init__(self, descriptor: int = 1, turns: Turns | None = None) -> None:
        self._descriptor = descriptor
        self._turns = turns
        self._todo: SimpleQueue[tuple[bytes, asyncio.Future[str]]] = SimpleQueue()
        self._pending: set[asyncio.Future[str]] = set()
        self._thread: threading.Thread | None = None

    def deliver(self, event: bytes) -> Outcome:
        return self.deliver_aside([event])

    async def deliver_aside(self, events: list[bytes]) -> bool:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="audit log", daemon=True)
            self._thread.start()
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._pending.add(done)
        done.add_done_callback(self._pending.discard)
        self._todo.put((b"".join(events), done))
        why = await done
        if why:
            lose(PLUGIN, why, len(events))
        return not why

    def _work(self) -> None:
        while True:
            data, done = self._todo.get()
            why = self._write(data)
            with suppress(RuntimeError):  # the loop is closed
                done.get_loop().call_soon_threadsafe(_tell, done, why)

    def _write(self, data: bytes) -> str:
        """Write the data; returns the error message, if any."""
        try:
            with self._turns.long() if self._turns is not None else nullcontext():
                while data:
                    data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            return error.strerror or str(error)
        return ""

    async def close(self) -> None:
        if self._pending:
            await asyncio.wait(self._pending, timeout=_SECONDS_TO_END)


def _tell(done: asyncio.Future[str], why: str) -> None:
    if not done.done():
        done.set_result(why)


# The legacy text format.


def legacy_line(record: Record) -> bytes:
    """An event as a line of text. Every value is quoted, so that none can break the line."""
    subject, other = record.subject, record.impersonated
    user, addresses = subject.user, subject.caller.addresses
    values = {
        "id": record.id,
        "stage": record.stage,
        "ip": addresses[0] if addresses else "<unknown>",
        "method": subject.verb,
        "user": user.name if user is not None and user.name else "<none>",
        "groups": _groups(user, "<none>"),
        "as": other.name if other is not None else "<self>",
        "asgroups": _groups(other, "<lookup>"),
        "user-agent": subject.caller.agent,
        "namespace": subject.namespace or "<none>",
        "uri": subject.uri,
        "response": str(record.code) if record.code else "<deferred>",
    }
    shown = " ".join(f"{name}={_quoted(value)}" for name, value in values.items())
    return f"{_moment(record.received)} AUDIT: {shown}\n".encode()


def _groups(user: User | None, none: str) -> str:
    if user is None or not user.groups:
        return none
    return ",".join(map(_quoted, user.groups))


def _quoted(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return shown.encode("utf-8", "replace").decode()


def _moment(stamp: str) -> str:
    """Without trailing zeros in the fraction."""
    return stamp.rstrip("Z").rstrip("0").rstrip(".") + "Z"
