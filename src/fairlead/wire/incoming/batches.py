"""Work of all connections in one iteration of the event loop: batches of reads and writes, and
slices of costly input."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from time import perf_counter
from typing import Final
from weakref import WeakKeyDictionary

from fairlead.base.compiled import mypyc_attr

MAX_RECORD: Final = 16384  # bytes of content in a TLS record

# The code of each step (decrypt a record, answer a request, encrypt and send the answer) is larger
# than the processor's first-level cache. Done connection by connection, the steps evict each other
# from it; done step by step for all connections, they cost half as much.

_MAX_BYTES: Final = 256 * 1024  # queued in either direction before a batch ends early
_SLICE_SECONDS: Final = 0.004

Data = bytes | memoryview


@mypyc_attr(allow_interpreted_subclasses=True)
class BatchedConnection:
    """A connection. An exception in one of its methods aborts this connection only."""

    __slots__ = ()

    def process(self, data: bytes) -> None:
        """Process received data, possibly answering at once."""
        raise NotImplementedError

    def send(self, data: Data) -> None:
        """Encrypt and send data, in the order of the calls."""
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError


class Batch:
    """The batch of one event loop. While only one connection is active its data is not queued."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = Context()  # empty: the callback inherits nothing from the first sender
        self._received: list[tuple[BatchedConnection, bytes]] = []
        self._outgoing: list[tuple[BatchedConnection, Data]] = []
        self._received_size = self._outgoing_size = 0
        self._last_receiver: BatchedConnection | None = None
        self._last_sender: BatchedConnection | None = None
        self._is_scheduled = False

    def receive(self, connection: BatchedConnection, data: bytes) -> None:
        """Queue received data, in order."""
        if not self._received and connection is self._last_receiver:
            self._process(connection, data)
            return
        self._last_receiver = connection
        self._received.append((connection, data))
        self._received_size += len(data)
        if self._received_size > _MAX_BYTES:
            self.process_all()
        else:
            self._schedule()

    def send(self, connection: BatchedConnection, data: Data) -> None:
        """Queue data to send, in order."""
        if len(data) > MAX_RECORD:  # many records, which form a batch by themselves
            self.flush()
        elif self._outgoing or connection is not self._last_sender:
            self._queue(connection, data)
            return
        connection.send(data)

    def _queue(self, connection: BatchedConnection, data: Data) -> None:
        self._last_sender = connection
        # Copy: the caller may reuse its buffer.
        self._outgoing.append((connection, data if isinstance(data, bytes) else bytes(data)))
        self._outgoing_size += len(data)
        if self._outgoing_size > _MAX_BYTES:
            self.flush()
        else:
            self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run, context=self._context)

    def _run(self) -> None:
        self.process_all()
        self._is_scheduled = False
        if self._outgoing:  # queued while the batch was processed
            self._schedule()

    def process_all(self) -> None:
        """Process all received and queued data now."""
        received = self._received
        if received:
            self._received, self._received_size = [], 0
            for connection, data in received:
                self._process(connection, data)
        self.flush()

    def _process(self, connection: BatchedConnection, data: bytes) -> None:
        try:
            connection.process(data)
        except Exception as error:
            self._fail(connection, error)

    def flush(self) -> None:
        """Encrypt and send all queued data now."""
        if not self._outgoing:
            return
        outgoing, self._outgoing, self._outgoing_size = self._outgoing, [], 0
        for connection, data in outgoing:
            try:
                connection.send(data)
            except Exception as error:
                self._fail(connection, error)

    def _fail(self, connection: BatchedConnection, error: Exception) -> None:
        context = {"message": "a connection failed", "exception": error}
        self._loop.call_exception_handler(context)
        connection.abort()


class Slices:
    """Schedules input that is costly to parse, such as one-byte chunks, in slices. All connections
    of a loop together get 4 ms per iteration, in turn, so the delay for others does not grow with
    their number."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = Context()
        self._waiting: deque[Callable[[], None]] = deque()

    def add(self, callback: Callable[[], None]) -> None:
        """Schedule one slice for a later iteration."""
        self._waiting.append(callback)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._run_slices, context=self._context)

    def _run_slices(self) -> None:
        deadline = perf_counter() + _SLICE_SECONDS
        waiting, self._waiting = self._waiting, deque()
        while waiting and perf_counter() < deadline:
            callback = waiting.popleft()
            try:
                callback()
            except Exception as error:
                context = {"message": "a connection failed", "exception": error}
                self._loop.call_exception_handler(context)
        # Callbacks added meanwhile go behind those that still wait.
        was_empty = not self._waiting
        waiting.extend(self._waiting)
        self._waiting = waiting
        if waiting and was_empty:
            self._loop.call_soon(self._run_slices, context=self._context)


_slices: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Slices]] = WeakKeyDictionary()


def slices_of(loop: asyncio.AbstractEventLoop) -> Slices:
    """Return the instance of an event loop."""
    slices = _slices.get(loop)
    if slices is None:
        slices = _slices[loop] = Slices(loop)
    return slices
