"""Layouts of services, endpoints and endpoint slices."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import draw_head, one_line
from fairlead.cli.describe.parts.values import NONE, UNSET, host_and_port
from fairlead.cli.describe.queries import ENDPOINTS, Queries, QueryResult

_MAX_ADDRESSES = 3
_PORT_HEAD = ("Name", "Port", "Protocol")


async def _endpoints(service: Subject, queries: Queries) -> QueryResult:
    return await queries.get(ENDPOINTS, service.name, service.namespace)


def _draw(page: Page, service: Subject) -> None:
    draw_head(page, service)
    spec = service.part("spec")
    page.pairs(("Selector", one_line(spec.map("selector"))), ("Type", spec.text("type")))
    page.pairs_if(("IP Family Policy", spec.text("ipFamilyPolicy")))
    page.pairs(
        ("IP Families", ",".join(spec.texts("ipFamilies")) or NONE),
        ("IP", spec.text("clusterIP")),
        ("IPs", ",".join(spec.texts("clusterIPs")) or NONE),
    )
    balancers = service.items("status.loadBalancer.ingress")
    page.pairs_if(
        ("External IPs", ",".join(spec.texts("externalIPs"))),
        ("IP", spec.text("loadBalancerIP")),
        ("External Name", spec.text("externalName")),
        ("LoadBalancer Ingress", ", ".join(map(_balancer, balancers))),
    )
    for port in spec.items("ports"):
        _draw_port(page, port, service.found("endpoints").first)
    page.pair("Session Affinity", spec.text("sessionAffinity"))
    page.pairs_if(
        ("External Traffic Policy", spec.text("externalTrafficPolicy")),
        ("Traffic Distribution", spec.text("trafficDistribution")),
        ("HealthCheck NodePort", spec.number("healthCheckNodePort") or ""),
        ("LoadBalancer Source Ranges", ",".join(spec.texts("loadBalancerSourceRanges"))),
    )


def _balancer(ingress: Fields) -> str:
    if ingress.has("ipMode") and ingress.text("ip"):
        return f"{ingress.text('ip')} ({ingress.text('ipMode')})"
    return ingress.text("ip") or ingress.text("hostname")


def _draw_port(page: Page, port: Fields, endpoints: Fields) -> None:
    name, protocol = port.text("name", UNSET), port.text("protocol")
    page.row("Port:", name, f"{port.number('port')}/{protocol}", level=0)
    page.pair("TargetPort", f"{port.text('targetPort', '0')}/{protocol}")
    if port.number("nodePort"):
        page.row("NodePort:", name, f"{port.number('nodePort')}/{protocol}", level=0)
    page.pair("Endpoints", address_text(endpoints, port.text("name")))


SERVICE = Layout(_draw, {"endpoints": _endpoints})


# Addresses of the pods behind a service.


def address_text(endpoints: Fields, port_name: str) -> str:
    """The first 3 addresses with the port of this name."""
    if not endpoints.items("subsets"):
        return NONE
    addresses = list(_addresses(endpoints, port_name))
    listed = ",".join(addresses[:_MAX_ADDRESSES])
    more = len(addresses) - _MAX_ADDRESSES
    return f"{listed} + {more} more..." if more > 0 else listed


def _addresses(endpoints: Fields, port_name: str) -> Iterator[str]:
    for subset in endpoints.items("subsets"):
        addresses = [address.text("ip") for address in subset.items("addresses")]
        if not subset.items("ports"):
            yield from addresses
        for port in subset.items("ports"):
            if port.text("name") == port_name:
                for address in addresses:
                    yield host_and_port(address, port.number("port"))


# Layouts of endpoints and endpoint slices.


def _draw_endpoints(page: Page, endpoints: Subject) -> None:
    draw_head(page, endpoints)
    page.write("Subsets:")
    for subset in endpoints.items("subsets"):
        for name, path in (("Addresses", "addresses"), ("NotReadyAddresses", "notReadyAddresses")):
            addresses = [address.text("ip") for address in subset.items(path)]
            page.pair(name, ",".join(addresses) or NONE, 1)
        if subset.items("ports"):
            page.write("Ports:", 1)
            page.table(_PORT_HEAD, map(_port, subset.items("ports")), 2)
        page.write()


def _port(port: Fields) -> tuple[str, ...]:
    number = str(port.number("port")) if port.has("port") else UNSET
    return (port.text("name", UNSET), number, port.text("protocol"))


def _draw_slice(page: Page, endpoints: Subject) -> None:
    draw_head(page, endpoints)
    page.pair("AddressType", endpoints.text("addressType"))
    ports = endpoints.items("ports")
    page.write("Ports:" if ports else f"Ports: {UNSET}")
    if ports:
        page.table(_PORT_HEAD, map(_port, ports))
    members = endpoints.items("endpoints")
    page.write("Endpoints:" if members else f"Endpoints: {NONE}")
    for member in members:
        _draw_member(page, member)


def _draw_member(page: Page, member: Fields) -> None:
    page.pair("- Addresses", ", ".join(member.texts("addresses")) or NONE, 1)
    page.write("Conditions:", 2)
    page.pair("Ready", member.text("conditions.ready", UNSET), 3)
    page.pair("Hostname", member.text("hostname", UNSET), 2)
    target = member.part("targetRef")
    if target.has():
        page.pair("TargetRef", f"{target.text('kind')}/{target.text('name')}", 2)
    page.pair("NodeName", member.text("nodeName", UNSET), 2)
    page.pair("Zone", member.text("zone", UNSET), 2)


ENDPOINTS_LAYOUT = Layout(_draw_endpoints)
ENDPOINT_SLICE = Layout(_draw_slice)
