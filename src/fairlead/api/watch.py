"""Watch streams: initial state, events and bookmarks."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import Protocol

from fairlead.api.answers import Answer, warning_headers
from fairlead.api.negotiation import JSON, check_watch
from fairlead.api.parameters import list_options, selection_of
from fairlead.api.relay.headers import wanted_protocol
from fairlead.api.representation import include_object
from fairlead.api.request import Request
from fairlead.api.streamed_answers import STEP_SECONDS, rest, step_lock
from fairlead.api.watch_frames import CHUNKS, PIECES, Frames, Framing, NoList
from fairlead.base.errors import StatusError
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.operations.options import ListOptions
from fairlead.operations.watch import open_watch, too_old
from fairlead.storage.audience import Event, Watcher
from fairlead.storage.backend import Compacted, StorageError
from fairlead.storage.change import Change
from fairlead.wire.incoming.exchange import Exchange
from fairlead.wire.incoming.transfer import send_framed

logger = logging.getLogger("fairlead.watch")

_YEARS = 1e8  # seconds
_BOOKMARK_BEFORE_END = 2.0
_BOOKMARK_AGAIN = 0.2
_BYTES_A_SEND = 64 * 1024
_PATIENCE = 1.0
# Limits on what a stream sends without a task. A change may concern thousands of streams, which all
# send in the same iteration of the event loop.
_EVENTS_AT_ONCE, _BYTES_AT_ONCE = 100, 16 * 1024
_NEVER = float("inf")


class Opened(Protocol):
    """An open watch as the source of a stream; see `Watch`."""

    past: AsyncIterator[Sequence[Event]]

    @property
    def watcher(self) -> Watcher: ...

    @property
    def name(self) -> str: ...

    def are_shown_as_stored(self, events: Sequence[Event]) -> bool: ...

    async def shown(self, events: Sequence[Event]) -> Sequence[Event]: ...

    def close(self) -> None: ...


class _Nothing(AsyncIterator[Sequence[Event]]):
    """The empty past of a stream that has sent it."""

    async def __anext__(self) -> Sequence[Event]:
        raise StopAsyncIteration


_NOTHING = _Nothing()


class _BadEvent(Exception):
    """An event cannot be encoded for this client."""


class WatchStream(Answer):
    """A watch as a response. It ends at its timeout, when the client disconnects or when the server
    stops.

    There may be very many streams, most of them idle. So a stream has no task after it has sent the
    initial state: the watcher, a timer or the connection call it back. A callback that cannot
    finish its work at once starts a task, which runs until the stream is idle again.
    """

    __slots__ = (
        "_alarm",
        "_alarms",
        "_bookmark_every",
        "_end",
        "_exchange",
        "_framing",
        "_is_at_work",
        "_is_woken",
        "_keys",
        "_next_bookmark",
        "_store",
        "_watcher",
        "opened",
    )

    _exchange: Exchange

    def __init__(
        self,
        api: Api,
        opened: Opened,
        framing: Frames,
        options: ListOptions,
        bookmark_every: float,
    ) -> None:
        super().__init__(200, b"")
        self.opened = opened
        self._store = api.store
        self._alarms = api.alarms
        self._watcher = opened.watcher
        self._framing = framing
        self._keys: Mapping[str, str] | None = None  # of frames that callbacks may send
        self._bookmark_every = bookmark_every if options.bookmarks else _NEVER
        wanted = options.timeout or 0
        now = asyncio.get_running_loop().time()
        self._end = now + (wanted if wanted > 0 else _unasked(api.shortest_watch))
        self._next_bookmark = self._bookmark_after(now)
        self._alarm: float | None = None
        self._is_at_work = True
        self._is_woken = False

    async def send(self, request: Request) -> None:
        """Send the initial state and detach from the task. Events are sent by callbacks later."""
        exchange = self._exchange = request.exchange
        exchange.no_deadline()
        self._watcher.listener = self
        try:
            self._start(request)
            exchange.when_gone(self._left)
            last = await self._until_rest(self._send_past)
            if last is None:
                request.leave_seat()
                last = await self._until_rest(self._send_collected)
            await self._rest_or_end(last)
        finally:
            self._is_at_work = False
            if not exchange.detached:
                self._close()

    def _start(self, request: Request) -> None:
        start_stream(self._framing, request)

    async def _go_on(self, exchange: Exchange) -> None:
        """Do in a task what callbacks cannot: conversions, many events, a slow client, the end of
        the stream."""
        self._is_at_work = True
        whole = False
        try:
            await self._rest_or_end(await self._until_rest(self._send_collected))
            whole = True
        finally:
            self._is_at_work = False
            if not exchange.detached:
                self._finish(whole)

    async def _until_rest(self, sends: Callable[[], Awaitable[bytes | None]]) -> bytes | None:
        """Run `sends` and turn its errors into events. Returns the final event if the stream ends,
        else None."""
        try:
            return await sends()
        except NoList:
            return b""
        except Compacted as compacted:
            return self._error(too_old(compacted, self._store.floor))
        except (_BadEvent, StorageError) as error:
            return self._failure(error)

    async def _send_past(self) -> None:
        async for events in self.opened.past:
            await self._send_events(events)
        self.opened.past = _NOTHING  # free the memory while the stream goes on

    async def _send_collected(self) -> bytes | None:
        watcher, loop = self._watcher, asyncio.get_running_loop()
        while True:
            while watcher.pending:
                await self._send_events(watcher.take())
            now = loop.time()
            if watcher.closed:
                return self._last_words()
            if now >= self._end:
                return b""
            if now < self._next_bookmark:
                return None
            await send_framed(self._exchange, self._due_bookmark(now))

    async def _send_events(self, events: Sequence[Event]) -> None:
        """Encode and send events in steps. Frames are encoded here rather than at the commit, so
        that an event that cannot be encoded ends this stream only; and at most 64 KiB at a time, so
        that a slow client holds little memory."""
        frame = self._framing.frame
        frames: list[bytes] = []
        size = 0
        try:
            events = await self.opened.shown(events)
        except Exception as error:
            raise _BadEvent(f"{type(error).__name__}: {error}") from error
        await self._wait_for_turn()
        end = perf_counter() + STEP_SECONDS
        for kind, change in events:
            try:
                made = frame(kind, change)
            except NoList:
                raise
            except Exception as error:
                raise _BadEvent(f"{type(error).__name__}: {error}") from error
            frames.append(made)
            size += len(made)
            if size >= _BYTES_A_SEND or perf_counter() >= end:
                await self._send_in_pieces(b"".join(frames))
                await self._wait_for_turn()
                frames, size, end = [], 0, perf_counter() + STEP_SECONDS
        if frames:
            await self._send_in_pieces(b"".join(frames))

    async def _wait_for_turn(self) -> None:
        """Return in an iteration of the event loop in which no other stream encodes or sends
        much."""
        async with step_lock():
            await rest(self._exchange.turn)

    async def _send_in_pieces(self, made: bytes) -> None:
        """Send in pieces of 64 KiB, so that the connection of a slow client buffers one piece
        only."""
        self._exchange.retained_bytes = len(made)
        for start in range(0, len(made), _BYTES_A_SEND):
            if start:
                await self._wait_for_turn()
            await send_framed(self._exchange, made[start : start + _BYTES_A_SEND])

    async def _rest_or_end(self, last: bytes | None) -> None:
        exchange = self._exchange
        if last is not None:
            await send_framed(exchange, self._framing.last(last))
            exchange.end()
            return
        exchange.detach()
        if self._framing.keys and self.opened.are_shown_as_stored(()):
            self._keys = self._framing.keys
        self._set_alarm()

    def _last_words(self) -> bytes:
        failure = self._watcher.failure
        if isinstance(failure, Compacted):
            return self._error(too_old(failure, self._store.floor))
        return self._failure(failure) if failure is not None else b""

    def _failure(self, error: Exception) -> bytes:
        """The error event that ends a stream which cannot continue."""
        logger.error("a watch of %s ended: %s", self.opened.name, error)
        return self._error(StatusError(500, "InternalError", f"the watch cannot go on: {error}"))

    def _error(self, error: StatusError) -> bytes:
        return self._framing.event("ERROR", error.status())

    # Callbacks, without a task

    def pass_on(self, kind: str, change: Change) -> bool:
        """Send an event directly if its frame needs no conversion. Cheaper than waking the stream
        for each event. Returns whether the event was sent."""
        keys = self._keys
        if keys is None:
            return False
        made = change.frames.get(keys[kind])
        if made is None:
            if not self.opened.are_shown_as_stored(((kind, change),)):
                return False
            try:
                made = self._framing.frame(kind, change)
            except Exception:
                return False  # a task repeats it and ends the stream with the error
        return len(made) <= _BYTES_AT_ONCE and self._exchange.send_now(made)

    def wake(self) -> None:
        if self._exchange.detached and not self._is_woken:
            self._is_woken = True
            asyncio.get_running_loop().call_soon(self._look)

    def ring(self) -> None:
        self._alarm = None
        self.wake()

    def closed(self) -> None:
        """The watcher has closed. Disconnect a client that does not read, since it cannot be sent
        the final event: at once if its lag is the cause, else after a second."""
        if not self._exchange.gone:
            delay = 0.0 if self._watcher.lagging else _PATIENCE
            asyncio.get_running_loop().call_later(delay, self._cut_off)
            self.wake()

    def _cut_off(self) -> None:
        if self._watcher.listener is not None:  # still sending
            self._exchange.abort()

    def _look(self) -> None:
        self._is_woken = False
        if self._exchange.detached and not self._has_gone_on():
            self._keys = None
            self._exchange.resume(self._go_on)

    def _has_gone_on(self) -> bool:
        """Do the due work if it needs no task; returns whether it did."""
        now = asyncio.get_running_loop().time()
        watcher = self._watcher
        if watcher.closed or now >= self._end or not self._exchange.can_send_now:
            return False
        if watcher.pending and not self._has_sent(watcher.pending):
            return False
        if now >= self._next_bookmark and (bookmark := self._due_bookmark(now)):
            self._exchange.send_now(bookmark)
        self._set_alarm()
        return True

    def _has_sent(self, events: list[Event]) -> bool:
        watcher = self._watcher
        if len(events) > _EVENTS_AT_ONCE or watcher.size > _BYTES_AT_ONCE:
            return False
        if not self.opened.are_shown_as_stored(events):
            return False
        frame = self._framing.frame
        try:
            made = [frame(kind, change) for kind, change in events]
        except Exception:
            return False  # a task repeats it and ends the stream with the error
        watcher.take()
        return self._exchange.send_now(made[0] if len(made) == 1 else b"".join(made))

    # Timers

    def _set_alarm(self) -> None:
        if self._alarm is None:
            self._alarm = self._alarms.set(min(self._end, self._next_bookmark), self)

    def _due_bookmark(self, now: float) -> bytes:
        """The bookmark to send now; empty while this server lags behind the revision that the
        client already has."""
        told = self._store.told
        if told < self._watcher.after:
            self._next_bookmark = now + _BOOKMARK_AGAIN
            return b""
        self._next_bookmark = self._bookmark_after(now)
        return self._framing.bookmark(told)

    def _bookmark_after(self, now: float) -> float:
        """The time of the next bookmark: after the regular interval, but no later than 2 s before
        the end of the stream. In the last 2 s only the interval counts."""
        if self._bookmark_every == _NEVER:
            return _NEVER
        last = self._end - _BOOKMARK_BEFORE_END
        heartbeat = now + self._bookmark_every
        return min(heartbeat, last) if now < last else heartbeat

    # The end of the stream

    def _left(self) -> None:
        """The client has disconnected."""
        if self._is_at_work:
            self._watcher.close()  # which ends the task
        else:
            self._finish(whole=False)

    def _finish(self, whole: bool) -> None:
        self._close()
        self._exchange.over(whole)

    def _close(self) -> None:
        if self._watcher.listener is None:
            return
        self._watcher.listener = self._keys = None
        if self._alarm is not None:
            self._alarms.cancel(self._alarm, self)
        self.opened.close()


def _unasked(shortest: float) -> float:
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


class ErrorStream(Answer):
    """A watch that cannot be opened: 200 and one ERROR event that holds the Status."""

    __slots__ = ("error", "framing")

    def __init__(self, error: StatusError, framing: Frames) -> None:
        super().__init__(200, b"")
        self.error = error
        self.framing = framing

    async def send(self, request: Request) -> None:
        exchange = request.exchange
        self._start(request)
        framing = self.framing
        await send_framed(exchange, framing.last(framing.event("ERROR", self.error.status())))
        exchange.end()

    def _start(self, request: Request) -> None:
        start_stream(self.framing, request)


# Handler of watch requests.

BOOKMARK_EVERY = 60.0


async def answer_watch(api: Api, request: Request, operation: Operation) -> Answer:
    check_watch(api.dialect, request.representation)
    options = list_options(api.dialect, request, chunking=True)
    selection = selection_of(request, operation.resource)
    include = include_object(request) if request.representation.transform == "Table" else ""
    framing = Framing(api, operation.resource, request.representation, include)
    stream, failed, refused = WatchStream, ErrorStream, None
    if wanted_protocol(request).lower() == b"websocket":
        from fairlead.api import watch_sockets as sockets  # imported lazily: rarely used

        stream, failed, refused = (
            sockets.SocketStream,
            sockets.SocketError,
            sockets.refusal(request),
        )
    try:
        opened = await open_watch(api, operation, options, selection)
    except StatusError as error:
        if error.code != 410:
            raise
        return refused or failed(error, framing)
    if refused is not None:
        opened.close()
        return refused
    return stream(api, opened, framing, options, BOOKMARK_EVERY)
