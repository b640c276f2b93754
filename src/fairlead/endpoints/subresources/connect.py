"""Reaching into what runs: logs, exec, attach, port forwarding and proxies."""

from __future__ import annotations

import ipaddress
import random
import re
from urllib.parse import quote, urlencode

from fairlead.admission.plugin import CONNECT
from fairlead.endpoints.answers import Answer, Verb
from fairlead.endpoints.parameters import flag, integer
from fairlead.endpoints.relaying.answers import Relayed
from fairlead.endpoints.relaying.headers import wanted_protocol
from fairlead.endpoints.relaying.passing import Passed
from fairlead.endpoints.request import Request
from fairlead.endpoints.subresources.relaying import (
    UNRESERVED,
    not_allowed,
    pass_to,
    relay,
    unavailable,
)
from fairlead.endpoints.subresources.simulated import (
    is_simulated,
    refuse_simulated,
    simulated_log,
)
from fairlead.errors import ResourceRef, StatusError, bad_request, internal, invalid, not_found
from fairlead.kinds.absent import absent
from fairlead.kinds.causes import Causes
from fairlead.kinds.core.pods.visiting import all_containers
from fairlead.kinds.rules import NON_NEGATIVE, POSITIVE
from fairlead.operations import preparing
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.outgoing.addresses import NotAllowed
from fairlead.outgoing.client import CallError
from fairlead.outgoing.reaching import Place
from fairlead.records import dataclass
from fairlead.schema.times import TimeError, parse_time

NODE_PORT = 10250
ADDRESS_KINDS = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
_PORT = re.compile(r"\A[0-9]{1,5}\Z", re.ASCII)
_UNCHECKED = "insecureSkipTLSVerifyBackend"
_LOG_FLAGS = ("follow", "previous", "timestamps")
_LOG_VALUES = ("sinceSeconds", "sinceTime", "tailLines", "limitBytes")
_MOST_ERROR_BYTES = 50_000
_AGENT_REASONS = {400: "BadRequest", 404: "NotFound", 503: "ServiceUnavailable"}
# How agents call what clients want to be connected with.
_STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
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
        raise absent(ResourceRef("", "pods", name))
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


def node_place(api: Api, name: str, *, checked: bool = True) -> Place:
    """Where the agent of a node listens."""
    node = api.lookup("core/v1/nodes", "", name)
    if node is None:
        raise absent(ResourceRef("", "nodes", name))
    addresses = node["status"].get("addresses") or []
    for kind in ADDRESS_KINDS:
        for address in addresses:
            if address["type"] == kind:
                endpoint = node["status"].get("daemonEndpoints", {}).get("kubeletEndpoint", {})
                port = endpoint.get("Port") or NODE_PORT
                return Place(address["address"], port, "https", agent=True, checked=checked)
    known = " ".join(f"{{{address['type']} {address['address']}}}" for address in addresses)
    raise StatusError(500, "", f"no preferred addresses found; known addresses: [{known}]")


async def read_log(api: Api, request: Request, operation: Operation) -> Answer:
    _check_log_options(request)
    pod = _pod(api, request)
    container = container_of(pod, request.parameter("container"))
    node = pod["spec"].get("nodeName")
    if not node:
        return NoContent()
    if is_simulated(api, node):
        return simulated_log(api, request, pod, container, _LOG_HEADERS)
    place = node_place(api, node, checked=not flag(request, _UNCHECKED))
    names = (request.target.namespace, request.target.name, container)
    path = f"/containerLogs/{'/'.join(quote(name, safe='') for name in names)}"
    query = _log_query(request)
    try:
        found = await api.reach.open(place, path + (f"?{query}" if query else ""))
    except NotAllowed:
        raise not_allowed() from None
    except CallError as error:
        raise StatusError(500, "", f'Get "{place.url}{path}": {error}') from None
    passed = Passed(api.reach.conversations, found)
    if not 200 <= found.status <= 206:
        raise await _agent_error(passed)
    return Relayed(passed, _LOG_HEADERS)


_LOG_HEADERS = (
    (b"cache-control", b"no-cache, private"),
    (b"content-type", b"text/plain"),
)


def _log_query(request: Request) -> str:
    chosen = {name: "true" for name in _LOG_FLAGS if flag(request, name)}
    given = {name: request.parameter(name) for name in _LOG_VALUES if request.parameter(name)}
    return urlencode(chosen | given)


