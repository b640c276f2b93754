"""Proxies requests to pods, nodes and services."""

from __future__ import annotations

import ipaddress
import random
from dataclasses import dataclass

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.api.subresources.relay import not_allowed, relay, unavailable
from fairlead.api.subresources.simulated import Dialer, dialer_for_node, dialer_for_pod
from fairlead.api.subresources.targets import (
    PORT,
    admit,
    node_place,
    pod_at,
    pod_of,
    refuse_dry_run,
)
from fairlead.base.digits import whole_number
from fairlead.base.errors import ResourceRef, bad_request, not_found
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.resources.causes import absent
from fairlead.wire.outgoing.cluster import ClusterTarget


@dataclass(slots=True)
class ProxyName:
    """The target of a proxy path: `[scheme:]name[:port]`."""

    scheme: str
    name: str
    port: str


def proxy_name(text: str, kind: str) -> ProxyName:
    parts = text.split(":")
    match parts:
        case [name]:
            result = ProxyName("", name, "")
        case [name, port]:
            result = ProxyName("", name, port)
        case [scheme, name, port] if scheme in ("", "http", "https"):
            result = ProxyName(scheme, name, port)
        case _:
            raise bad_request(f'invalid {kind} request "{text}"')
    if not result.name:
        raise bad_request(f'invalid {kind} request "{text}"')
    return result


async def proxy_to_pod(api: Api, request: Request, operation: Operation) -> Answer:
    path = await _admitted_path(api, request, operation, "PodProxyOptions")
    proxied = proxy_name(request.target.name, "pod")
    pod = pod_of(api, request, proxied.name)
    address = pod["status"].get("podIP", "")
    try:
        ipaddress.ip_address(address)
    except ValueError:
        raise not_allowed() from None
    port = proxied.port or _first_port(pod)
    reach = dialer_for_pod(api, pod)
    return await _relay(api, reach, request, path, (address, port), proxied.scheme)


def _first_port(pod: Object) -> str:
    for container in pod["spec"]["containers"] or ():
        if container.get("ports"):
            return str(container["ports"][0]["containerPort"])
    return ""


async def proxy_to_node(api: Api, request: Request, operation: Operation) -> Answer:
    path = await _admitted_path(api, request, operation, "NodeProxyOptions")
    proxied = proxy_name(request.target.name, "node")
    agent, reach = node_place(api, proxied.name), dialer_for_node(api, proxied.name)
    if proxied.port in ("", str(agent.port)):
        return await _relay_to(api, reach, request, path, agent)
    place = agent.host, proxied.port
    return await _relay(api, reach, request, path, place, proxied.scheme)


async def proxy_to_service(api: Api, request: Request, operation: Operation) -> Answer:
    path = await _admitted_path(api, request, operation, "ServiceProxyOptions")
    proxied = proxy_name(request.target.name, "service")
    service = api.lookup("core/v1/services", request.target.namespace, proxied.name)
    if service is None:
        raise absent(ResourceRef("", "services", proxied.name))
    port_name = _service_port_name(service, proxied)
    endpoints = api.lookup("core/v1/endpoints", request.target.namespace, proxied.name)
    if endpoints is None:
        raise not_found(ResourceRef("", "endpoints", proxied.name))
    subsets = endpoints.get("subsets") or []
    if not subsets:
        raise unavailable(f'no endpoints available for service "{proxied.name}"')
    candidates = [
        (pod, (address["ip"], str(port["port"])))
        for subset in subsets
        for port in subset.get("ports") or ()
        if port.get("name", "") == port_name
        for address in subset.get("addresses") or ()
        if (pod := pod_at(api, request.target.namespace, address)) is not None
    ]
    if not candidates:
        raise unavailable(f'no endpoints available for service "{request.target.name}"')
    pod, place = random.choice(candidates)
    reach = dialer_for_pod(api, pod)
    return await _relay(api, reach, request, path, place, proxied.scheme)


def _service_port_name(service: Object, proxied: ProxyName) -> str:
    """The name of the requested port, which may be a number; endpoints list ports by name."""
    number = whole_number(proxied.port)
    if number is None:
        return proxied.port
    for port in service["spec"].get("ports") or ():
        if port["port"] == number:
            name: str = port.get("name", "")
            return name
    raise unavailable(f'no service port {proxied.port} found for service "{proxied.name}"')


async def _admitted_path(api: Api, request: Request, operation: Operation, kind: str) -> str:
    """The requested path, as admission returns it."""
    refuse_dry_run(request)
    requested_path = _proxied_path(request)
    options = await admit(api, operation, kind, {"path": requested_path} if requested_path else {})
    path: str = options.get("path") or ""
    if path and not path.startswith("/"):
        path = f"/{path}"
    ends_with_slash = request.target.path.endswith("/") and not path.endswith("/")
    return f"{path}/" if ends_with_slash else path


def _proxied_path(request: Request) -> str:
    """The path after the proxy's own prefix, including slashes."""
    target = request.target
    slash = "/" if target.path.endswith("/") else ""
    if target.rest:
        return f"/{target.rest}{slash}"
    parameter = request.parameter("path")
    return f"/{parameter.lstrip('/')}" if parameter else slash


async def _relay(
    api: Api,
    reach: Dialer,
    request: Request,
    path: str,
    place: tuple[str, str],
    scheme: str,
) -> Answer:
    host, port = place
    number = port or ("443" if scheme == "https" else "80")
    if not PORT.match(number) or not 0 < int(number) < 65536:
        text = f"dial tcp: lookup tcp/{number}: Servname not supported for ai_socktype"
        raise unavailable(f"error trying to reach service: {text}")
    target = ClusterTarget(host, int(number), scheme or "http")
    return await _relay_to(api, reach, request, path, target)


async def _relay_to(
    api: Api, reach: Dialer, request: Request, path: str, target: ClusterTarget
) -> Answer:
    return await relay(reach, request, target, path, api.authentication.identity_headers)
