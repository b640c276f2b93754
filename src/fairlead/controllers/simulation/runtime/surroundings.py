"""What the processes of a container share besides its files: ports, the network, the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from fairlead.base import clock

TCP, UDP, SCTP = "TCP", "UDP", "SCTP"
# Why a call fails: what resolvers and the kernel would say.
NO_NAME, NO_ROUTE, NO_LISTENER = "no such host", "no route to host", "connection refused"
LATE = "i/o timeout"


# Of the kernel, where a pod does not set them.
SETTINGS = {
    "kernel.shm_rmid_forced": "0",
    "kernel.msgmax": "8192",
    "net.ipv4.ip_local_port_range": "32768\t60999",
    "net.ipv4.tcp_syncookies": "1",
    "net.ipv4.ping_group_range": "1\t0",
    "net.ipv4.ip_unprivileged_port_start": "0",
}


class NetworkError(Exception):
    """A call failed. The text is the reason."""


class Request(NamedTuple):
    """A request to an HTTP server. `target` is the path with the query, `client` the address and
    port that it comes from; names of `headers` are in lower case."""

    method: str = "GET"
    target: str = "/"
    headers: Mapping[str, str] = {}
    client: str = "127.0.0.1:40000"
    is_tls: bool = False
    body: bytes = b""


class Answer(NamedTuple):
    """The answer of an HTTP server; `delay` is in seconds."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Listener:
    """What answers on a port: an HTTP server, or a function from what a client at an address sends
    to what it gets. `greets`: that is sent without waiting."""

    http: Callable[[Request], Answer] | None = None
    text: Callable[[bytes, str], bytes] | None = None
    greets: bool = False


class Network(Protocol):
    """The network as a pod sees it. All raise NetworkError."""

    @property
    def address(self) -> str:
        """Of the pod; empty if it has none."""

    def addresses(self, host: str) -> list[str]:
        """The addresses of a name; of an address itself."""

    def get(self, host: str, port: int, request: Request) -> Answer: ...

    def send(self, protocol: str, host: str, port: int, data: bytes) -> bytes:
        """Send data and return the answer. Without data it only connects."""

    def records(self, kind: str, host: str) -> list[str]:
        """The records of a name; a name with a dot at its end is not looked for elsewhere."""

    def names(self) -> Mapping[str, list[str]]:
        """The lines of the configuration of the resolver, by keyword."""


class NoNetwork:
    """There is no other host."""

    address = ""

    def addresses(self, host: str) -> list[str]:
        raise NetworkError(NO_NAME)

    def get(self, host: str, port: int, request: Request) -> Answer:
        raise NetworkError(NO_ROUTE)

    def send(self, protocol: str, host: str, port: int, data: bytes) -> bytes:
        raise NetworkError(NO_ROUTE)

    def records(self, kind: str, host: str) -> list[str]:
        return []

    def names(self) -> Mapping[str, list[str]]:
        return {}


@dataclass(slots=True)
class Surroundings:
    """`listeners` are by protocol and port. `log` adds a line to the log of the container, `write`
    output of a stream at a time, `stop` ends its first process with an exit code after some
    seconds, `run` runs a command beside a process and returns its exit code and output.
    `is_ending`: it was told to stop. `settings` are those of the kernel. `used` tells what a server
    uses of each resource, if that is known. A process `is_privileged`, and `may_rise` above the
    rights of its user. `has_unknown`: programs were begun of which nobody knows whether they
    listen."""

    network: Network = field(default_factory=NoNetwork)
    listeners: dict[tuple[str, int], Listener] = field(default_factory=dict)
    log: Callable[[str], None] = lambda line: None
    write: Callable[[int, bytes, float], None] = lambda stream, data, moment: None
    stop: Callable[[int, float], None] = lambda code, seconds: None
    run: Callable[[Any, list[str]], tuple[int, str]] = lambda process, words: (127, "")
    now: Callable[[], float] = clock.time
    is_ending: bool = False
    used: Callable[[], Mapping[str, float]] | None = None
    is_privileged: bool = False
    may_rise: bool = True
    has_unknown: bool = False
    settings: Mapping[str, str] = field(default_factory=lambda: dict(SETTINGS))
