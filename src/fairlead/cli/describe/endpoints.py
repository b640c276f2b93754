"""Layouts of endpoints and endpoint slices."""

from __future__ import annotations

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import draw_head
from fairlead.cli.describe.parts.words import NONE, UNSET

_PORT_HEAD = ("Name", "Port", "Protocol")


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


ENDPOINTS = Layout(_draw_endpoints)
ENDPOINT_SLICE = Layout(_draw_slice)
