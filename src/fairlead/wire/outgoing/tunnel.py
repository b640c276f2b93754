"""Joins two connections: forwards bytes in both directions, as they are or through a translator.

Reading pauses while the other side does not drain. If both transports support half-close, the end
of one direction leaves the other open; else both connections close.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

_SECONDS_TO_PART = 10.0  # for a peer that reads nothing of the remaining data
_SECONDS_OF_SILENCE = 600.0  # after one side has ended


Write = Callable[[bytes], None]


class Malformed(Exception):
    """An end sent something that the translator does not understand."""


class Translator(Protocol):
    """Translates between the protocols of two connections."""

    def begin(self, to_near: Write, to_far: Write, close: Callable[[], None]) -> None: ...

    def from_near(self, data: bytes) -> None:
        """Raises Malformed."""

    def from_far(self, data: bytes) -> None:
        """Raises Malformed."""

    def end(self) -> None:
        """One of the connections has ended; the other is closed after this."""


class Tunnel:
    """Two protocols, `near` and `far`, to which connections are handed over in any order. `on_full`
    gets the number of bytes that wait for the far end while it does not read, 0 when it does."""

    def __init__(
        self, on_full: Callable[[int], None], translator: Translator | None = None
    ) -> None:
        self.near, self.far = End(self), End(self)
        self._on_full = on_full
        self.near.other, self.far.other = self.far, self.near
        self._ends: tuple[End, ...] = (self.near, self.far)
        self._timer: asyncio.TimerHandle | None = None
        self._finished = asyncio.get_running_loop().create_future()
        self._forwarded = 0  # pieces forwarded at the last check
        self._translator = translator
        if translator is not None:
            self.near.translate, self.far.translate = translator.from_near, translator.from_far
            translator.begin(self.near.write, self.far.write, self.close)

    async def wait(self) -> None:
        """Wait until both connections have ended. Cancellation aborts them."""
        try:
            await self._finished
        finally:
            self.abort()

    def end_received(self, end: End) -> bool:
        """Handle EOF at an end; returns whether the other direction stays open."""
        other = end.other
        if self._translator is not None:
            self._end_translation()
            self.close()
            return False
        if other.eof_seen or not (end.can_half_close and other.can_half_close):
            self.close()
            return False
        other.write_eof()
        self._forwarded = self._count_forwarded()
        self._set_timer(_SECONDS_OF_SILENCE, self._check_activity)
        return True

    def _check_activity(self) -> None:
        passed = self._count_forwarded()
        if passed == self._forwarded:
            self.close()
            return
        self._forwarded = passed
        self._set_timer(_SECONDS_OF_SILENCE, self._check_activity)

    def _end_translation(self) -> None:
        translator, self._translator = self._translator, None
        if translator is not None:
            translator.end()

    def end_lost(self, end: End) -> None:
        """Handle the loss of an end's connection."""
        if not end.other.is_lost:
            self._end_translation()
            self.close()
            return
        if not self._finished.done():
            self._finished.set_result(None)
        del self.near.other, self.far.other, self.near, self.far  # breaks reference cycles
        self._ends = ()

    def close(self) -> None:
        """Close both ends after sending what is buffered."""
        for end in self._ends:
            end.close()
        unsent = self._unsent()
        self._set_timer(_SECONDS_TO_PART, lambda: self._check_closing(unsent))

    def _check_closing(self, previously: int) -> None:
        if self._unsent() >= previously:
            self.abort()
        else:
            self.close()

    def report_backlog(self, end: End, is_full: bool) -> None:
        """Report a full or drained write buffer of the far end."""
        if self._ends and end is self.far:
            self._on_full(end.unsent if is_full else 0)

    def _count_forwarded(self) -> int:
        return sum(end.forwarded for end in self._ends)

    def _unsent(self) -> int:
        return sum(end.unsent for end in self._ends)

    def abort(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for end in self._ends:
            end.abort()

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds, callback)


class End(asyncio.Protocol):
    """One end of a tunnel. Data that arrives before the other end is connected is buffered."""

    other: End

    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel
        self._transport: asyncio.Transport | None = None
        self._buffered: list[bytes] = []
        self.forwarded = 0
        self.translate: Write | None = None
        self.eof_seen = self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        for piece in self._buffered:
            self._transport.write(piece)
        self._buffered.clear()

    def data_received(self, data: bytes) -> None:
        self.forwarded += 1
        if self.translate is None:
            self.other.write(data)
            return
        try:
            self.translate(data)
        except Malformed:
            self._tunnel.close()

    def write(self, data: bytes) -> None:
        if self._transport is None:
            if not self.is_lost:
                self._buffered.append(data)
        else:
            self._transport.write(data)

    def pause_writing(self) -> None:
        transport = self.other._transport
        if transport is not None and not transport.is_closing():
            transport.pause_reading()
        self._tunnel.report_backlog(self, True)

    def resume_writing(self) -> None:
        transport = self.other._transport
        if transport is not None and not transport.is_closing():
            transport.resume_reading()
        self._tunnel.report_backlog(self, False)

    def eof_received(self) -> bool:
        self.eof_seen = True
        return self._tunnel.end_received(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True
        self._transport = None
        self._tunnel.end_lost(self)

    @property
    def can_half_close(self) -> bool:
        return self._transport is not None and self._transport.can_write_eof()

    @property
    def unsent(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def write_eof(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
