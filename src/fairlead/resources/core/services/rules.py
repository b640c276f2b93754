"""Validation of services."""

from __future__ import annotations

from fairlead.codec.types.names import dns_label, dns_subdomain, qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import (
    address_errors,
    network_errors,
    non_special_address,
    parse_address,
    parse_network,
)
from fairlead.resources.core.services.cluster_ips import check_cluster_ips
from fairlead.resources.core.services.fields import (
    TYPES,
    addresses,
    families,
    is_externally_accessible,
    is_headless,
    is_load_balancer,
    needs_health_port,
    ports,
)
from fairlead.resources.metadata import check_labels
from fairlead.resources.rules import PROTOCOLS, one_of, port_number, port_or_name

AFFINITIES = ("ClientIP", "None")
POLICIES = ("Cluster", "Local")
NODE_AGENT_PORT = 10250
MAX_AFFINITY_SECONDS = 86400
DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
BY_ADDRESSES = "ExternalTrafficPolicyByAddresses"
TOPOLOGY_MODE = "service.@/topology-mode"
TOPOLOGY_HINTS = "service.@/topology-aware-hints"
SOURCE_RANGES = "service.beta.@/load-balancer-source-ranges"
ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"
_NOT_EXTERNAL_NAME = "may not be set for ExternalName services"


def check_service(
    service: Object, causes: Causes, context: Context, old: Object | None = None
) -> None:
    """Check the rules of services. Addresses that the old service has are valid."""
    spec, before = service["spec"], old["spec"] if old is not None else {}
    if context.gates["TopologyModeAnnotation"]:
        _check_topology_annotations(service, causes, context)
    if not ports(spec) and not is_headless(spec) and spec["type"] != "ExternalName":
        causes.required("spec.ports")
    _check_type_fields(spec, causes, context)
    _check_ports(spec, causes)
    check_labels(spec.get("selector"), "spec.selector", causes)
    _check_affinity(spec, causes)
    strict = context.gates["StrictIPCIDRValidation"]
    check_cluster_ips(spec, causes, addresses(before), strict=strict)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        is_old = address in (before.get("externalIPs") or ())
        errors = [] if is_old else address_errors(address, strict=strict)
        causes.invalid_each(path, address, errors)
        if not errors:
            non_special_address(address, path, causes)
    one_of(spec["type"], TYPES, "spec.type", causes)
    _check_node_ports(spec, causes)
    _check_repeated_ports(spec, causes)
    _check_mixed_protocols(spec, causes, context)
    if context.gates["AddressErrorsByValue"]:
        _check_each_source_range(service, old, causes, context)
    else:
        _check_source_ranges(service, causes, context)
    _check_load_balancer_fields(spec, causes)
    _check_external_policy(spec, causes, context.gates[BY_ADDRESSES])
    _check_internal_policy(spec, causes, context)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in DISTRIBUTIONS:
        causes.unsupported("spec.trafficDistribution", distribution, DISTRIBUTIONS)


def _check_topology_annotations(service: Object, causes: Causes, context: Context) -> None:
    annotations = service["metadata"].get("annotations") or {}
    mode_key, hints_key = (context.dialect.label(key) for key in (TOPOLOGY_MODE, TOPOLOGY_HINTS))
    mode, hints = annotations.get(mode_key), annotations.get(hints_key)
    if mode is not None and hints is not None and mode != hints:
        detail = f"must match annotations[{hints_key}] when both are specified"
        causes.invalid(f"metadata.annotations[{mode_key}]", mode, detail)


def _check_type_fields(spec: Object, causes: Causes, context: Context) -> None:
    kind = spec["type"]
    if kind == "LoadBalancer" and not context.gates["ServicesOnAnyPort"]:
        for index, port in enumerate(ports(spec)):
            if port["port"] == NODE_AGENT_PORT:
                detail = f"may not expose port {NODE_AGENT_PORT} externally since it is used by"
                causes.invalid(f"spec.ports[{index}]", NODE_AGENT_PORT, f"{detail} kubelet")
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        detail = f"may not be set to 'None' for {kind} services"
        causes.invalid("spec.clusterIPs[0]", "None", detail)
    if kind == "ExternalName":
        _check_external_name(spec, causes)


def _check_external_name(spec: Object, causes: Causes) -> None:
    if addresses(spec):
        causes.forbidden("spec.clusterIPs", _NOT_EXTERNAL_NAME)
    if families(spec):
        causes.forbidden("spec.ipFamilies", _NOT_EXTERNAL_NAME)
    if spec.get("ipFamilyPolicy") is not None:
        causes.forbidden("spec.ipFamilyPolicy", _NOT_EXTERNAL_NAME)
    name = spec.get("externalName", "").removesuffix(".")
    if name:
        causes.invalid_each("spec.externalName", name, dns_subdomain(name))
    else:
        causes.required("spec.externalName")


