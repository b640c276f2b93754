"""The network between simulated containers: finds what answers at an address, through services as a
node's proxy does, and asks it. Nothing is sent; the answer is computed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import count
from time import thread_time
from typing import NamedTuple, TypeVar

from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.address_index import AddressIndex
from fairlead.controllers.simulation.http_answers import scripted_reply
from fairlead.controllers.simulation.names import SLICES, Names, slices_of
from fairlead.controllers.simulation.runtime.network_programs import head_of
from fairlead.controllers.simulation.runtime.surroundings import (
    LATE,
    NO_LISTENER,
    NO_ROUTE,
    TCP,
    Answer,
    Listener,
    NetworkError,
    Request,
)
from fairlead.controllers.simulation.simulated_nodes import PODS
from fairlead.operations.api import Api
from fairlead.resources.core.pods import FINISHED
from fairlead.resources.core.pods.container_lists import all_containers
from fairlead.storage.selection import Requirement, Selection

_LOOPBACK = ("127.0.0.1", "::1")
_MAX_DEPTH = 5  # calls that answers of other calls make
_MAX_SECONDS = 0.1  # of the processor, which takes the turns of others; a call takes 0.4 ms
_FIRST_PORT, _CLIENT_PORTS = 32768, 28000
_LOCAL = "Local"

A = TypeVar("A")
B = TypeVar("B")
ListenerOf = Callable[[Object, str, int], Listener | None]  # by pod, protocol and port


class _Endpoint(NamedTuple):
    address: str
    port: int
    node: str


class Calls:
    """Calls that cause others, which all run at once: their depth is limited, and the time that
    those of a namespace take until the event loop goes on."""

    def __init__(self, seconds: float = _MAX_SECONDS) -> None:
        self._seconds = seconds
        self._depth = 0
        self._caller = ""  # the namespace of the outermost call
        self._began = 0.0
        self._spent: dict[str, float] = {}

    @contextmanager
    def call(self, namespace: str) -> Iterator[None]:
        """Raises NetworkError if there were too many."""
        if self._depth == 0:
            self._caller, self._began = namespace, thread_time()
        spent = self._spent.get(self._caller, 0.0) + thread_time() - self._began
        if self._depth >= _MAX_DEPTH or spent > self._seconds:
            raise NetworkError(LATE)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._keep(thread_time() - self._began)

    def _keep(self, seconds: float) -> None:
        if not self._spent:
            asyncio.get_running_loop().call_soon(self._spent.clear)
        self._spent[self._caller] = self._spent.get(self._caller, 0.0) + seconds


class ClusterNetwork:
    """Calls between the pods of a server. `listener_of` tells what listens on a port of a pod."""

    def __init__(self, api: Api, index: AddressIndex, listener_of: ListenerOf) -> None:
        self.api = api
        self.index = index
        self.listener_of = listener_of
        self._pods = api.collection(api.resources.named(PODS))
        self._slices = api.collection(api.resources.named(SLICES))
        self._turns = count()
        self.calls = Calls()

    def client_port(self) -> int:
        return _FIRST_PORT + next(self._turns) % _CLIENT_PORTS

    def listener_at(self, caller: Object, protocol: str, host: str, port: int) -> Listener:
        """What listens at an address, as seen from a pod. Raises NetworkError."""
        if host in _LOOPBACK:
            found = self.listener_of(caller, protocol, port)
            if found is None and caller["spec"].get("hostNetwork"):
                node = caller["status"].get("hostIP", "")
                found = self._on_host(node, protocol, port, host)
            return _found(found)
        service = self._service_at(protocol, host, port)
        if service is not None:
            endpoint = self._chosen(caller, *service)
            host, port = endpoint.address, endpoint.port
        pods = list(self._pods_at(host))
        if not pods and not self.index.nodes_at(host):
            raise NetworkError(LATE if service is None else NO_ROUTE)
        for pod in pods:
            listener = self.listener_of(pod, protocol, port)
            if listener is not None:
                return listener
        return _found(self._on_host(host, protocol, port, host))

    def _pods_at(self, address: str) -> Iterator[Object]:
        """The pods that have an address; several if it is that of a node."""
        for version in self._pods.current("", _with("status.podIP", address)):
            if version.fields.get("status.phase") not in FINISHED:
                yield version.object()

    def _on_host(self, node: str, protocol: str, port: int, address: str) -> Listener | None:
        """What listens at an address of a node, through ports of the host that containers have."""
        for name in self.index.nodes_at(node):
            for version in self._pods.current("", _with("spec.nodeName", name)):
                if version.fields.get("status.phase") in FINISHED:
                    continue
                pod = version.object()
                for container in all_containers(pod["spec"]):
                    for each in container.get("ports") or ():
                        bound = each.get("hostIP") or "0.0.0.0"
                        if (
                            each.get("hostPort") == port
                            and each.get("protocol", TCP) == protocol
                            and bound in ("0.0.0.0", "::", address)
                        ):
                            return self.listener_of(pod, protocol, each["containerPort"])
        return None

    def _service_at(self, protocol: str, host: str, port: int) -> tuple[Object, Object, str] | None:
        """The service and its port at an address, and the node whose port it is."""
        for service in self.index.services_at(host):
            for each in service["spec"].get("ports") or ():
                if each.get("protocol", TCP) == protocol and each["port"] == port:
                    return service, each, ""
        nodes = self.index.nodes_at(host)
        for service in self.index.services_at(port) if nodes else ():
            for each in service["spec"].get("ports") or ():
                if each.get("protocol", TCP) == protocol and each.get("nodePort") == port:
                    return service, each, nodes[0]
        return None

    def _chosen(self, caller: Object, service: Object, port: Object, node: str) -> _Endpoint:
        """An endpoint of a service: those that are ready come first. Raises NetworkError."""
        spec = service["spec"]
        local = node if node and spec.get("externalTrafficPolicy") == _LOCAL else ""
        if not node and spec.get("internalTrafficPolicy") == _LOCAL:
            local = caller["spec"].get("nodeName", "")
        ready: list[_Endpoint] = []
        ending: list[_Endpoint] = []
        versions = self._slices.current(service["metadata"]["namespace"])
        for piece in slices_of(versions, service):
            number = _port_of(piece, port)
            if number is None:
                continue
            for endpoint in piece.get("endpoints") or ():
                if local and endpoint.get("nodeName") != local:
                    continue
                conditions = endpoint.get("conditions") or {}
                to = [
                    _Endpoint(address, number, endpoint.get("nodeName") or "")
                    for address in endpoint["addresses"]
                ]
                if conditions.get("ready") is not False:
                    ready += to
                elif conditions.get("serving") and conditions.get("terminating"):
                    ending += to
        usable = sorted(ready or ending)
        if not usable:
            raise NetworkError(LATE if local else NO_LISTENER)
        if spec.get("sessionAffinity") == "ClientIP":
            seed = f"{service['metadata']['uid']}/{caller['status'].get('podIP')}"
            return usable[int.from_bytes(sha256(seed.encode()).digest()[:4]) % len(usable)]
        return usable[next(self._turns) % len(usable)]


def _with(field: str, value: str) -> Selection:
    return Selection(fields=(Requirement(field, "in", frozenset([value])),))


def _port_of(piece: Object, port: Object) -> int | None:
    """The number in a slice of a service's port."""
    for each in piece.get("ports") or ():
        if (each.get("name") or "") == (port.get("name") or ""):
            number: int | None = each.get("port")
            return number
    return None


