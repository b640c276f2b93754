"""Subresources of pods on simulated nodes: logs are generated, everything else is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from fairlead.api.answers import Answer
from fairlead.api.parameters import flag, integer
from fairlead.api.request import Request
from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.operations.api import Api, LogOptions, Object
from fairlead.wire.incoming.connections import first_of
from fairlead.wire.incoming.exchange import Header
from fairlead.wire.incoming.transfer import send


def is_simulated(api: Api, node: str) -> bool:
    return api.simulated is not None and api.simulated.has(node)


def refuse_simulated(api: Api, node: str, action: str) -> None:
    """Raises StatusError if the node is simulated."""
    if api.simulated is not None and api.simulated.has(node):
        raise api.simulated.refusal(action)


def simulated_log(
    api: Api, request: Request, pod: Object, container: str, headers: tuple[Header, ...]
) -> Answer:
    """The log of a container on a simulated node. The caller has validated the parameters."""
    assert api.simulated is not None
    simulated, options = api.simulated, _options(request)
    text = simulated.log(pod, container, options)
    if not flag(request, "follow") or options.previous:
        return Answer(200, text, "text/plain", headers)
    return _FollowedLog(text, headers, lambda: simulated.end_of(pod, container))


def _options(request: Request) -> LogOptions:
    since = None
    if seconds := integer(request, "sinceSeconds"):
        since = clock.now() - timedelta(seconds=min(seconds, 10**9))
    elif moment := request.parameter("sinceTime"):
        since = parse_time(moment)
    return LogOptions(
        previous=flag(request, "previous"),
        timestamps=flag(request, "timestamps"),
        since=since,
        tail=integer(request, "tailLines"),
        limit=integer(request, "limitBytes"),
    )


class _FollowedLog(Answer):
    """A log that stays open until its container ends or the client disconnects."""

    __slots__ = ("_end", "_text")

    def __init__(
        self, text: bytes, headers: tuple[Header, ...], end: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(200, b"", "", headers)
        self._text = text
        self._end = end

    async def send(self, request: Request) -> None:
        exchange, disconnected = request.exchange, asyncio.Event()
        exchange.no_deadline()
        exchange.on_disconnect(disconnected.set)
        exchange.start(self.code, self.headers)
        await send(exchange, self._text)
        await first_of(disconnected, self._end())
        if not disconnected.is_set():
            exchange.end()
