"""A pool of keep-alive connections for streaming proxies."""

from __future__ import annotations

import asyncio
from time import monotonic

from fairlead.wire.outgoing.client import CallError
from fairlead.wire.outgoing.connection import Lost
from fairlead.wire.outgoing.conversation import Conversation
from fairlead.wire.outgoing.dialer import Place, dial

_SECONDS_IDLE = 30.0
_MAX_IDLE = 32  # per place
_HARMLESS = (b"GET", b"HEAD", b"OPTIONS")  # safe to repeat


class Conversations:
    """The pool. Used on one event loop; callers return each connection with `give_back` or abort
    it."""

    def __init__(self) -> None:
        self._idle: dict[Place, list[Conversation]] = {}
        self._open: dict[Conversation, Place] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    def kept(self, place: Place) -> Conversation | None:
        """Return an idle connection, or None. The peer may close it at any moment."""
        waiting = self._idle.get(place)
        while waiting:
            found = waiting.pop()
            if found.is_open:
                return found
        return None

    async def new(self, place: Place) -> Conversation:
        """Open a connection; raises CallError."""
        made = await dial(place, lambda: Conversation(self._ended))
        self._open[made] = place
        return made

    async def ask(self, place: Place, method: bytes, head: bytes) -> Conversation:
        """Send a request without a body and wait for the head of its answer; raises CallError."""
        found = self.kept(place)
        if found is not None:
            try:
                return await _asked(found, method, head)
            except Lost as error:  # the peer closed it before it read the request
                if method not in _HARMLESS:
                    raise CallError(str(error), retryable=True) from None
        return await self.ask_alone(place, method, head)

    async def ask_alone(self, place: Place, method: bytes, head: bytes) -> Conversation:
        """As `ask`, over a new connection."""
        made = await self.new(place)
        try:
            return await _asked(made, method, head)
        except Lost as error:
            raise CallError(str(error), retryable=True) from None

    def give_back(self, conversation: Conversation) -> None:
        """Return a connection to the pool if it is reusable, else abort it."""
        place = self._open.get(conversation)
        waiting = self._idle.setdefault(place, []) if place is not None else []
        if self._closed or not conversation.is_reusable or len(waiting) >= _MAX_IDLE:
            conversation.abort()
            return
        conversation.idle_since = monotonic()
        waiting.append(conversation)
        if self._sweep is None:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(_SECONDS_IDLE, self._sweep_now)

    def _ended(self, conversation: Conversation) -> None:
        place = self._open.pop(conversation, None)
        waiting = self._idle.get(place) if place is not None else None
        if waiting is not None and conversation in waiting:
            waiting.remove(conversation)

    def _sweep_now(self) -> None:
        self._sweep = None
        since = monotonic() - _SECONDS_IDLE
        for place, waiting in list(self._idle.items()):
            for one in [one for one in waiting if one.idle_since <= since]:
                waiting.remove(one)
                one.close()
            if not waiting:
                del self._idle[place]
        if self._idle:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(_SECONDS_IDLE, self._sweep_now)

    def retire(self) -> None:
        """Close idle connections and pool no more; requests in progress continue."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for waiting in self._idle.values():
            for one in waiting:
                one.close()
        self._idle.clear()

    def close(self) -> None:
        """Close all connections."""
        self.retire()
        for one in list(self._open):
            one.abort()


async def _asked(conversation: Conversation, method: bytes, head: bytes) -> Conversation:
    conversation.ask(method, head)
    try:
        await conversation.answer()
    except BaseException:
        conversation.abort()
        raise
    return conversation