def _spoken(answer: Callable[[Request], Answer], client: str, data: bytes) -> bytes:
    """What a server of HTTP sends to who writes to it without knowing HTTP."""
    words = data.partition(b"\n")[0].decode(errors="replace").split()
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        return head_of(Answer(400)) + b"400 Bad Request"
    told = answer(Request(words[0], words[1], client=client))
    return head_of(told) + told.body


def _found(listener: Listener | None) -> Listener:
    if listener is None:
        raise NetworkError(NO_LISTENER)
    return listener


class PodNetwork:
    """The network as a pod sees it."""

    def __init__(self, cluster: ClusterNetwork, pod: Object, current: Callable[[], Object]) -> None:
        """`current` returns the pod as it is now."""
        self._cluster = cluster
        self._current = current
        self._namespace: str = pod["metadata"]["namespace"]
        self._names = Names(cluster.api, cluster.index, pod)

    @property
    def address(self) -> str:
        address: str = self._current()["status"].get("podIP") or ""
        return address

    def addresses(self, host: str) -> list[str]:
        return self._names.addresses(host)

    def records(self, kind: str, host: str) -> list[str]:
        return self._names.records(kind, host)

    def names(self) -> Mapping[str, list[str]]:
        return self._names.configuration()

    def get(self, host: str, port: int, request: Request) -> Answer:
        listener = self._listener(TCP, host, port)
        if listener.http is None:
            raise NetworkError("malformed HTTP response")
        return self._within(listener.http, request._replace(client=self._client()))

    def send(self, protocol: str, host: str, port: int, data: bytes) -> bytes:
        listener = self._listener(protocol, host, port)
        reply, client = listener.text, self._client()
        if listener.http is not None and data:
            return self._within(partial(_spoken, listener.http, client), data)
        if reply is not None and (data or listener.greets):
            return self._within(partial(reply, data), client)
        return b""

    def _listener(self, protocol: str, host: str, port: int) -> Listener:
        """What listens at an address. Raises NetworkError."""
        address = self.addresses(host)[0]
        at = partial(self._cluster.listener_at, self._current(), protocol, address)
        return self._within(at, port)  # the server there may call others while it starts

    def _client(self) -> str:
        address = self.address
        shown = f"[{address}]" if ":" in address else address
        return f"{shown}:{self._cluster.client_port()}"

    def _within(self, answer: Callable[[A], B], asked: A) -> B:
        """Answers may call others in turn. Raises NetworkError."""
        with self._cluster.calls.call(self._namespace):
            return answer(asked)


def scripted_listener(entry: Object) -> Listener | None:
    """What a script says of a port, as far as it can be computed."""
    if "http" in entry:
        rules = entry["http"]

        def answer(request: Request) -> Answer:
            reply = scripted_reply(rules, request.method, request.target)
            named = {name.decode(): text.decode("latin-1") for name, text in reply.headers}
            return Answer(reply.status, reply.body, named, reply.delay)

        return Listener(http=answer)
    if "text" in entry:
        text = entry["text"].encode()
        return Listener(text=lambda data, client: text, greets=True)
    if "echo" in entry:
        return Listener(text=lambda data, client: data)
    return None
