"""The state of a watch stream and its callbacks, none of which waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

from fairlead.api.answers import Answer, warning_headers
from fairlead.api.negotiation import JSON
from fairlead.api.request import Request
from fairlead.api.watch_frames import CHUNKS, PIECES, Frames
from fairlead.base.compiled import mypyc_attr
from fairlead.base.errors import StatusError, store_unavailable
from fairlead.base.logs import Logger
from fairlead.operations.api import Api
from fairlead.operations.options import ListOptions
from fairlead.operations.watch import too_old
from fairlead.storage.audience import Event, Watcher
from fairlead.storage.backend import Compacted, StorageError
from fairlead.storage.version import Change
from fairlead.wire.incoming.exchange import Exchange

logger: Final = Logger("fairlead.watch")

_YEARS: Final = 1e8  # seconds
_BOOKMARK_BEFORE_END: Final = 2.0
_BOOKMARK_AGAIN: Final = 0.2
_BYTES_A_SEND: Final = 64 * 1024
_PATIENCE: Final = 1.0
# Limits on what a stream sends without a task. A change may concern thousands of streams, which all
# send in the same iteration of the event loop: together they may send more than a little only while
# its slice of time lasts.
_EVENTS_AT_ONCE: Final = 100
_BYTES_AT_ONCE: Final = 64 * 1024
_LITTLE: Final = 16 * 1024
_NEVER: Final = float("inf")


class WatchSource(Protocol):
    """An open watch as the source of a stream; see `Watch`."""

    past: AsyncIterator[Sequence[Event]]

    @property
    def watcher(self) -> Watcher: ...

    @property
    def name(self) -> str: ...

    def are_prepared(self, events: Sequence[Event]) -> bool: ...

    def prepare(self, events: Sequence[Event]) -> Awaitable[Sequence[Event]]: ...

    def close(self) -> None: ...


SendInitial = Callable[["WatchStream", Request], Awaitable[None]]
SendPending = Callable[["WatchStream"], Awaitable[None]]


@mypyc_attr(allow_interpreted_subclasses=True)
class WatchStream(Answer):
    """A watch as a response. It ends at its timeout, when the client disconnects or when the server
    stops.

    There may be very many streams, most of them idle. So a stream has no task after it has sent the
    initial state: the watcher, a timer or the connection call it back. A callback that cannot
    finish its work at once starts a task, which runs until the stream is idle again. The tasks are
    `send_initial` and `send_pending`.
    """

    __slots__ = (
        "_alarm",
        "_alarms",
        "_bookmark_every",
        "_is_woken",
        "_keys",
        "_send_initial",
        "_send_pending",
        "_slice",
        "end",
        "ends_initial",
        "exchange",
        "framing",
        "has_task",
        "next_bookmark",
        "source",
        "store",
        "watcher",
    )

    exchange: Exchange

    def __init__(
        self,
        api: Api,
        source: WatchSource,
        framing: Frames,
        options: ListOptions,
        bookmark_every: float,
        send_initial: SendInitial,
        send_pending: SendPending,
    ) -> None:
        super().__init__(200, b"")
        self.source = source
        self._send_initial = send_initial
        self._send_pending = send_pending
        self.store = api.store_of(source.name)
        self._alarms = api.alarms
        self._slice = api.watch_slice
        self.watcher = source.watcher
        self.framing = framing
        self._keys: Mapping[str, str] | None = None  # of frames that callbacks may send
        self._bookmark_every = bookmark_every if options.bookmarks else _NEVER
        self.ends_initial = options.bookmarks and options.initial is True
        timeout = options.timeout or 0
        now = asyncio.get_running_loop().time()
        self.end = now + (timeout if timeout > 0 else _default_duration(api.shortest_watch))
        self.next_bookmark = self._bookmark_after(now)
        self._alarm: float | None = None
        self.has_task = True
        self._is_woken = False

    def send(self, request: Request) -> Awaitable[None]:
        """Send the initial state and detach from the task. Events are sent by callbacks later."""
        return self._send_initial(self, request)

    def start(self, request: Request) -> None:
        start_stream(self.framing, request)

    def detach(self) -> None:
        """Let callbacks send from now on."""
        self.exchange.detach()
        if self.framing.keys and self.source.are_prepared(()):
            self._keys = self.framing.keys
        self._set_alarm()

    def take_control_frame(self) -> bytes:
        """Return frames that a task sends between two events."""
        return b""

    def last_event(self) -> bytes:
        failure = self.watcher.failure
        if isinstance(failure, Compacted):
            return self.error_event(too_old(failure, self.store.floor))
        return self.failure_event(failure) if failure is not None else b""

    def failure_event(self, error: Exception) -> bytes:
        """The error event that ends a stream which cannot continue."""
        logger.error("a watch ended", resource=self.source.name, err=error)
        if isinstance(error, StorageError):
            return self.error_event(store_unavailable())
        return self.error_event(
            StatusError(500, "InternalError", f"the watch cannot continue: {error}")
        )

    def error_event(self, error: StatusError) -> bytes:
        return self.framing.event("ERROR", error.status())

    # Callbacks, without a task

    def pass_on(self, kind: str, change: Change) -> bool:
        """Send an event directly if its frame needs no conversion. Cheaper than waking the stream
        for each event. Returns whether the event was sent."""
        keys = self._keys
        if keys is None:
            return False
        frame = change.frames.get(keys[kind])
        if frame is None:
            if not self.source.are_prepared(((kind, change),)):
                return False
            try:
                frame = self.framing.frame(kind, change)
            except Exception:
                return False  # a task repeats it and ends the stream with the error
        return len(frame) <= _LITTLE and self.exchange.send_now(frame)

    def wake(self) -> None:
        if self.exchange.detached and not self._is_woken:
            self._is_woken = True
            asyncio.get_running_loop().call_soon(self._check)

    def ring(self) -> None:
        self._alarm = None
        self.wake()

    def closed(self) -> None:
        """The watcher has closed. Disconnect a client that does not read, since it cannot be sent
        the final event: at once if its lag is the cause, else after a second."""
        if not self.exchange.disconnected:
            delay = 0.0 if self.watcher.lagging else _PATIENCE
            asyncio.get_running_loop().call_later(delay, self._cut_off)
            self.wake()

    def _cut_off(self) -> None:
        if self.watcher.listener is not None:  # still sending
            self.exchange.abort()

    def _check(self) -> None:
        self._is_woken = False
        if self.exchange.detached and not self.try_send_due():
            self._keys = None
            self.exchange.resume(self._continue)

    def _continue(self, exchange: Exchange) -> Awaitable[None]:
        return self._send_pending(self)

    def try_send_due(self) -> bool:
        """Do the due work if it needs no task; returns whether it did."""
        now = asyncio.get_running_loop().time()
        watcher = self.watcher
        if watcher.closed or now >= self.end or not self.exchange.can_send_now:
            return False
        if watcher.pending and not self._try_send(watcher.pending):
            return False
        if now >= self.next_bookmark and (bookmark := self.due_bookmark(now)):
            self.exchange.send_now(bookmark)
        self._set_alarm()
        return True

    def _try_send(self, events: list[Event]) -> bool:
        watcher = self.watcher
        if len(events) > _EVENTS_AT_ONCE or watcher.size > _BYTES_AT_ONCE:
            return False
        if watcher.size > _LITTLE and not self._slice.has_time():
            return False
        if not self.source.are_prepared(events):
            return False
        frame = self.framing.frame
        try:
            frames = [frame(kind, change) for kind, change in events]
        except Exception:
            return False  # a task repeats it and ends the stream with the error
        watcher.take()
        return self.exchange.send_now(frames[0] if len(frames) == 1 else b"".join(frames))

    # Timers

    def _set_alarm(self) -> None:
        if self._alarm is None:
            self._alarm = self._alarms.set(min(self.end, self.next_bookmark), self)

    def due_bookmark(self, now: float) -> bytes:
        """The bookmark to send now; empty while this server lags behind the revision that the
        client already has."""
        revision = self.store.delivered_revision
        if revision < self.watcher.after:
            self.next_bookmark = now + _BOOKMARK_AGAIN
            return b""
        self.next_bookmark = self._bookmark_after(now)
        return self.framing.bookmark(revision)

    def _bookmark_after(self, now: float) -> float:
        """The time of the next bookmark: after the regular interval, but no later than 2 s before
        the end of the stream. In the last 2 s only the interval counts."""
        if self._bookmark_every == _NEVER:
            return _NEVER
        last_bookmark = self.end - _BOOKMARK_BEFORE_END
        heartbeat = now + self._bookmark_every
        return min(heartbeat, last_bookmark) if now < last_bookmark else heartbeat

    # The end of the stream

    def on_disconnect(self) -> None:
        """The client has disconnected."""
        if self.has_task:
            self.watcher.close()  # which ends the task
        else:
            self.finish(is_complete=False)

    def finish(self, is_complete: bool) -> None:
        self.close()
        self.exchange.complete(is_complete)

    def close(self) -> None:
        if self.watcher.listener is None:
            return
        self.watcher.listener = self._keys = None
        if self._alarm is not None:
            self._alarms.cancel(self._alarm, self)
        self.source.close()


def _default_duration(shortest: float) -> float:
    """The duration of a watch without a timeout, random so that watches do not all end at once."""
    return random.uniform(1, 2) * shortest if shortest else _YEARS


def start_stream(framing: Frames, request: Request) -> None:
    media_type = framing.representation.media_type
    if media_type != JSON:
        media_type += ";stream=watch"
    headers = [
        (b"cache-control", b"no-cache, private"),
        (b"content-type", media_type.encode()),
        *warning_headers(request.warnings),
    ]
    exchange = request.exchange
    exchange.start(200, headers)
    framing.begin(CHUNKS if exchange.takes_chunks else PIECES)


@mypyc_attr(allow_interpreted_subclasses=True)
class ErrorStream(Answer):
    """A watch that cannot be source: 200 and one ERROR event that holds the Status."""

    __slots__ = ("error", "framing")

    def __init__(self, error: StatusError, framing: Frames) -> None:
        super().__init__(200, b"")
        self.error = error
        self.framing = framing

    def send(self, request: Request) -> Awaitable[None] | None:
        self.start(request)
        framing = self.framing
        request.exchange.send_now(framing.last(framing.event("ERROR", self.error.status())))
        request.exchange.end()
        return None

    def start(self, request: Request) -> None:
        start_stream(self.framing, request)
