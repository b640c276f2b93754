"""What answers on the ports of simulated containers, by their scripts.

A port without a script answers HTTP requests with a short text if a container declares it; any
other refuses connections. A connection is a pair of sockets in this process: one end for the
client, one for the answering side, so that clients need not know what is behind it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from fairlead.base import quotes
from fairlead.base.digits import whole_number
from fairlead.base.logs import Logger
from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.agent.containers import FAMILIES, state_of
from fairlead.controllers.simulation.http_answers import (
    Reply,
    scripted_reply,
    serve_http,
)
from fairlead.controllers.simulation.runtime.computing import ComputingTime, Pace
from fairlead.controllers.simulation.runtime.images import own_port
from fairlead.controllers.simulation.runtime.lifetimes import answers_itself
from fairlead.controllers.simulation.runtime.surroundings import TCP
from fairlead.controllers.simulation.runtime.surroundings import Listener as Server
from fairlead.controllers.simulation.script import Script, ScriptOf
from fairlead.controllers.simulation.server_connections import converse_with
from fairlead.wire.byte_streams import PIECE, ByteStream, copy, join, open_stream
from fairlead.wire.incoming.parser import Head
from fairlead.wire.outgoing.addresses import AddressPolicy, NotAllowed
from fairlead.wire.outgoing.cluster import ClusterDialer, ClusterTarget
from fairlead.wire.outgoing.connection import Connection
from fairlead.wire.outgoing.dialer import dial, dial_over
from fairlead.wire.outgoing.request import Route, encode_head
from fairlead.wire.outgoing.response import CallError

logger = Logger("fairlead.controllers.simulation")

MAX_CONNECTIONS, MAX_CONNECTIONS_TO_ONE = 1000, 250  # pod or node
_SOCKET_BYTES = 64 * 1024  # what the system buffers of a connection, in a direction
_SECONDS_TO_PART = 5.0  # for a client that sends after everything was said
_LOOPBACK = tuple(ipaddress.ip_network(text) for text in ("127.0.0.0/8", "::1/128"))

K = TypeVar("K")
T = TypeVar("T")
P = TypeVar("P", bound=asyncio.Protocol)
Conversation = Callable[[ByteStream], Awaitable[None]]  # one side of a connection
EndOf = Callable[[Object, str], Awaitable[None]]  # waits until a container of a pod has ended


class Owner(NamedTuple):
    """The pod, by its uid, or the node, by its name, that a connection leads to. Nodes have no
    namespace."""

    namespace: str
    identity: str


class Listener(NamedTuple):
    """A container that listens on a port, and the entry of its script; or its own server."""

    container: str
    entry: Object
    server: Server | None = None


# The server on a port of a running container, by the pod, the container, the protocol and the port.
ServerOf = Callable[[Object, Object, str, int], Server | None]


def listener(
    pod: Object, port: int, script_of: ScriptOf, server_of: ServerOf, protocol: str = TCP
) -> Listener | None:
    """What listens on a port of a pod."""
    running = _running_containers(pod)
    for container in running:
        entry = script_of(pod, container["name"]).ports.get(port)
        if entry is not None and protocol == TCP:
            return Listener(container["name"], entry)
    for container in running:
        server = server_of(pod, container, protocol, port)
        if server is not None:
            return Listener(container["name"], {}, server)
    for container in running:
        if protocol != TCP or answers_itself(container):
            continue
        if port == own_port(container) or any(
            declared["containerPort"] == port and declared.get("protocol", "TCP") == "TCP"
            for declared in container.get("ports") or ()
        ):
            metadata = pod["metadata"]
            text = f"port {port} of pod {metadata['namespace']}/{metadata['name']}, simulated\n"
            return Listener(container["name"], {"http": [{"body": text}]})
    return None


def _running_containers(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    running = {
        each["name"]
        for _, family in FAMILIES
        for each in status.get(family) or ()
        if "running" in state_of(each)
    }
    return [
        container
        for family, _ in FAMILIES
        for container in pod["spec"].get(family) or ()
        if container["name"] in running
    ]


class Ports:
    """Connections to the ports of pods. `end_of` waits for the end of a container."""

    def __init__(
        self, script_of: ScriptOf, server_of: ServerOf, end_of: EndOf, computing: ComputingTime
    ) -> None:
        self.computing = computing
        self._script_of = script_of
        self._server_of = server_of
        self._end_of = end_of
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: Counter[Owner] = Counter()
        self._open_of: Counter[str] = Counter()  # connections by namespace

    async def connect(self, pod: Object, route: Route, protocol: Callable[[], P]) -> P:
        """Connect a protocol to the port of a route; raises CallError. TLS is spoken with the
        address that a port is forwarded to; all others answer HTTPS like HTTP."""
        found = listener(pod, route.port, self._script_of, self._server_of)
        if found is None:
            raise refused(route)
        if "forward" not in found.entry:
            route = route._replace(tls=None)
        ended = partial(self._end_of, pod, found.container)
        pace = Pace(self.computing, pod["metadata"]["namespace"])
        begin = partial(_begin, found, pace)
        owner = Owner(pod["metadata"]["namespace"], pod["metadata"]["uid"])
        return await self.converse(owner, begin, ended, route, protocol)

    async def forwarded_to(self, pod: Object, route: Route) -> tuple[str, int]:
        """The numeric address and port that the port of a route is forwarded to. Raises CallError;
        no other port can have the certificate of a service."""
        found = listener(pod, route.port, self._script_of, self._server_of)
        if found is None or "forward" not in found.entry:
            raise refused(route)
        target = forward_target(found.entry["forward"])
        try:
            [address, *_] = await _dialer().addresses(target)
        except NotAllowed:
            raise _not_allowed(found.entry["forward"]) from None
        return address, target.port

    async def converse(
        self,
        owner: Owner,
        begin: Callable[[], Awaitable[Conversation]],
        ended: Callable[[], Awaitable[object]],
        route: Route,
        protocol: Callable[[], P],
    ) -> P:
        """Connect a protocol to a conversation, until that ends or `ended` returns. Raises
        CallError."""
        if not self._has_room(owner):
            raise CallError(f"dial tcp {route}: too many connections", retryable=True)
        self._open[owner] += 1
        self._open_of[owner.namespace] += 1
        try:
            near, far = _socket_pair(route)
            try:
                conversation = await begin()
            except BaseException:
                near.close()
                far.close()
                raise
        except BaseException:
            self._forget(owner)
            raise
        task = asyncio.create_task(_talk(far, conversation, ended))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._forget(owner))
        try:
            return await dial_over(near, route, protocol)
        except BaseException:
            near.close()
            raise

    def _has_room(self, owner: Owner) -> bool:
        """A namespace gets half of what the others leave, so that there is always room for more."""
        own = self._open_of[owner.namespace]
        left = MAX_CONNECTIONS - (self._open_of.total() - own)
        return self._open[owner] < MAX_CONNECTIONS_TO_ONE and own < left // 2

    def _forget(self, owner: Owner) -> None:
        _take_one(self._open, owner)
        _take_one(self._open_of, owner.namespace)


def _take_one(counter: Counter[K], key: K) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


def refused(route: Route) -> CallError:
    """The error for a port on which nothing listens."""
    reason = f"dial tcp {route}: connect: connection refused"
    return CallError(reason, retryable=True, unreached=True)


def _socket_pair(route: Route) -> tuple[socket.socket, socket.socket]:
    try:
        pair = socket.socketpair()
    except OSError as error:
        raise CallError(f"dial tcp {route}: {error.strerror}", retryable=True) from None
    for end in pair:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)
        end.setblocking(False)
    return pair


async def _talk(
    sock: socket.socket, conversation: Conversation, ended: Callable[[], Awaitable[object]]
) -> None:
    """Hold a conversation over a socket, at most until `ended` returns."""
    loop = asyncio.get_running_loop()
    stream = await open_stream(lambda protocol: loop.create_connection(protocol, sock=sock))
    tasks = [asyncio.ensure_future(_finish(stream, conversation)), asyncio.ensure_future(ended())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        stream.writer.close()


async def _finish(stream: ByteStream, conversation: Conversation) -> None:
    """Hold a conversation and let the client read all of it."""
    try:
        await conversation(stream)
        stream.end()
        async with asyncio.timeout(_SECONDS_TO_PART):
            while await stream.reader.read(PIECE):
                pass
    except* OSError:
        pass  # the client is gone, or does not leave
    except* Exception:
        logger.exception("cannot answer on a port of a simulated container")


async def _begin(found: Listener, pace: Pace) -> Conversation:
    """The conversation on a port. Raises CallError if it cannot begin."""
    entry, server = found.entry, found.server
    if server is not None:
        return partial(converse_with, server, pace)
    if "http" in entry:
        return partial(_serve, entry["http"], pace)
    for kind, make in _KINDS.items():
        if kind in entry:
            return await make(entry[kind])
    return partial(_say, b"")


async def _saying(text: str) -> Conversation:
    return partial(_say, text.encode())


async def _say(text: bytes, stream: ByteStream) -> None:
    await stream.send(text)


async def _echoing(_options: Object) -> Conversation:
    return _echo


async def _echo(stream: ByteStream) -> None:
    await copy(stream, stream)


async def _serve(rules: list[Object], pace: Pace, stream: ByteStream) -> None:
    async def respond(head: Head) -> Reply:
        return scripted_reply(rules, head.method, head.path)

    await serve_http(stream, respond, pace)


async def _forwarding(address: str) -> Conversation:
    return partial(_join, await _dial(address))


async def _join(other: ByteStream, stream: ByteStream) -> None:
    try:
        await join(stream, other)
    finally:
        other.abort()


async def _dial(address: str) -> ByteStream:
    """Connect to the address of a `forward` entry. Raises CallError."""
    dialer, target = _dialer(), forward_target(address)
    try:
        return await open_stream(
            lambda protocol: dialer.call_first_reachable(
                target, lambda route: dial(route, protocol)
            )
        )
    except NotAllowed:
        raise _not_allowed(address) from None


_KINDS: Mapping[str, Callable[..., Awaitable[Conversation]]] = {
    "text": _saying,
    "echo": _echoing,
    "forward": _forwarding,
}


def forward_target(address: str, scheme: str = "http") -> ClusterTarget:
    """The target of a `forward` entry. Raises CallError."""
    host, _, port = address.rpartition(":")
    number = whole_number(port)
    if not host or number is None or not 0 < number < 65536:
        raise CallError(f"address {address}: it is not a host and a port")
    return ClusterTarget(host.strip("[]"), number, scheme)


def _not_allowed(address: str) -> CallError:
    return CallError(f"dial tcp {address}: the address is not allowed")


def _dialer() -> ClusterDialer:
    """Connects where proxies may connect to, and to this machine, where tests listen."""
    return ClusterDialer(AddressPolicy(_LOOPBACK))


# Probes

LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


async def get(
    script: Script,
    port: int,
    scheme: str,
    path: str,
    headers: Sequence[tuple[str, str]],
    timeout: float,
) -> Reply:
    """The answer that an HTTP probe of a running container gets; 200 if its script says nothing of
    the port. Raises CallError. Scripted delays are not waited for; an address that the port is
    forwarded to is called, for at most `timeout` seconds, and only its status is told."""
    entry = script.ports.get(port)
    if entry is None:
        return Reply()
    if "http" in entry:
        return scripted_reply(entry["http"], "GET", path)
    if "forward" not in entry:
        raise CallError("malformed HTTP response")
    target = forward_target(entry["forward"], scheme)
    for name, value in headers:
        if not f"{name}{value}".isprintable():
            raise CallError(f"net/http: invalid header field value for {quotes.quote(name)}")
    fields = {name.lower().encode(): value.encode() for name, value in headers}
    return Reply(await _within(timeout, _status_of(target, path.encode() or b"/", fields)))


async def _status_of(target: ClusterTarget, path: bytes, fields: Mapping[bytes, bytes]) -> int:
    dialer = _dialer()

    async def call(route: Route) -> Connection:
        head = encode_head("GET", path, {b"host": str(route).encode(), **fields}.items())
        return await dialer.pool.request(route, b"GET", head)

    try:
        return (await dialer.call_first_reachable(target, call)).status
    except NotAllowed:
        raise _not_allowed(str(target)) from None
    finally:
        await dialer.close()


async def check_listening(script: Script, port: int, timeout: float) -> None:
    """A TCP probe of a running container, for at most so many seconds. Raises CallError."""
    entry = script.ports.get(port)
    if entry is not None and "forward" in entry:
        (await _within(timeout, _dial(entry["forward"]))).abort()


async def _within(seconds: float, call: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(seconds):
            return await call
    except TimeoutError:
        raise CallError(LATE) from None