async def _agent_error(passed: Passed) -> StatusError:
    """What the agent of a node says is wrong, with the code it gives."""
    try:
        said = (await passed.answer.whole(_MOST_ERROR_BYTES)).decode(errors="replace")
    except CallError as error:
        return internal(str(error))
    finally:
        passed.end()
    status = passed.answer.status
    if status in _AGENT_REASONS:
        return StatusError(status, _AGENT_REASONS[status], said)
    return internal(said if status == 500 else f"answered {status}: {said}")


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


async def _admit(api: Api, operation: Operation, kind: str, options: Object) -> Object:
    """Let admission judge a connection; what it sees are the options. Gives what it leaves."""
    value: Object = {"kind": kind, "apiVersion": "v1", **options}
    context = api.context(operation)
    attributes = preparing.attributes(operation, CONNECT, value, None, context)
    await api.admission.admit(attributes)
    await api.admission.validate(attributes)
    return value


def _refuse_dry_run(request: Request) -> None:
    if "dryRun" in request.query:
        raise bad_request("dryRun is not supported")


def _stream_options(request: Request) -> Object:
    options: Object = {name: True for name in _STREAMS if flag(request, name)}
    if request.parameter("container"):
        options["container"] = request.parameter("container")
    if request.query.get("command"):
        options["command"] = request.query["command"]
    return options


async def stream(api: Api, request: Request, operation: Operation) -> Answer:
    """exec and attach."""
    _refuse_dry_run(request)
    what = request.target.subresource
    options = await _admit(api, operation, _OPTIONS[what], _stream_options(request))
    pod = _pod(api, request)
    container = container_of(pod, options.get("container") or "")
    wanted = [(told, "1") for name, told in _STREAMS.items() if options.get(name)]
    wanted += (("command", word) for word in options.get("command") or ())
    return await _to_node(api, request, pod, (what, container), wanted)


async def forward_port(api: Api, request: Request, operation: Operation) -> Answer:
    _refuse_dry_run(request)
    ports = _ports(request)
    await _admit(api, operation, "PodPortForwardOptions", {"ports": ports} if ports else {})
    wanted = [("port", ",".join(map(str, ports)))] if ports else []
    return await _to_node(api, request, _pod(api, request), ("portForward", ""), wanted)


def _ports(request: Request) -> list[int]:
    ports = []
    for text in request.query.get("ports", []):
        if not _PORT.match(text):
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        ports.append(int(text))
    return ports


async def _to_node(
    api: Api, request: Request, pod: Object, what: tuple[str, str], query: list[tuple[str, str]]
) -> Answer:
    """Change protocols with the agent of the node of a pod, which is asked for something that the
    pod, or a container of it, does."""
    node = pod["spec"].get("nodeName")
    if not node:
        raise bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
    refuse_simulated(api, node, request.target.subresource)
    place = node_place(api, node)
    if not request.header(b"upgrade"):
        raise bad_request("Upgrade request required")
    try:
        await api.reach.addresses(place)
    except NotAllowed:
        raise not_allowed() from None
    except CallError as error:
        raise StatusError(500, "", f"error dialing backend: {error}") from None
    if not wanted_protocol(request):
        raise bad_request("Upgrade request required")
    word, container = what
    steps = (word, request.target.namespace, request.target.name, container)
    path = "".join(f"/{quote(step, safe='')}" for step in steps if step)
    target = path + (f"?{urlencode(query)}" if query else "")
    uri = quote(request.target.path, safe=UNRESERVED).encode()
    identity = api.authentication.identity_headers
    return await pass_to(api.reach, request, place, target.encode(), uri, identity)


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


async def proxy_to_pod(api: Api, request: Request, operation: Operation) -> Answer:
    path = await _admitted_path(api, request, operation, "PodProxyOptions")
    named = proxy_name(request.target.name, "pod")
    pod = _pod(api, request, named.name)
    refuse_simulated(api, pod["spec"].get("nodeName", ""), "proxy")
    address = pod["status"].get("podIP", "")
    try:
        ipaddress.ip_address(address)
    except ValueError:
        raise not_allowed() from None
    port = named.port or _first_port(pod)
    return await _relay(api, request, path, address, port, named.scheme)


def _first_port(pod: Object) -> str:
    for container in pod["spec"]["containers"] or ():
        if container.get("ports"):
            return str(container["ports"][0]["containerPort"])
    return ""