def _check_ports(spec: Object, causes: Causes) -> None:
    names: set[str] = set()
    several = len(ports(spec)) > 1
    for index, port in enumerate(ports(spec)):
        path = f"spec.ports[{index}]"
        name, application = port.get("name", ""), port.get("appProtocol")
        if name:
            causes.invalid_each(f"{path}.name", name, dns_label(name))
            if name in names:
                causes.duplicate(f"{path}.name", name)
            names.add(name)
        elif several:
            causes.required(f"{path}.name")
        port_number(port["port"], f"{path}.port", causes)
        one_of(port.get("protocol"), PROTOCOLS, f"{path}.protocol", causes)
        port_or_name(port["targetPort"], f"{path}.targetPort", causes)
        if application is not None:
            causes.invalid_each(f"{path}.appProtocol", application, qualified_name(application))


def _check_affinity(spec: Object, causes: Causes) -> None:
    kind, config = spec["sessionAffinity"], spec.get("sessionAffinityConfig")
    path = "spec.sessionAffinityConfig"
    one_of(kind, AFFINITIES, "spec.sessionAffinity", causes)
    if kind == "None" and config is not None:
        causes.forbidden(path, "must not be set when session affinity is None")
    if kind != "ClientIP":
        return
    seconds = (config or {}).get("clientIP", {}).get("timeoutSeconds")
    if seconds is None:
        causes.required(path, "when session affinity type is ClientIP")
    elif not 0 < seconds <= MAX_AFFINITY_SECONDS:
        detail = f"must be greater than 0 and less than {MAX_AFFINITY_SECONDS}"
        causes.invalid(f"{path}.clientIP.timeoutSeconds", seconds, detail)


def _check_node_ports(spec: Object, causes: Causes) -> None:
    seen: set[tuple[str, int]] = set()
    if spec["type"] == "ClusterIP":
        for index, port in enumerate(ports(spec)):
            if port.get("nodePort"):
                detail = "may not be used when `type` is 'ClusterIP'"
                causes.forbidden(f"spec.ports[{index}].nodePort", detail)
    for index, port in enumerate(ports(spec)):
        if not port.get("nodePort"):
            continue
        pair = (port.get("protocol", ""), port["nodePort"])
        if pair in seen:
            causes.duplicate(f"spec.ports[{index}].nodePort", port["nodePort"])
        seen.add(pair)


def _check_repeated_ports(spec: Object, causes: Causes) -> None:
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports(spec)):
        pair = (port.get("protocol", ""), port["port"])
        if pair in seen:
            causes.duplicate(f"spec.ports[{index}]", _shown_port(*pair))
        seen.add(pair)


def _shown_port(protocol: str, number: int) -> GoValue:
    return GoValue(
        f'core.ServicePort{{Name:"", Protocol:{quote(protocol)}, AppProtocol:(*string)(nil),'
        f' Port:{number}, TargetPort:intstr.IntOrString{{Type:0, IntVal:0, StrVal:""}},'
        " NodePort:0}"
    )


def _check_mixed_protocols(spec: Object, causes: Causes, context: Context) -> None:
    if not is_load_balancer(spec) or context.gates["MixedProtocolLBService"]:
        return
    if len({port.get("protocol") for port in ports(spec)}) > 1:
        detail = "may not contain a mix of protocols when 'type' is 'LoadBalancer'"
        causes.invalid("spec.ports", ports(spec), detail)


def _check_source_ranges(service: Object, causes: Causes, context: Context) -> None:
    spec = service["spec"]
    ranges = spec.get("loadBalancerSourceRanges") or []
    key = context.dialect.label(SOURCE_RANGES)
    annotation = (service["metadata"].get("annotations") or {}).get(key)
    if not ranges and annotation is None:
        return
    path = "spec.LoadBalancerSourceRanges" if ranges else f"metadata.annotations[{key}]"
    shown = f"[{' '.join(ranges)}]" if ranges else annotation
    texts = ranges or [part for part in (annotation or "").strip().split(",") if part]
    if not is_load_balancer(spec):
        causes.forbidden(path, ONLY_LOAD_BALANCER)
    if any(parse_network(text.strip()) is None for text in texts):
        detail = "must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 "
        causes.invalid(path, shown, detail)


