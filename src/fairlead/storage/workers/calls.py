"""Remote calls between the processes of a server."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from fairlead.base.logs import Logger
from fairlead.storage.backend import (
    Compacted,
    ConditionFailed,
    Conflict,
    Fault,
    Precondition,
    StorageError,
    Unanswered,
)
from fairlead.storage.workers.channel import Channel, Message

logger = Logger("fairlead.storage")

_UNREACHABLE = "the process that owns the store does not answer"

# Kinds of reply: part of a result, its last part, or an error.
PART, DONE, FAILED = "part", "done", "failed"
NOTIFICATION = 0  # the number of messages that answer no call

Handler = Callable[..., Awaitable[Any]]


class RpcServer:
    """Serves calls from other processes on a socket that the parent created, so it survives a
    restart of this process. `handlers` maps names to handlers, which get the channel and the call
    number as first arguments."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.handlers: dict[str, Handler] = {}
        self.on_lost: list[Callable[[Channel], None]] = []
        self._channels: set[Channel] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.AbstractServer | None = None
        self._disconnected = asyncio.Event()

    async def open(self) -> None:
        loop = asyncio.get_running_loop()

        def create_channel() -> Channel:
            return Channel(self._receive, self._channel_lost, self._channels.add)

        self._server = await loop.create_unix_server(create_channel, sock=self._listener.dup())

    def _receive(self, channel: Channel, message: Message) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(channel, *message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, channel: Channel, number: int, name: str, *arguments: Any) -> None:
        try:
            answer = await self.handlers[name](channel, number, *arguments)
        except Exception as error:
            channel.send((number, FAILED, *_encode_error(error)))
        else:
            channel.send((number, DONE, answer))

    def _channel_lost(self, channel: Channel) -> None:
        self._channels.discard(channel)
        for callback in self.on_lost:
            callback(channel)
        if not self._channels:
            self._disconnected.set()

    async def wait_disconnected(self, timeout: float) -> None:
        """Wait until no process is connected, for up to `timeout` seconds."""
        self._disconnected.clear()
        if self._channels:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._disconnected.wait(), timeout)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for channel in list(self._channels):
            channel.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Caller:
    """The client of an `RpcServer`: one connection, made by `connect`. After `lost` is set every
    call fails. `on_notification` receives messages that answer no call."""

    def __init__(self, on_notification: Callable[[Message], None] | None = None) -> None:
        self._numbers = count(NOTIFICATION + 1)
        self._calls: dict[int, tuple[asyncio.Future[Any], list[Any]]] = {}
        self._on_notification = on_notification
        self.channel: Channel | None = None
        self.lost = asyncio.Event()

    async def connect(self, path: str) -> None:
        """Connect; raises OSError."""
        loop = asyncio.get_running_loop()
        _, self.channel = await loop.create_unix_connection(
            lambda: Channel(self._receive, self._closed), path
        )

    async def call(self, name: str, *arguments: Any) -> Any:
        """Return the last part of the result; raises the handler's exception, or StorageError if
        the connection is lost."""
        answer, _ = await self._call(name, arguments)
        return answer

    async def gather(self, name: str, *arguments: Any) -> tuple[Any, list[Any]]:
        """Return the last part of the result and the list of earlier parts."""
        return await self._call(name, arguments)

    async def _call(self, name: str, arguments: Sequence[Any]) -> tuple[Any, list[Any]]:
        if self.channel is None or self.lost.is_set():
            raise owner_unreachable()
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        parts: list[Any] = []
        self._calls[number] = future, parts
        self.channel.send((number, name, *arguments))
        try:
            return await future, parts
        finally:
            self._calls.pop(number, None)

    def _receive(self, channel: Channel, message: Message) -> None:
        number, kind, *content = message
        if number == NOTIFICATION:
            if self._on_notification is not None:
                self._on_notification(message)
            return
        call = self._calls.get(number)
        if call is None or call[0].done():
            return  # the caller is gone
        future, parts = call
        if kind == PART:
            parts.append(content[0])
        elif kind == DONE:
            future.set_result(content[0])
        else:
            future.set_exception(_decode_error(content))

    def _closed(self, channel: Channel) -> None:
        self.lost.set()
        for future, _ in self._calls.values():
            if not future.done():
                future.set_exception(Unanswered(_UNREACHABLE, Fault.PASSING))

    def close(self) -> None:
        self.lost.set()
        if self.channel is not None:
            self.channel.close()


async def call_once(path: str, name: str, *arguments: Any, timeout: float) -> Any:
    """Make one call on a separate connection; raises StorageError if no answer comes in time."""
    caller = Caller()
    try:
        async with asyncio.timeout(timeout):
            await caller.connect(path)
            return await caller.call(name, *arguments)
    except (OSError, TimeoutError):
        raise owner_unreachable() from None
    finally:
        caller.close()


def owner_unreachable() -> StorageError:
    return StorageError(_UNREACHABLE, Fault.PASSING)


def _encode_error(error: Exception) -> Message:
    """Convert an exception to a message."""
    if isinstance(error, Conflict):
        return "conflict", str(error), error.visible_at
    if isinstance(error, ConditionFailed):
        condition = error.condition
        return (
            "condition",
            condition.resource,
            condition.key,
            condition.required_revision(),
            error.visible_at,
        )
    if isinstance(error, Compacted):
        return "compacted", error.args[0] if error.args else 0
    if not isinstance(error, StorageError):
        logger.log(logging.ERROR, "a call of another process failed", trace=error)
        error = StorageError(f"{type(error).__name__}: {error}")
    return "storage", str(error)


def _decode_error(encoded: Sequence[Any]) -> Exception:
    """Convert a message back to an exception. A StorageError becomes PASSING: only the owner's data
    is affected, not this process."""
    kind, *content = encoded
    if kind == "conflict":
        conflict = Conflict(content[0])
        conflict.visible_at = content[1]
        return conflict
    if kind == "condition":
        error = ConditionFailed(Precondition(*content[:3]))
        error.visible_at = content[3]
        return error
    if kind == "compacted":
        return Compacted(content[0])
    return StorageError(content[0], Fault.PASSING)
