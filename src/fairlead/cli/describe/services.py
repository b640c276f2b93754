"""Layout of services."""

from __future__ import annotations

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.addresses import address_text
from fairlead.cli.describe.parts.metadata import draw_head, one_line
from fairlead.cli.describe.parts.words import NONE, UNSET
from fairlead.cli.describe.queries import ENDPOINTS, Found, Queries


async def _endpoints(service: Subject, asker: Queries) -> Found:
    return await asker.one(ENDPOINTS, service.name, service.namespace)


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
        ("HealthCheck NodePort", spec.number("healthCheckNodePort") or ""),
        ("LoadBalancer Source Ranges", ",".join(spec.texts("loadBalancerSourceRanges"))),
    )


def _balancer(ingress: Fields) -> str:
    return ingress.text("ip") or ingress.text("hostname")


def _draw_port(page: Page, port: Fields, endpoints: Fields) -> None:
    name, protocol = port.text("name", UNSET), port.text("protocol")
    page.row("Port:", name, f"{port.number('port')}/{protocol}", level=0)
    page.pair("TargetPort", f"{port.text('targetPort', '0')}/{protocol}")
    if port.number("nodePort"):
        page.row("NodePort:", name, f"{port.number('nodePort')}/{protocol}", level=0)
    page.pair("Endpoints", address_text(endpoints, port.text("name")))


SERVICE = Layout(_draw, {"endpoints": _endpoints})
