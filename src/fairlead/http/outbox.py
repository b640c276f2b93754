"""What connections send in one round of the loop, sent together at its end.

An answer, the record around it and the system call that sends it are each more code than the
nearest cache of a processor holds. Done in turn for every connection they drive each other out of
it; done for all connections, one after the other, they cost half as much.
"""

from __future__ import annotations

import asyncio

from fairlead.compiled import mypyc_attr
from fairlead.http.records import PLAIN

_MOST_BYTES = 256 * 1024  # that wait for the end of a round

Data = bytes | memoryview


@mypyc_attr(allow_interpreted_subclasses=True)
class Sender:
    """A connection."""

    __slots__ = ()

    def sealed(self, data: Data) -> Data:
        """A record of data; nothing if it cannot be sent any more."""
        raise NotImplementedError

    def pass_on(self, sealed: Data) -> None:
        """Send that record. Of one sender these come in the order in which they were sealed."""
        raise NotImplementedError


class Outbox:
    """One for all connections of a loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[tuple[Sender, Data]] = []
        self._size = 0
        self._last: Sender | None = None

    def put(self, sender: Sender, data: Data) -> None:
        """Send data soon, behind all that was put here before."""
        size = len(data)
        if not self._waiting:
            # Who sends again has nobody to wait for, and much at once is worth a loop of its own.
            if sender is self._last or size > PLAIN:
                sender.pass_on(sender.sealed(data))
                return
            self._loop.call_soon(self.flush)
        self._last = sender
        # Whose memory it is may write to it again.
        self._waiting.append((sender, data if isinstance(data, bytes) else bytes(data)))
        self._size += size
        if self._size > _MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send all of it now."""
        waiting = self._waiting
        if not waiting:
            return
        self._waiting, self._size = [], 0
        sealed = [(sender, sender.sealed(data)) for sender, data in waiting]
        for sender, record in sealed:
            sender.pass_on(record)
