"""Layouts of the networking kinds."""

from __future__ import annotations

import asyncio

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import (
    draw_annotations,
    draw_cluster_head,
    draw_conditions_with_time,
    draw_labels,
    draw_labels_and_annotations,
    selector_or_none,
)
from fairlead.cli.describe.parts.values import NONE, in_numbers
from fairlead.cli.describe.queries import ENDPOINTS, SERVICES, Queries, QueryResult
from fairlead.cli.describe.services import address_text

_NO_BACKEND = "<default>"


async def _backends(ingress: Subject, queries: Queries) -> dict[str, list[QueryResult]]:
    """The endpoints and the service for each service name in use."""
    used = [ingress.part("spec.defaultBackend"), *map(_backend, _paths(ingress))]
    names = dict.fromkeys(backend.text("service.name") for backend in used)
    names.pop("", None)
    calls = (
        queries.get(type, name, ingress.namespace)
        for name in names
        for type in (ENDPOINTS, SERVICES)
    )
    answers = await asyncio.gather(*calls)
    return {name: answers[2 * index : 2 * index + 2] for index, name in enumerate(names)}


def _paths(ingress: Subject) -> list[Fields]:
    return [path for rule in ingress.items("spec.rules") for path in rule.items("http.paths")]


def _backend(path: Fields) -> Fields:
    return path.part("backend")


def _draw_ingress(page: Page, ingress: Subject) -> None:
    page.pair("Name", ingress.name)
    draw_labels(page, "Labels", ingress.labels)
    balancers = ingress.items("status.loadBalancer.ingress")
    addresses = {balancer.text("ip") or balancer.text("hostname") for balancer in balancers} - {""}
    default = ingress.part("spec.defaultBackend")
    shown_default = _backend_text(ingress, default) if default.has() else _NO_BACKEND
    page.pairs(
        ("Namespace", ingress.namespace),
        ("Address", ",".join(sorted(addresses))),
        ("Ingress Class", ingress.text("spec.ingressClassName", NONE)),
        ("Default backend", shown_default),
    )
    _draw_tls(page, ingress.items("spec.tls"))
    page.write("Rules:")
    page.table(("Host", "Path", "Backends"), ())
    rules = [rule for rule in ingress.items("spec.rules") if rule.has("http")]
    for rule in rules:
        page.row(rule.text("host", "*"), "")
        for path in rule.items("http.paths"):
            text = _backend_text(ingress, _backend(path))
            page.row("", f"{path.text('path')} ", text, level=2)
    if not rules:
        page.row("*", "*", shown_default)
    draw_annotations(page, "Annotations", ingress)


def _draw_tls(page: Page, entries: list[Fields]) -> None:
    if entries:
        page.write("TLS:")
    for entry in entries:
        secret, hosts = entry.text("secretName"), ",".join(entry.texts("hosts"))
        page.write(f"{secret} terminates {hosts}" if secret else f"SNI routes {hosts}", 1)


def _backend_text(ingress: Subject, backend: Fields) -> str:
    if not backend.has("service"):
        other = backend.part("resource")
        if not other.has():
            return ""
        group = other.text("apiGroup", NONE)
        return f"APIGroup: {group}, Kind: {other.text('kind')}, Name: {other.text('name')}"
    name, port = backend.text("service.name"), backend.part("service.port")
    text = f"{name}:{port.number('number') or port.text('name')}"
    endpoints, service = ingress.answers.get("backends", {}).get(name) or (
        QueryResult(),
        QueryResult(),
    )
    error = endpoints.error or service.error
    if error is not None:
        return f"{text} (<error: {error.message}>)"
    return f"{text} ({address_text(endpoints.first, _port_name(service.first, port))})"


def _port_name(service: Fields, port: Fields) -> str:
    """The name that the service gives to the backend's port."""
    number, name = port.number("number"), port.text("name")
    for service_port in service.items("spec.ports"):
        if (number and service_port.number("port") == number) or (
            name and service_port.text("name") == name
        ):
            return service_port.text("name")
    return ""


