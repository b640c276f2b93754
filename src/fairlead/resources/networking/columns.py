"""Columns of the networking kinds."""

from __future__ import annotations

from fairlead.base.dialect import Dialect
from fairlead.resources.columns.cell_text import (
    NONE,
    field,
    items,
    joined,
    load_balancer_text,
    selector_at,
)
from fairlead.resources.columns.model import (
    AGE,
    NAME,
    Object,
    Printer,
    class_name,
    since,
    table,
    text,
    undefined,
    until,
)

_MAX_SHOWN = 3


def _hosts(ingress: Object) -> str:
    """The first hosts. The number of further rules includes rules without a host."""
    hosts: list[str] = []
    rules = items(ingress, "spec.rules")
    for rule in rules:
        if len(hosts) == _MAX_SHOWN:
            return f"{','.join(hosts)} + {len(rules) - _MAX_SHOWN} more..."
        if rule.get("host"):
            hosts.append(rule["host"])
    return ",".join(hosts) or "*"


def _address(ingress: Object) -> str:
    return load_balancer_text(field(ingress, "status.loadBalancer"))


def _ports(ingress: Object) -> str:
    return "80, 443" if items(ingress, "spec.tls") else "80"


def _parameters(ingress_class: Object) -> str:
    parameters = field(ingress_class, "spec.parameters")
    if parameters is None:
        return NONE
    group = parameters.get("apiGroup")
    kind = parameters.get("kind") or ""
    return f"{kind if group is None else f'{kind}.{group}'}/{parameters.get('name') or ''}"


def _parent(address: Object) -> str:
    reference = field(address, "spec.parentRef")
    if reference is None:
        return NONE
    resource, group = reference.get("resource") or "", reference.get("group")
    parts = [f"{resource}.{group}".lower() if group else resource.lower()]
    if reference.get("namespace"):
        parts.append(reference["namespace"])
    return "/".join([*parts, reference.get("name") or ""])


def _ranges(service_range: Object) -> str:
    return joined(items(service_range, "spec.cidrs"))


def printers(dialect: Dialect) -> dict[str, Printer]:
    """The printers of the group; the default class is marked by an annotation."""
    return {
        "networking/v1/ingressclasses": table(
            until(36, NAME),
            since(36, class_name(dialect, "ingressclass.@/is-default-class")),
            text("Controller", "spec.controller", "Controller that serves the class"),
            text("Parameters", _parameters, "Object with the controller's settings"),
            AGE,
        ),
        **_PLAIN,
    }


_PLAIN = {
    "networking/v1/ipaddresses": table(
        NAME,
        text("ParentRef", _parent, "Object that uses the address"),
        undefined(AGE),
    ),
    "networking/v1/servicecidrs": table(
        NAME,
        text("CIDRs", _ranges, "Ranges of addresses for services"),
        AGE,
    ),
    "networking/v1/ingresses": table(
        NAME,
        text("Class", "spec.ingressClassName", "Class that serves the ingress", missing=NONE),
        text("Hosts", _hosts, "Hosts its rules are for"),
        text("Address", _address, "Where the ingress is reached"),
        text("Ports", _ports, "Ports it listens on"),
        AGE,
    ),
    "networking/v1/networkpolicies": table(
        NAME,
        text("Pod-Selector", selector_at("spec.podSelector"), "Labels of the pods it governs"),
        AGE,
    ),
}
