"""exec, attach and port forwarding: protocol upgrades to the kubelet."""

from __future__ import annotations

import re
from functools import partial
from urllib.parse import quote, urlencode

from fairlead.api.answers import Answer
from fairlead.api.parameters import flag
from fairlead.api.relay.answers import Translation
from fairlead.api.relay.headers import offered_protocols, requested_protocol
from fairlead.api.relay.translation import Streams, Tunnelled
from fairlead.api.request import Request
from fairlead.api.subresources.container_streams import command_answer
from fairlead.api.subresources.port_forwarding import forwarding_answer
from fairlead.api.subresources.relay import forward_to, not_allowed
from fairlead.api.subresources.simulated import is_simulated
from fairlead.api.subresources.targets import (
    admit,
    container_of,
    demand_create,
    node_place,
    pod_of,
    refuse_dry_run,
)
from fairlead.base import quotes
from fairlead.base.errors import StatusError, bad_request
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.wire.byte_streams import ByteStream, open_stream
from fairlead.wire.incoming.parser import UNRESERVED
from fairlead.wire.outgoing.addresses import NotAllowed
from fairlead.wire.outgoing.request import Route
from fairlead.wire.outgoing.response import CallError

# The kubelet's names of the stream parameters.
_STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_DIGITS = re.compile("[0-9]+", re.ASCII)
_LARGEST_PORT = 65535
_CHANNELS = "v{}.channel.@"
_TUNNEL = "SPDY/3.1+"
_NODE_FEATURE = "ExtendWebSocketsToKubelet"
_OPTIONS = {"exec": "PodExecOptions", "attach": "PodAttachOptions"}


def _stream_options(request: Request) -> Object:
    options: Object = {name: True for name in _STREAMS if flag(request, name)}
    if request.parameter("container"):
        options["container"] = request.parameter("container")
    if request.query.get("command"):
        options["command"] = request.query["command"]
    return options


async def stream(api: Api, request: Request, operation: Operation) -> Answer:
    """Handler of exec and attach."""
    refuse_dry_run(request)
    action = request.target.subresource
    options = await admit(api, operation, _OPTIONS[action], _stream_options(request))
    await demand_create(api, operation)
    pod = pod_of(api, request)
    container = container_of(pod, options.get("container") or "")
    if is_simulated(api, pod["spec"].get("nodeName", "")):
        return _run_simulated(api, request, pod, container, options)
    query = [(parameter, "1") for name, parameter in _STREAMS.items() if options.get(name)]
    query += (("command", argument) for argument in options.get("command") or ())
    translation = _channels(api, request, pod, options)
    return await _to_node(api, request, pod, (action, container), query, translation)


def _demand_upgrade(request: Request) -> None:
    if not requested_protocol(request):
        raise bad_request("Upgrade request required")


def _run_simulated(
    api: Api, request: Request, pod: Object, container: str, options: Object
) -> Answer:
    assert api.simulated is not None
    _demand_upgrade(request)
    api.simulated.check_running(pod, container)
    has_terminal = bool(options.get("tty"))
    run = partial(
        api.simulated.execute,
        pod,
        container,
        list(options.get("command") or ()),
        has_terminal=has_terminal,
    )
    names = {name for name in ("stdin", "stdout", "stderr") if options.get(name)}
    wanted = frozenset(names - {"stderr"} if has_terminal else names)
    domain, is_attached = api.dialect.group_domain, not options.get("command")
    return command_answer(request, run, wanted, domain, is_attached=is_attached)


async def forward_port(api: Api, request: Request, operation: Operation) -> Answer:
    refuse_dry_run(request)
    ports = _ports(request)
    await admit(api, operation, "PodPortForwardOptions", {"ports": ports} if ports else {})
    await demand_create(api, operation)
    pod = pod_of(api, request)
    if is_simulated(api, pod["spec"].get("nodeName", "")):
        return _forward_simulated(api, request, pod, ports)
    query = [("port", ",".join(map(str, ports)))] if ports else []
    translation = _tunnel(api, request, pod)
    return await _to_node(api, request, pod, ("portForward", ""), query, translation)


