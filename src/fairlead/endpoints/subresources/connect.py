"""Reaching into what runs: logs, exec, attach, port forwarding and proxies.

Everything is checked up to the point where a node, a pod or a service would be talked to. Whether
that address answers is tried; the conversation itself is not held.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fairlead.admission.chain import CONNECT
from fairlead.endpoints import writing
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.parameters import flag, integer
from fairlead.endpoints.request import Request
from fairlead.errors import ResourceRef, StatusError, bad_request, invalid, not_found
from fairlead.kinds.causes import Causes
from fairlead.kinds.core.pods.visiting import all_containers
from fairlead.kinds.rules import NON_NEGATIVE, POSITIVE
from fairlead.schema.times import TimeError, parse_time

NODE_PORT = 10250
ADDRESS_KINDS = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
SECONDS_TO_CONNECT = 3.0
_PORT = re.compile(r"\A[0-9]{1,5}\Z", re.ASCII)
_OPTIONS = {"exec": "PodExecOptions", "attach": "PodAttachOptions"}


class NoContent(Answer):
    """204: there is nothing to read."""

    def __init__(self) -> None:
        super().__init__(204, b"")

    async def send(self, request: Request) -> None:
        request.exchange.respond(204, [(b"cache-control", b"no-cache, private")], b"")


def _pod(api: Api, request: Request, name: str = "") -> Object:
    name = name or request.target.name
    pod = api.lookup("core/v1/pods", request.target.namespace, name)
    if pod is None:
        raise not_found(ResourceRef("", "pods", name))
    return pod


def container_of(pod: Object, wanted: str) -> str:
    """The container that is meant: the named one, or the only one."""
    name, containers = pod["metadata"]["name"], pod["spec"]["containers"] or []
    every = [container["name"] for container in all_containers(pod["spec"])]
    if wanted:
        if wanted not in every:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(containers) == 1:
        only: str = containers[0]["name"]
        return only
    missing = f"a container name must be specified for pod {name}"
    if not containers:
        raise bad_request(missing)
    raise bad_request(f"{missing}, choose one of: [{' '.join(every)}]")


@dataclass(slots=True)
class Place:
    """An address to talk to."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def node_place(api: Api, name: str) -> Place:
    """Where the agent of a node listens."""
    node = api.lookup("core/v1/nodes", "", name)
    if node is None:
        raise not_found(ResourceRef("", "nodes", name))
    addresses = node["status"].get("addresses") or []
    for kind in ADDRESS_KINDS:
        for address in addresses:
            if address["type"] == kind:
                endpoint = node["status"].get("daemonEndpoints", {}).get("kubeletEndpoint", {})
                return Place(address["address"], endpoint.get("Port") or NODE_PORT)
    known = " ".join(f"{{{address['type']} {address['address']}}}" for address in addresses)
    raise StatusError(500, "", f"no preferred addresses found; known addresses: [{known}]")


async def _why_unreachable(place: Place) -> str:
    """What keeps an address from answering, or nothing if it does."""
    try:
        opened = asyncio.open_connection(place.host, place.port)
        _, writer = await asyncio.wait_for(opened, SECONDS_TO_CONNECT)
    except TimeoutError:
        return f"dial tcp {place}: i/o timeout"
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return f"dial tcp {place}: connect: {reason}"
    writer.close()
    return ""


def _no_conversation(what: str) -> StatusError:
    return StatusError(501, "NotImplemented", f"{what} is not supported by this server")


async def read_log(api: Api, request: Request) -> Answer:
    _check_log_options(request)
    pod = _pod(api, request)
    container = container_of(pod, request.parameter("container"))
    node = pod["spec"].get("nodeName")
    if not node:
        return NoContent()
    place = node_place(api, node)
    wrong = await _why_unreachable(place)
    if wrong:
        metadata = pod["metadata"]
        path = f"/containerLogs/{metadata['namespace']}/{metadata['name']}/{container}"
        raise StatusError(500, "", f'Get "https://{place}{path}": {wrong}')
    raise _no_conversation("reading logs from nodes")


