"""What connections receive and send in one round of the loop, done together at its end.

To open a record, to answer a request, to seal the answer and to hand it to the system are each more
code than the nearest cache of a processor holds. Done in turn for every connection they drive each
other out of it; each done for all connections before the next they cost half as much.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from time import perf_counter
from weakref import WeakKeyDictionary

from fairlead.base.compiled import mypyc_attr
from fairlead.wire.incoming.tls_records import PLAIN

_MOST_BYTES = 256 * 1024  # that wait for the end of a round, either way
_SECONDS_OF_SLICES = 0.004

Data = bytes | memoryview


@mypyc_attr(allow_interpreted_subclasses=True)
class Party:
    """A connection. What it raises ends it, and no other."""

    __slots__ = ()

    def received(self, data: bytes) -> None:
        """Take what came, which may be answered at once."""
        raise NotImplementedError

    def sealed(self, data: Data) -> Data:
        """A record of data; nothing if it cannot be sent any more."""
        raise NotImplementedError

    def pass_on(self, sealed: Data) -> None:
        """Send that record. They come in the order in which they were sealed."""
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError


class Round:
    """One for all connections of a loop. Who is alone waits for nobody."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = Context()  # what is begun has nothing of whoever happened to send first
        self._came: list[tuple[Party, bytes]] = []
        self._senders: list[Party] = []
        self._waiting: list[Data] = []  # of each of them
        self._came_size = self._waiting_size = 0
        self._came_last: Party | None = None
        self._sent_last: Party | None = None
        self._is_to_end = False

    def take(self, party: Party, data: bytes) -> None:
        """Have data received, behind all that came before."""
        if not self._came and party is self._came_last:
            party.received(data)
            return
        self._came_last = party
        self._came.append((party, data))
        self._came_size += len(data)
        if self._came_size > _MOST_BYTES:
            self.end()
        else:
            self._end_soon()

    def send(self, party: Party, data: Data) -> None:
        """Have data sent, behind all that was sent before."""
        if len(data) > PLAIN:  # which is a loop of its own
            self.flush()
        elif self._waiting or party is not self._sent_last:
            self._keep(party, data)
            return
        party.pass_on(party.sealed(data))

    def _keep(self, party: Party, data: Data) -> None:
        self._sent_last = party
        self._senders.append(party)
        # Whose memory it is may write to it again.
        self._waiting.append(data if isinstance(data, bytes) else bytes(data))
        self._waiting_size += len(data)
        if self._waiting_size > _MOST_BYTES:
            self.flush()
        else:
            self._end_soon()

    def _end_soon(self) -> None:
        if not self._is_to_end:
            self._is_to_end = True
            self._loop.call_soon(self._ended, context=self._context)

    def _ended(self) -> None:
        self.end()
        self._is_to_end = False
        if self._waiting:  # since the end began
            self._end_soon()

    def end(self) -> None:
        """Take and send all of it now."""
        came = self._came
        if came:
            self._came, self._came_size = [], 0
            for party, data in came:
                try:
                    party.received(data)
                except Exception as error:
                    self._fail(party, error)
        self.flush()

    def flush(self) -> None:
        """Send all of it now."""
        waiting = self._waiting
        if not waiting:
            return
        senders = self._senders
        self._senders, self._waiting, self._waiting_size = [], [], 0
        for place, party in enumerate(senders):
            try:
                waiting[place] = party.sealed(waiting[place])
            except Exception as error:
                waiting[place] = b""
                self._fail(party, error)
        for place, party in enumerate(senders):
            try:
                party.pass_on(waiting[place])
            except Exception as error:
                self._fail(party, error)

    def _fail(self, party: Party, error: Exception) -> None:
        context = {"message": "a connection failed", "exception": error}
        self._loop.call_exception_handler(context)
        party.abort()


class Slices:
    """Bytes that cost much to take apart, such as chunks of one byte, are taken in slices. All
    connections of a loop together get some milliseconds of a round for that, one after the other,
    so that others wait no longer the more of them there are."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = Context()
        self._waiting: deque[Callable[[], None]] = deque()

    def add(self, take: Callable[[], None]) -> None:
        """Have one slice taken in a later round."""
        self._waiting.append(take)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._take, context=self._context)

    def _take(self) -> None:
        end = perf_counter() + _SECONDS_OF_SLICES
        waiting, self._waiting = self._waiting, deque()
        while waiting and perf_counter() < end:
            take = waiting.popleft()
            try:
                take()
            except Exception as error:
                context = {"message": "a connection failed", "exception": error}
                self._loop.call_exception_handler(context)
        # Those who were added meanwhile are behind those who still wait.
        had_none = not self._waiting
        waiting.extend(self._waiting)
        self._waiting = waiting
        if waiting and had_none:
            self._loop.call_soon(self._take, context=self._context)


_slices: WeakKeyDictionary[asyncio.AbstractEventLoop, Slices] = WeakKeyDictionary()


def slices_of(loop: asyncio.AbstractEventLoop) -> Slices:
    """The one of a loop."""
    found = _slices.get(loop)
    if found is None:
        found = _slices[loop] = Slices(loop)
    return found