async def proxy_to_node(api: Api, request: Request, operation: Operation) -> Answer:
    path = await _admitted_path(api, request, operation, "NodeProxyOptions")
    named = proxy_name(request.target.name, "node")
    refuse_simulated(api, named.name, "proxy")
    agent = node_place(api, named.name)
    if named.port in ("", str(agent.port)):
        return await _relay_to(api, request, path, agent)
    return await _relay(api, request, path, agent.host, named.port, named.scheme)


async def proxy_to_service(api: Api, request: Request, operation: Operation) -> Answer:
    path = await _admitted_path(api, request, operation, "ServiceProxyOptions")
    named = proxy_name(request.target.name, "service")
    service = api.lookup("core/v1/services", request.target.namespace, named.name)
    if service is None:
        raise absent(ResourceRef("", "services", named.name))
    port_name = _service_port_name(service, named)
    endpoints = api.lookup("core/v1/endpoints", request.target.namespace, named.name)
    if endpoints is None:
        raise not_found(ResourceRef("", "endpoints", named.name))
    subsets = endpoints.get("subsets") or []
    if not subsets:
        raise unavailable(f'no endpoints available for service "{named.name}"')
    candidates = [
        (address["ip"], str(port["port"]))
        for subset in subsets
        for port in subset.get("ports") or ()
        if port.get("name", "") == port_name
        for address in subset.get("addresses") or ()
        if _is_pod_address(api, request.target.namespace, address)
    ]
    if not candidates:
        raise unavailable(f'no endpoints available for service "{request.target.name}"')
    return await _relay(api, request, path, *random.choice(candidates), named.scheme)


def _service_port_name(service: Object, named: ProxyName) -> str:
    """Ports are asked for by number or by name; endpoints know them by name."""
    if not named.port.isdigit():
        return named.port
    for port in service["spec"].get("ports") or ():
        if port["port"] == int(named.port):
            name: str = port.get("name", "")
            return name
    raise unavailable(f'no service port {named.port} found for service "{named.name}"')


def _is_pod_address(api: Api, namespace: str, address: Object) -> bool:
    """Only addresses of the namespace's own pods are reached through a service."""
    reference = address.get("targetRef") or {}
    if reference.get("kind") != "Pod" or reference.get("namespace") != namespace:
        return False
    pod = api.lookup("core/v1/pods", namespace, reference.get("name", ""))
    if pod is None:
        return False
    refuse_simulated(api, pod["spec"].get("nodeName", ""), "proxy")
    addresses = [found.get("ip") for found in pod["status"].get("podIPs") or ()]
    return address["ip"] in addresses


async def _admitted_path(api: Api, request: Request, operation: Operation, kind: str) -> str:
    """The path that is asked for, as admission leaves it."""
    _refuse_dry_run(request)
    asked = _proxied_path(request)
    options = await _admit(api, operation, kind, {"path": asked} if asked else {})
    path: str = options.get("path") or ""
    if path and not path.startswith("/"):
        path = f"/{path}"
    ends_with_slash = request.target.path.endswith("/") and not path.endswith("/")
    return f"{path}/" if ends_with_slash else path


def _proxied_path(request: Request) -> str:
    """What follows the proxy's own part of the path, its slashes included."""
    target = request.target
    last = "/" if target.path.endswith("/") else ""
    if target.rest:
        return f"/{target.rest}{last}"
    given = request.parameter("path")
    return f"/{given.lstrip('/')}" if given else last


async def _relay(
    api: Api, request: Request, path: str, host: str, port: str, scheme: str
) -> Answer:
    number = port or ("443" if scheme == "https" else "80")
    if not _PORT.match(number) or not 0 < int(number) < 65536:
        text = f"dial tcp: lookup tcp/{number}: Servname not supported for ai_socktype"
        raise unavailable(f"error trying to reach service: {text}")
    return await _relay_to(api, request, path, Place(host, int(number), scheme or "http"))


async def _relay_to(api: Api, request: Request, path: str, place: Place) -> Answer:
    return await relay(api.reach, request, place, path, api.authentication.identity_headers)


_PROXIES: dict[str, Verb] = {
    "pods": proxy_to_pod,
    "nodes": proxy_to_node,
    "services": proxy_to_service,
}
_PROXY_VERBS = ("create", "delete", "get", "patch", "update", "")  # OPTIONS has none

HANDLERS: dict[tuple[str, str], Verb] = {
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