def _check_log_options(request: Request) -> None:
    causes = Causes()
    tail, limit = integer(request, "tailLines"), integer(request, "limitBytes")
    since, moment = integer(request, "sinceSeconds"), request.parameter("sinceTime")
    if moment:
        try:
            parse_time(moment)
        except TimeError as error:
            raise bad_request(str(error)) from None
    if tail is not None and tail < 0:
        causes.invalid("tailLines", tail, NON_NEGATIVE)
    if limit is not None and limit < 1:
        causes.invalid("limitBytes", limit, POSITIVE)
    if since is not None and moment:
        detail = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.forbidden("[]", detail)
    elif since is not None and since < 1:
        causes.invalid("sinceSeconds", since, POSITIVE)
    if causes:
        raise invalid(ResourceRef("", "PodLogOptions", request.target.name), causes)


async def _admit(api: Api, request: Request, kind: str, options: Object) -> None:
    """Let admission judge a connection; what it sees are the options."""
    value = {"kind": kind, "apiVersion": "v1", **options}
    context = api.context(request)
    attributes = writing.attributes(api, request, CONNECT, value, None, context)
    await api.admission.admit(attributes)
    await api.admission.validate(attributes)


def _stream_options(request: Request) -> Object:
    options: Object = {
        name: True for name in ("stdin", "stdout", "stderr", "tty") if flag(request, name)
    }
    if request.parameter("container"):
        options["container"] = request.parameter("container")
    if request.query.get("command"):
        options["command"] = request.query["command"]
    return options


async def stream(api: Api, request: Request) -> Answer:
    """exec and attach."""
    what = request.target.subresource
    await _admit(api, request, _OPTIONS[what], _stream_options(request))
    pod = _pod(api, request)
    container_of(pod, request.parameter("container"))
    return await _to_node(api, request, pod)


async def forward_port(api: Api, request: Request) -> Answer:
    ports = _ports(request)
    await _admit(api, request, "PodPortForwardOptions", {"ports": ports} if ports else {})
    return await _to_node(api, request, _pod(api, request))


def _ports(request: Request) -> list[int]:
    ports = []
    for text in request.query.get("ports", []):
        if not _PORT.match(text):
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        ports.append(int(text))
    return ports


async def _to_node(api: Api, request: Request, pod: Object) -> Answer:
    node = pod["spec"].get("nodeName")
    if not node:
        raise bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
    place = node_place(api, node)
    if not request.header(b"upgrade"):
        raise bad_request("Upgrade request required")
    wrong = await _why_unreachable(place)
    if wrong:
        message = f"error dialing backend: {wrong}"
        raise StatusError(500, "", message)
    raise _no_conversation("streaming to nodes")


@dataclass(slots=True)
class ProxyName:
    """What a proxy path names: `[scheme:]name[:port]`."""

    scheme: str
    name: str
    port: str


def proxy_name(text: str, what: str) -> ProxyName:
    parts = text.split(":")
    match parts:
        case [name]:
            found = ProxyName("", name, "")
        case [name, port]:
            found = ProxyName("", name, port)
        case [scheme, name, port] if scheme in ("", "http", "https"):
            found = ProxyName(scheme, name, port)
        case _:
            raise bad_request(f'invalid {what} request "{text}"')
    if not found.name:
        raise bad_request(f'invalid {what} request "{text}"')
    return found


