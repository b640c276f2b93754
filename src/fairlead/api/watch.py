"""The handler of watch, and the tasks of its streams: initial state, backlogs, conversions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from time import perf_counter

from fairlead.api import watch_sockets
from fairlead.api.answers import Answer
from fairlead.api.negotiation import check_watch
from fairlead.api.parameters import list_options, selection_of
from fairlead.api.relay.headers import requested_protocol
from fairlead.api.representation import include_object
from fairlead.api.request import Request
from fairlead.api.routing import Target
from fairlead.api.streamed_answers import STEP_SECONDS, pause, step_lock
from fairlead.api.watch_frames import Framing, NoList
from fairlead.api.watch_stream import ErrorStream, WatchStream
from fairlead.base.errors import StatusError
from fairlead.base.metrics import REGISTRY, Labels
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.operations.watch import open_watch, too_old
from fairlead.storage.audience import Event
from fairlead.storage.backend import Compacted, StorageError
from fairlead.wire.incoming.transfer import send_framed

_BYTES_A_SEND = 64 * 1024
BOOKMARK_EVERY = 60.0
_LISTING = REGISTRY.histogram(
    "apiserver_watch_list_duration_seconds",
    "Time from a watch to the bookmark after its initial events.",
    (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
    ("group", "version", "resource", "scope"),
)


async def answer_watch(api: Api, request: Request, operation: Operation) -> Answer:
    check_watch(api.dialect, request.representation)
    options = list_options(api, request, chunking=True)
    selection = selection_of(request, operation.resource)
    include = include_object(request) if request.representation.transform == "Table" else ""
    framing = Framing(api, operation.resource, request.representation, include)
    stream, failed, refused = WatchStream, ErrorStream, None
    if requested_protocol(request).lower() == b"websocket":
        stream, failed = watch_sockets.SocketStream, watch_sockets.SocketError
        refused = watch_sockets.refusal(request)
    try:
        watch = await open_watch(api, operation, options, selection)
    except StatusError as error:
        if error.code not in (410, 504):
            raise
        return refused or failed(error, framing)
    if refused is not None:
        watch.close()
        return refused
    return stream(api, watch, framing, options, BOOKMARK_EVERY, send_initial, send_pending)


async def send_initial(stream: WatchStream, request: Request) -> None:
    """Send the initial state, then leave the stream to its callbacks."""
    exchange = stream.exchange = request.exchange
    exchange.no_deadline()
    stream.watcher.listener = stream
    started = perf_counter()
    try:
        stream.start(request)
        exchange.on_disconnect(stream.on_disconnect)
        last_event = await _send_or_fail(stream, _send_past)
        if last_event is None:
            request.leave_seat()
            if stream.ends_initial:
                _LISTING.observe(perf_counter() - started, _place(request.target))
            last_event = await _send_or_fail(stream, _send_collected)
        await _detach_or_end(stream, last_event)
    finally:
        stream.has_task = False
        if not exchange.detached:
            stream.close()


def _place(target: Target) -> Labels:
    scope = "resource" if target.name else "namespace" if target.namespace else "cluster"
    return target.group, target.version, target.resource_name, scope


async def send_pending(stream: WatchStream) -> None:
    """Do what callbacks cannot: conversions, many events, a slow client, the end of the stream."""
    stream.has_task = True
    is_complete = False
    try:
        await _detach_or_end(stream, await _send_or_fail(stream, _send_collected))
        is_complete = True
    finally:
        stream.has_task = False
        if not stream.exchange.detached:
            stream.finish(is_complete)


class _EmptyPast(AsyncIterator[Sequence[Event]]):
    """The past of a stream that has sent it."""

    async def __anext__(self) -> Sequence[Event]:
        raise StopAsyncIteration


_EMPTY_PAST = _EmptyPast()


class _BadEvent(Exception):
    """An event cannot be encoded for this client."""


async def _send_or_fail(
    stream: WatchStream, send: Callable[[WatchStream], Awaitable[bytes | None]]
) -> bytes | None:
    """Run `send` and turn its errors into events. Returns the final event if the stream ends, else
    None."""
    try:
        return await send(stream)
    except NoList:
        return b""
    except Compacted as compacted:
        return stream.error_event(too_old(compacted, stream.store.floor))
    except (_BadEvent, StorageError) as error:
        return stream.failure_event(error)


async def _send_past(stream: WatchStream) -> None:
    async for events in stream.source.past:
        await _send_events(stream, events)
    stream.source.past = _EMPTY_PAST  # free the memory while the stream goes on
    if stream.ends_initial:
        await send_framed(
            stream.exchange, stream.framing.bookmark(stream.watcher.after, initial=True)
        )


async def _send_collected(stream: WatchStream) -> bytes | None:
    watcher, loop = stream.watcher, asyncio.get_running_loop()
    while True:
        while watcher.pending:
            await _send_events(stream, watcher.take())
        now = loop.time()
        if watcher.closed:
            return stream.last_event()
        if now >= stream.end:
            return b""
        if now < stream.next_bookmark:
            return None
        await send_framed(stream.exchange, stream.due_bookmark(now))


async def _send_events(stream: WatchStream, events: Sequence[Event]) -> None:
    """Encode and send events in steps. Frames are encoded here rather than at the commit, so that
    an event that cannot be encoded ends this stream only; and at most 64 KiB at a time, so that a
    slow client holds little memory."""
    frame = stream.framing.frame
    frames: list[bytes] = []
    size = 0
    try:
        events = await stream.source.prepare(events)
    except Exception as error:
        raise _BadEvent(f"{type(error).__name__}: {error}") from error
    await _wait_for_turn(stream)
    end = perf_counter() + STEP_SECONDS
    for kind, change in events:
        try:
            encoded = frame(kind, change)
        except NoList:
            raise
        except Exception as error:
            raise _BadEvent(f"{type(error).__name__}: {error}") from error
        frames.append(encoded)
        size += len(encoded)
        if size >= _BYTES_A_SEND or perf_counter() >= end:
            await _send_in_pieces(stream, b"".join(frames))
            await _wait_for_turn(stream)
            frames, size, end = [], 0, perf_counter() + STEP_SECONDS
    if frames:
        await _send_in_pieces(stream, b"".join(frames))
    await _send_control_frame(stream)


async def _wait_for_turn(stream: WatchStream) -> None:
    """Return in an iteration of the event loop in which no other stream encodes or sends much."""
    async with step_lock():
        await pause(stream.exchange.turn)


async def _send_in_pieces(stream: WatchStream, data: bytes) -> None:
    """Send in pieces of 64 KiB, so that the connection of a slow client buffers one piece only."""
    stream.exchange.retained_bytes = len(data)
    for start in range(0, len(data), _BYTES_A_SEND):
        if start:
            await _wait_for_turn(stream)
        await send_framed(stream.exchange, data[start : start + _BYTES_A_SEND])


async def _send_control_frame(stream: WatchStream) -> None:
    frame = stream.take_control_frame()
    if frame:
        await send_framed(stream.exchange, frame)


async def _detach_or_end(stream: WatchStream, last_event: bytes | None) -> None:
    await _send_control_frame(stream)
    if last_event is None:
        stream.detach()
        return
    await send_framed(stream.exchange, stream.framing.last(last_event))
    stream.exchange.end()