def _forward_simulated(api: Api, request: Request, pod: Object, ports: list[int]) -> Answer:
    _demand_upgrade(request)
    simulated, uid = api.simulated, pod["metadata"]["uid"]
    assert simulated is not None

    async def connect(port: int) -> ByteStream:
        route = Route("127.0.0.1", port, "", None)
        try:
            return await open_stream(partial(simulated.connect, pod, route))
        except CallError as error:
            where = f"error forwarding port {port} to pod {uid}, uid "
            reason = f'failed to connect to localhost:{port} inside namespace "{uid}": {error}'
            raise CallError(f"{where}: {reason}") from None

    return forwarding_answer(request, connect, ports, api.dialect.group_domain)


def _channels(api: Api, request: Request, pod: Object, options: Object) -> Translation | None:
    """The translation of a WebSocket whose protocol no kubelet knew before it declared to."""
    name = api.dialect.group_name
    protocol = name(_CHANNELS.format(5))
    if (
        not api.gates["TranslateStreamCloseWebsocketRequests"]
        or protocol not in _websocket_protocols(request)
        or _speaks_websocket(api, pod)
    ):
        return None
    wanted = {stream: options.get(stream) for stream in ("stdin", "stdout", "stderr")}
    if options.get("tty"):
        wanted |= {"stderr": False, "resize": True}
    streams = ["error", *(stream for stream, is_wanted in wanted.items() if is_wanted)]
    versions = tuple(name(_CHANNELS.format(version)) for version in (5, 4))
    return Translation(protocol, versions, Streams(streams))


def _tunnel(api: Api, request: Request, pod: Object) -> Translation | None:
    """The tunnel of a WebSocket whose messages carry SPDY."""
    if not api.gates["PortForwardWebsockets"] or _speaks_websocket(api, pod):
        return None
    domain = f".{api.dialect.group_domain}"
    offers = [
        offer
        for offer in _websocket_protocols(request)
        if offer.startswith(_TUNNEL) and offer.endswith(domain)
    ]
    if not offers:
        return None
    return Translation(offers[0], (offers[0].removeprefix(_TUNNEL),), Tunnelled())


def _websocket_protocols(request: Request) -> list[str]:
    is_socket = requested_protocol(request).lower() == b"websocket"
    return offered_protocols(request) if is_socket else []


def _speaks_websocket(api: Api, pod: Object) -> bool:
    """Whether the kubelet of a pod has declared that it takes the WebSockets of clients."""
    if not api.gates[_NODE_FEATURE]:
        return False
    node = api.lookup("core/v1/nodes", "", pod["spec"].get("nodeName") or "")
    return node is not None and _NODE_FEATURE in (node["status"].get("declaredFeatures") or ())


def _ports(request: Request) -> list[int]:
    """The ports of all `ports` parameters, each of which may be a comma-separated list."""
    ports = []
    values = request.query.get("ports", ())
    for text in (piece for value in values for piece in value.split(",")):
        is_number = _DIGITS.fullmatch(text) is not None
        if not is_number or len(text.lstrip("0")) > 5 or int(text) > _LARGEST_PORT:
            reason = "value out of range" if is_number else "invalid syntax"
            message = f"strconv.ParseUint: parsing {quotes.quote(text)}: {reason}"
            raise bad_request(f"cannot convert to []int32: {message}")
        ports.append(int(text))
    return ports


async def _to_node(
    api: Api,
    request: Request,
    pod: Object,
    endpoint: tuple[str, str],
    query: list[tuple[str, str]],
    translation: Translation | None,
) -> Answer:
    """Upgrade the connection to the kubelet of a pod's node. `endpoint` is the first path segment
    and the container."""
    node = pod["spec"].get("nodeName")
    if not node:
        raise bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
    place = node_place(api, node)
    if not request.header(b"upgrade"):
        raise bad_request("Upgrade request required")
    try:
        await api.reach.addresses(place)
    except NotAllowed:
        raise not_allowed() from None
    except CallError as error:
        raise StatusError(500, "", f"error dialing backend: {error}") from None
    _demand_upgrade(request)
    action, container = endpoint
    steps = (action, request.target.namespace, request.target.name, container)
    path = "".join(f"/{quote(step, safe='')}" for step in steps if step)
    target = path + (f"?{urlencode(query)}" if query else "")
    uri = quote(request.target.path, safe=UNRESERVED).encode()
    identity = api.authentication.identity_headers
    address = target.encode()
    return await forward_to(api.reach, request, place, address, uri, identity, translation)
