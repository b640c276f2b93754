"""Subresources of pods on simulated nodes: generated logs, and connections for proxies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import TypeVar

from fairlead.api.answers import Answer
from fairlead.api.parameters import flag, integer
from fairlead.api.relay.headers import requested_protocol
from fairlead.api.request import Request
from fairlead.api.subresources.simulated_logs import FollowedLog, LogMessages
from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.operations.api import Api, LogOptions, Object
from fairlead.wire.incoming.exchange import Header
from fairlead.wire.outgoing.cluster import ClusterDialer, ClusterTarget
from fairlead.wire.outgoing.connection import Connection
from fairlead.wire.outgoing.pool import Pool
from fairlead.wire.outgoing.request import Route
from fairlead.wire.outgoing.tls import unchecked

T = TypeVar("T")
Connect = Callable[[Route, Callable[[], Connection]], Awaitable[Connection]]


def is_simulated(api: Api, node: str) -> bool:
    return api.simulated is not None and api.simulated.has(node)


class SimulatedDialer:
    """Stands for the ClusterDialer of a request to simulated pods and nodes. `connect` makes the
    connections, which are not kept."""

    def __init__(self, connect: Connect) -> None:
        self.pool = Pool(dial=lambda route, protocol, _seconds: connect(route, protocol))
        self.pool.retire()

    async def call_first_reachable(
        self, target: ClusterTarget, call: Callable[[Route], Awaitable[T]]
    ) -> T:
        """Run a call; raises CallError."""
        tls = unchecked() if target.scheme == "https" else None
        return await call(Route(target.host, target.port, target.host, tls))


Dialer = ClusterDialer | SimulatedDialer


def dialer_for_pod(api: Api, pod: Object) -> Dialer:
    """What connects to the ports of a pod."""
    if api.simulated is None or not api.simulated.has(pod["spec"].get("nodeName", "")):
        return api.reach
    return SimulatedDialer(partial(api.simulated.connect, pod))


def dialer_for_node(api: Api, node: str) -> Dialer:
    """What connects to the ports of a node."""
    if api.simulated is None or not api.simulated.has(node):
        return api.reach
    return SimulatedDialer(partial(api.simulated.connect_to_node, node))


def simulated_log(
    api: Api, request: Request, pod: Object, container: str, headers: tuple[Header, ...]
) -> Answer:
    """The log of a container on a simulated node. The caller has validated the parameters."""
    assert api.simulated is not None
    options, follows = _options(request), flag(request, "follow")
    later: AsyncIterator[bytes] | None = None
    if follows and not options.previous:
        text, later = api.simulated.follow_log(pod, container, options)
    else:
        text = api.simulated.log(pod, container, options)
    if requested_protocol(request) == b"websocket":
        if not request.header(b"sec-websocket-key"):
            return Answer(400, b"mismatch challenge/response", "text/plain")
        return LogMessages(text, later)
    if later is None:
        return Answer(200, text, "text/plain", headers)
    return FollowedLog(text, later, headers)


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