def _check_each_source_range(
    service: Object, old: Object | None, causes: Causes, context: Context
) -> None:
    """Check the ranges. Spaces around a range are allowed, and ranges that the old service has are
    accepted."""
    spec, key = service["spec"], context.dialect.label(SOURCE_RANGES)
    strict = context.gates["StrictIPCIDRValidation"]
    ranges = spec.get("loadBalancerSourceRanges") or []
    annotation = (service["metadata"].get("annotations") or {}).get(key)
    path = "spec.LoadBalancerSourceRanges" if ranges else f"metadata.annotations[{key}]"
    if not is_load_balancer(spec) and (ranges or annotation is not None):
        causes.forbidden(path, ONLY_LOAD_BALANCER)
    if ranges:
        before = (old["spec"].get("loadBalancerSourceRanges") or []) if old is not None else []
        old_ranges = {text.strip() for text in before}
        for index, text in enumerate(text_range.strip() for text_range in ranges):
            if text not in old_ranges:
                errors = network_errors(text, strict=strict)
                causes.invalid_each(f"{path}[{index}]", text, errors)
        return
    known_annotation = (old["metadata"].get("annotations") or {}).get(key) if old else None
    if annotation is not None and annotation != known_annotation and annotation.strip():
        for text in annotation.split(","):
            causes.invalid_each(path, text.strip(), network_errors(text.strip(), strict=strict))


def _check_load_balancer_fields(spec: Object, causes: Causes) -> None:
    allocates = spec.get("allocateLoadBalancerNodePorts")
    if allocates is not None and not is_load_balancer(spec):
        causes.forbidden("spec.allocateLoadBalancerNodePorts", ONLY_LOAD_BALANCER)
    if allocates is None and is_load_balancer(spec):
        causes.required("allocateLoadBalancerNodePorts")
    check_load_balancer_class(spec, causes)


def check_load_balancer_class(spec: Object, causes: Causes) -> None:
    name = spec.get("loadBalancerClass")
    if name is None:
        return
    if is_load_balancer(spec):
        causes.invalid_each("spec.loadBalancerClass", name, qualified_name(name))
    else:
        causes.forbidden("spec.loadBalancerClass", ONLY_LOAD_BALANCER)


def _check_external_policy(spec: Object, causes: Causes, by_addresses: bool) -> None:
    path, policy = "spec.externalTrafficPolicy", spec.get("externalTrafficPolicy", "")
    if is_externally_accessible(spec, by_addresses):
        one_of(policy, POLICIES, path, causes)
    elif policy:
        detail = "may only be set when `type` is 'NodePort' or 'LoadBalancer'"
        if by_addresses:
            detail = "may only be set for externally-accessible services"
        causes.invalid(path, policy, detail)
    path, port = "spec.healthCheckNodePort", spec.get("healthCheckNodePort", 0)
    if needs_health_port(spec):
        if not port:
            causes.required(path)
        else:
            port_number(port, path, causes)
    elif port:
        detail = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        causes.invalid(path, port, detail)


def _check_internal_policy(spec: Object, causes: Causes, context: Context) -> None:
    if not context.gates["ServiceInternalTrafficPolicy"]:
        return
    path, policy = "spec.internalTrafficPolicy", spec.get("internalTrafficPolicy")
    if policy is None and spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        causes.required(path)
    if policy is not None and policy not in POLICIES:
        causes.unsupported(path, policy, POLICIES)


IP_MODES = ("Proxy", "VIP")


def check_service_status(value: Object, old: Object, causes: Causes, context: Context) -> None:
    points = value["status"]["loadBalancer"].get("ingress") or []
    path = "status.loadBalancer.ingress"
    if not context.gates["LoadBalancerIPMode"]:
        check_load_balancer_status(value["status"]["loadBalancer"], "status.loadBalancer", causes)
        return
    if points and not is_load_balancer(value["spec"]):
        causes.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    old_addresses = {
        point.get("ip") for point in old["status"]["loadBalancer"].get("ingress") or ()
    }
    strict = context.gates["StrictIPCIDRValidation"]
    for index, point in enumerate(points):
        field, address, mode = f"{path}[{index}]", point.get("ip", ""), point.get("ipMode")
        if address and address not in old_addresses:
            causes.invalid_each(f"{field}.ip", address, address_errors(address, strict=strict))
        if mode is None:
            if address:
                causes.required(f"{field}.ipMode", "must be specified when `ip` is set")
        elif not address:
            causes.forbidden(f"{field}.ipMode", "may not be specified when `ip` is not set")
        elif mode not in IP_MODES:
            causes.unsupported(f"{field}.ipMode", mode, IP_MODES)
        _check_point_hostname(point.get("hostname", ""), f"{field}.hostname", causes)


def check_load_balancer_status(status: Object, path: str, causes: Causes) -> None:
    """Check the addresses of a load balancer; the same for services and ingresses."""
    for index, point in enumerate(status.get("ingress") or ()):
        address, field = point.get("ip", ""), f"{path}.ingress[{index}]"
        if address and parse_address(address) is None:
            causes.invalid(f"{field}.ip", address, "must be a valid IP address")
        _check_point_hostname(point.get("hostname", ""), f"{field}.hostname", causes)


def _check_point_hostname(hostname: str, path: str, causes: Causes) -> None:
    if hostname:
        causes.invalid_each(path, hostname, dns_subdomain(hostname))
        if parse_address(hostname) is not None:
            causes.invalid(path, hostname, "must be a DNS name, not an IP address")