def _check_address(address: str) -> None:
    """Proxies reach ordinary addresses only, not the server's own surroundings."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        raise bad_request("address not allowed") from None
    special = found.is_loopback or found.is_link_local or found.is_multicast
    if special or found.is_unspecified:
        raise bad_request("address not allowed")


async def proxy_to_pod(api: Api, request: Request) -> Answer:
    await _admit_proxy(api, request, "PodProxyOptions")
    named = proxy_name(request.target.name, "pod")
    pod = _pod(api, request, named.name)
    address = pod["status"].get("podIP", "")
    _check_address(address)
    return await _to_address(address, named.port or _first_port(pod), named.scheme)


def _first_port(pod: Object) -> str:
    for container in pod["spec"]["containers"] or ():
        if container.get("ports"):
            return str(container["ports"][0]["containerPort"])
    return ""


async def proxy_to_node(api: Api, request: Request) -> Answer:
    await _admit_proxy(api, request, "NodeProxyOptions")
    named = proxy_name(request.target.name, "node")
    place = node_place(api, named.name)
    if place.host.replace(".", "").isdigit() or ":" in place.host:
        _check_address(place.host)
    return await _to_address(place.host, named.port or str(place.port), "https")


async def proxy_to_service(api: Api, request: Request) -> Answer:
    await _admit_proxy(api, request, "ServiceProxyOptions")
    named = proxy_name(request.target.name, "service")
    service = api.lookup("core/v1/services", request.target.namespace, named.name)
    if service is None:
        raise not_found(ResourceRef("", "services", named.name))
    port_name = _service_port_name(service, named)
    endpoints = api.lookup("core/v1/endpoints", request.target.namespace, named.name)
    if endpoints is None:
        raise not_found(ResourceRef("", "endpoints", named.name))
    subsets = endpoints.get("subsets") or []
    if not subsets:
        raise _unavailable(f'no endpoints available for service "{named.name}"')
    for subset in subsets:
        ports = [p["port"] for p in subset.get("ports") or () if p.get("name", "") == port_name]
        for address in subset.get("addresses") or ():
            if ports and _is_pod_address(api, request.target.namespace, address):
                return await _to_address(address["ip"], str(ports[0]), named.scheme)
    raise _unavailable(f'no endpoints available for service "{request.target.name}"')


def _service_port_name(service: Object, named: ProxyName) -> str:
    """Ports are asked for by number or by name; endpoints know them by name."""
    if not named.port.isdigit():
        return named.port
    for port in service["spec"].get("ports") or ():
        if port["port"] == int(named.port):
            name: str = port.get("name", "")
            return name
    raise _unavailable(f'no service port {named.port} found for service "{named.name}"')


def _is_pod_address(api: Api, namespace: str, address: Object) -> bool:
    """Only addresses of the namespace's own pods are reached through a service."""
    reference = address.get("targetRef") or {}
    if reference.get("kind") != "Pod" or reference.get("namespace") != namespace:
        return False
    pod = api.lookup("core/v1/pods", namespace, reference.get("name", ""))
    if pod is None:
        return False
    addresses = [found.get("ip") for found in pod["status"].get("podIPs") or ()]
    return address["ip"] in addresses


def _unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)


async def _admit_proxy(api: Api, request: Request, kind: str) -> None:
    path = request.target.rest or request.parameter("path")
    await _admit(api, request, kind, {"path": f"/{path}"} if path else {})


async def _to_address(host: str, port: str, scheme: str) -> Answer:
    default = "443" if scheme == "https" else "80"
    number = port or default
    if not _PORT.match(number):
        text = f"dial tcp: lookup tcp/{number}: Servname not supported for ai_socktype"
        raise _unavailable(f"error trying to reach service: {text}")
    wrong = await _why_unreachable(Place(host, int(number)))
    if wrong:
        raise _unavailable(f"error trying to reach service: {wrong}")
    raise _no_conversation("proxying")


Handler = Callable[[Api, Request], Awaitable[Answer]]
_PROXIES: dict[str, Handler] = {
    "pods": proxy_to_pod,
    "nodes": proxy_to_node,
    "services": proxy_to_service,
}
_PROXY_VERBS = ("create", "delete", "get", "patch", "update")

HANDLERS: dict[tuple[str, str], Handler] = {
    ("core/v1/pods/log", "get"): read_log,
    **{
        (f"core/v1/pods/{what}", verb): handler
        for what, handler in (("exec", stream), ("attach", stream), ("portforward", forward_port))
        for verb in ("create", "get")
    },
    **{
        (f"core/v1/{name}/proxy", verb): handler
        for name, handler in _PROXIES.items()
        for verb in _PROXY_VERBS
    },
}
