"""The watch stream: what was, what happens, and bookmarks."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import Protocol

from fairlead.api.answers import Answer, warning_headers
from fairlead.api.long_answers import STEP_SECONDS, one_step, rest
from fairlead.api.negotiation import JSON, check_watch
from fairlead.api.parameters import list_options, selection_of
from fairlead.api.relay.headers import wanted_protocol
from fairlead.api.representation import include_object
from fairlead.api.request import Request
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

logger = logging.getLogger("fairlead.watch")

_YEARS = 1e8  # seconds
_BOOKMARK_BEFORE_END = 2.0
_BOOKMARK_AGAIN = 0.2
_BYTES_A_SEND = 64 * 1024
_PATIENCE = 1.0
# What a stream sends without a task. A change may concern thousands of streams, which all send
# within one round of the loop.
_EVENTS_AT_ONCE, _BYTES_AT_ONCE = 100, 16 * 1024
_NEVER = float("inf")


class Opened(Protocol):
    """What a stream tells, as a `Watch` that was opened has it."""

    past: AsyncIterator[Sequence[Event]]

    @property
    def watcher(self) -> Watcher: ...

    @property
    def name(self) -> str: ...

    def are_shown_as_stored(self, events: Sequence[Event]) -> bool: ...

    async def shown(self, events: Sequence[Event]) -> Sequence[Event]: ...

    def close(self) -> None: ...


class _Nothing(AsyncIterator[Sequence[Event]]):
    """The past of a stream that has told it."""

    async def __anext__(self) -> Sequence[Event]:
        raise StopAsyncIteration


_NOTHING = _Nothing()


class _BadEvent(Exception):
    """An event that cannot be sent in the way that this client asked for."""


class WatchStream(Answer):
    """A watch as an answer: it ends when its time is up, the client leaves or the server stops.

    Most streams are silent for most of the time, and there may be very many. So there is no task
    for one that has told what was: the watcher it listens to, an alarm or the connection call it.
    What cannot be done within such a call is left to a task, until the stream is at rest again.
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
        self._keys: Mapping[str, str] | None = None  # of frames that can be sent at once, at rest
        self._bookmark_every = bookmark_every if options.bookmarks else _NEVER
        wanted = options.timeout or 0
        now = asyncio.get_running_loop().time()
        self._end = now + (wanted if wanted > 0 else _unasked(api.shortest_watch))
        self._next_bookmark = self._bookmark_after(now)
        self._alarm: float | None = None
        self._is_at_work = True
        self._is_woken = False

    async def send(self, request: Request) -> None:
        """Send what was; what happens is sent when this has long returned."""
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
        """What takes a task: conversions, many events, a client that does not read, the end."""
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
        """Send something; gives what the stream ends with, if it does."""
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
        self.opened.past = _NOTHING  # nothing of it is held while the stream goes on

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
            await self._exchange.send_made(self._due_bookmark(now))

    async def _send_events(self, events: Sequence[Event]) -> None:
        """Encode and send, some at a time. Frames are made here, not at the commit: what cannot
        be encoded ends this stream and no other; and no more of them than are sent at once, so
        that a client that does not read holds little."""
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
        """Returns in a round of the loop in which no other stream encodes or sends much."""
        async with one_step():
            await rest(self._exchange.turn)

    async def _send_in_pieces(self, made: bytes) -> None:
        """The connection of a client that does not read is given one piece, not all of it."""
        self._exchange.keeps = len(made)
        for start in range(0, len(made), _BYTES_A_SEND):
            if start:
                await self._wait_for_turn()
            await self._exchange.send_made(made[start : start + _BYTES_A_SEND])

    async def _rest_or_end(self, last: bytes | None) -> None:
        exchange = self._exchange
        if last is not None:
            await exchange.send_made(self._framing.last(last))
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
        """The last event of a stream that cannot go on."""
        logger.error("a watch of %s ended: %s", self.opened.name, error)
        return self._error(StatusError(500, "InternalError", f"the watch cannot go on: {error}"))

    def _error(self, error: StatusError) -> bytes:
        return self._framing.event("ERROR", error.status())

    # Without a task

    def pass_on(self, kind: str, change: Change) -> bool:
        """Waking the stream for each event would cost more than the sending, where frames need no
        encoding."""
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
                return False  # a task finds out and ends the stream with it
        return len(made) <= _BYTES_AT_ONCE and self._exchange.send_now(made)

    def wake(self) -> None:
        if self._exchange.detached and not self._is_woken:
            self._is_woken = True
            asyncio.get_running_loop().call_soon(self._look)

    def ring(self) -> None:
        self._alarm = None
        self.wake()

    def closed(self) -> None:
        """A client that does not read cannot be told that the stream is over: cut it off, at once
        if it is why the stream ends."""
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
        """Do what is due, if that can be done at once."""
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
            return False  # a task finds out and ends the stream with it
        watcher.take()
        return self._exchange.send_now(made[0] if len(made) == 1 else b"".join(made))

    # Times

    def _set_alarm(self) -> None:
        if self._alarm is None:
            self._alarm = self._alarms.set(min(self._end, self._next_bookmark), self)

    def _due_bookmark(self, now: float) -> bytes:
        """The bookmark to send now: nothing yet where a client knows of more than was told here."""
        told = self._store.told
        if told < self._watcher.after:
            self._next_bookmark = now + _BOOKMARK_AGAIN
            return b""
        self._next_bookmark = self._bookmark_after(now)
        return self._framing.bookmark(told)

    def _bookmark_after(self, now: float) -> float:
        """Every now and then, and shortly before the end unless that is near already."""
        if self._bookmark_every == _NEVER:
            return _NEVER
        last = self._end - _BOOKMARK_BEFORE_END
        heartbeat = now + self._bookmark_every
        return min(heartbeat, last) if now < last else heartbeat

    # The end

    def _left(self) -> None:
        """The client has left."""
        if self._is_at_work:
            self._watcher.close()  # and the task finds out
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
    """How long a watch lasts whose client does not say: not all of them end at the same time."""
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
    """A watch that cannot be: 200, and one ERROR event that holds the Status."""

    __slots__ = ("error", "framing")

    def __init__(self, error: StatusError, framing: Frames) -> None:
        super().__init__(200, b"")
        self.error = error
        self.framing = framing

    async def send(self, request: Request) -> None:
        exchange = request.exchange
        self._start(request)
        framing = self.framing
        await exchange.send_made(framing.last(framing.event("ERROR", self.error.status())))
        exchange.end()

    def _start(self, request: Request) -> None:
        start_stream(self.framing, request)


# Requests to watch: what is asked for, and how it is sent.

BOOKMARK_EVERY = 60.0


async def answer_watch(api: Api, request: Request, operation: Operation) -> Answer:
    check_watch(api.dialect, request.representation)
    options = list_options(api.dialect, request, chunking=True)
    selection = selection_of(request, operation.resource)
    include = include_object(request) if request.representation.transform == "Table" else ""
    framing = Framing(api, operation.resource, request.representation, include)
    stream, failed, refused = WatchStream, ErrorStream, None
    if wanted_protocol(request).lower() == b"websocket":
        from fairlead.api import watch_sockets as sockets  # which few ask for

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