def _draw_class(page: Page, ingress_class: Subject) -> None:
    draw_cluster_head(page, ingress_class)
    page.pair("Controller", ingress_class.text("spec.controller"))
    parameters = ingress_class.part("spec.parameters")
    if parameters.has():
        page.write("Parameters:")
        page.pairs_if(("APIGroup", parameters.text("apiGroup")), level=1)
        page.pair("Kind", parameters.text("kind"), 1)
        page.pair("Name", parameters.text("name"), 1)


def _draw_policy(page: Page, policy: Subject) -> None:
    page.pairs(
        ("Name", policy.name),
        ("Namespace", policy.namespace),
        ("Created on", in_numbers(policy.at("metadata.creationTimestamp"))),
    )
    draw_labels_and_annotations(page, policy)
    page.write("Spec:")
    selected = selector_or_none(policy.part("spec.podSelector"))
    if selected == NONE:
        selected += " (all pods of the namespace)"
    page.write(f"PodSelector:     {selected}", 1)
    types = policy.texts("spec.policyTypes")
    for kind, peers, where in (("ingress", "from", "source"), ("egress", "to", "destination")):
        if kind.capitalize() not in types:
            page.write(f"Not affecting {kind} traffic", 1)
            continue
        page.write(f"Allowing {kind} traffic:", 1)
        _draw_rules(page, policy.items(f"spec.{kind}"), kind, peers, where)
    page.write(f"Policy Types: {', '.join(types) or NONE}", 1)


def _draw_rules(page: Page, rules: list[Fields], kind: str, peers: str, where: str) -> None:
    if not rules:
        page.write(f"{NONE} (Selected pods are isolated for {kind} connectivity)", 2)
    for index, rule in enumerate(rules):
        if index:
            page.write("----------", 2)
        ports = rule.items("ports")
        if not ports:
            page.write("To Port: <any> (all ports)", 2)
        for port in ports:
            number, protocol = port.text("port", "<nil>"), port.text("protocol", "TCP")
            page.write(f"To Port: {number}/{protocol}", 2)
        title = peers.capitalize()
        if not rule.items(peers):
            page.write(f"{title}: <any> (traffic not restricted by {where})", 2)
        for peer in rule.items(peers):
            page.write(f"{title}:", 2)
            _draw_peer(page, peer)


def _draw_peer(page: Page, peer: Fields) -> None:
    selectors = [name for name in ("namespaceSelector", "podSelector") if peer.has(name)]
    for name in selectors:
        page.write(f"{name[0].upper()}{name[1:]}: {selector_or_none(peer.part(name))}", 3)
    if peer.has("ipBlock") and not selectors:
        page.write("IPBlock:", 3)
        page.write(f"CIDR: {peer.text('ipBlock.cidr')}", 4)
        page.write(f"Except: {', '.join(peer.texts('ipBlock.except'))}", 4)


INGRESS = Layout(_draw_ingress, {"backends": _backends})
INGRESS_CLASS = Layout(_draw_class)
NETWORK_POLICY = Layout(_draw_policy, events=None)


# Layouts of the ranges and addresses of services.


def _draw_range(page: Page, service_range: Subject) -> None:
    draw_cluster_head(page, service_range)
    page.pair("CIDRs", ", ".join(service_range.texts("spec.cidrs")))
    if service_range.items("status.conditions"):
        page.write("Status:")
    draw_conditions_with_time(page, service_range)


def _draw_address(page: Page, address: Subject) -> None:
    draw_cluster_head(page, address)
    parent = address.part("spec.parentRef")
    if parent.has():
        page.write("Parent Reference:")
        for name in ("group", "resource", "namespace", "name"):
            page.pair(name.title(), parent.text(name), 1)


SERVICE_CIDR = Layout(_draw_range)
IP_ADDRESS = Layout(_draw_address)
