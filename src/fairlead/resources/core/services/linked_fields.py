"""Service fields that depend on each other: defaults, values to keep, values to drop."""

from __future__ import annotations

from fairlead.resources.behaviour import Object
from fairlead.resources.core.services.fields import (
    addresses,
    families,
    is_externally_accessible,
    is_load_balancer,
    needs_address,
    needs_health_port,
    needs_node_ports,
    node_ports,
    ports,
    set_addresses,
)

_AFFINITY_SECONDS = 10800


def fill_defaults(spec: Object, by_addresses: bool) -> None:
    """Set defaults that depend on the type and on each other. `by_addresses`: see
    `is_externally_accessible`."""
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
    for port in ports(spec):
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port["port"]
    is_external = is_externally_accessible(spec, by_addresses)
    if is_external and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    has_addresses = spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer")
    if has_addresses and spec.get("internalTrafficPolicy") is None:
        spec["internalTrafficPolicy"] = "Cluster"
    if is_load_balancer(spec) and spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True


def sync_addresses(spec: Object, old: Object | None) -> None:
    """Derive `clusterIPs` from `clusterIP` for older clients, which know only the latter."""
    single = spec.get("clusterIP", "")
    if old is None:
        if single and not addresses(spec):
            spec["clusterIPs"] = [single]
        return
    old_single = old.get("clusterIP", "")
    if single == old_single:
        if not addresses(spec):
            set_addresses(spec, list(addresses(old)))
        return
    if addresses(spec) == addresses(old):
        set_addresses(spec, [single] if single or not old_single else [])


def keep_allocated(spec: Object, old: Object) -> None:
    """Keep the values that the server allocated if an update omits them."""
    if needs_address(spec) and needs_address(old):
        if not spec.get("clusterIP") and old.get("clusterIP"):
            spec["clusterIP"] = old["clusterIP"]
        if not addresses(spec) and spec.get("clusterIP") == old.get("clusterIP"):
            set_addresses(spec, list(addresses(old)))
    if needs_node_ports(spec) and needs_node_ports(old):
        _keep_node_ports(spec, old)
    if needs_health_port(spec) and needs_health_port(old) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = old["healthCheckNodePort"]


def _keep_node_ports(spec: Object, old: Object) -> None:
    used = set(node_ports(old)) & set(node_ports(spec))
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in ports(old)}
    for port in ports(spec):
        before = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and before and before not in used:
            port["nodePort"] = before
            used.add(before)


def drop_by_type(spec: Object, old: Object, by_addresses: bool) -> None:
    """On a change of type, drop the fields that only the old type has, if the client left them
    unchanged."""
    if needs_address(old) and not needs_address(spec):
        if addresses(spec) == addresses(old):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        if families(spec) == families(old):
            spec.pop("ipFamilies", None)
        _drop_same(spec, old, "ipFamilyPolicy")
        _drop_same(spec, old, "internalTrafficPolicy")
    loses_ports = needs_node_ports(old) and not needs_node_ports(spec)
    if loses_ports and set(node_ports(spec)) <= set(node_ports(old)):
        for port in ports(spec):
            port.pop("nodePort", None)
    was_external, is_external = (
        is_externally_accessible(version, by_addresses) for version in (old, spec)
    )
    if was_external and not is_external:
        _drop_same(spec, old, "externalTrafficPolicy")
    if is_load_balancer(old) and not is_load_balancer(spec):
        _drop_same(spec, old, "allocateLoadBalancerNodePorts")
        _drop_same(spec, old, "loadBalancerClass")
    if needs_health_port(old) and not needs_health_port(spec):
        _drop_same(spec, old, "healthCheckNodePort")


def _drop_same(spec: Object, old: Object, name: str) -> None:
    if spec.get(name) == old.get(name):
        spec.pop(name, None)
