"""Validation of a PodSpec, in the reference's order, and of the pod templates in other kinds."""

from __future__ import annotations

from typing import Final

from fairlead.codec.types.names import (
    dns_label,
    dns_subdomain,
    is_dns_label,
    is_dns_subdomain,
    qualified_name,
    subdomain_with_underscores,
)
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import address_errors, is_address
from fairlead.resources.core.pods.annotations import (
    check_app_armor_matches,
    check_pod_annotations,
    check_seccomp_matches,
    drop_init_annotations,
)
from fairlead.resources.core.pods.container_lists import containers_with_paths
from fairlead.resources.core.pods.containers import (
    PodFacts,
    check_containers,
    check_ephemeral_containers,
    check_init_containers,
)
from fairlead.resources.core.pods.defaults import (
    drop_disabled_fields,
    fill_host_ports,
    fill_spec_defaults,
)
from fairlead.resources.core.pods.environment import check_file_volumes
from fairlead.resources.core.pods.pod_resources import check_pod_resources, check_resource_claims
from fairlead.resources.core.pods.resources import check_resources
from fairlead.resources.core.pods.scheduling import (
    check_affinity,
    check_spreading,
    check_tolerations,
)
from fairlead.resources.core.pods.security import check_host_network, check_pod_security
from fairlead.resources.core.pods.warnings import warn_of_pod
from fairlead.resources.core.pods.windows import (
    check_host_process,
    check_system,
    uses_windows_options,
)
from fairlead.resources.core.volumes import check_volumes
from fairlead.resources.metadata import check_annotations, check_labels, go_strings
from fairlead.resources.rules import one_of

RESTART_POLICIES: Final[tuple[str, ...]] = ("Always", "OnFailure", "Never")
PREEMPTION_POLICIES: Final[tuple[str, ...]] = ("PreemptLowerPriority", "Never")
MAX_DEADLINE: Final = 2**31 - 1
DEADLINE_RANGE = f"must be between 1 and {MAX_DEADLINE}, inclusive"
STATELESS_VOLUMES = ("emptyDir", "secret", "downwardAPI", "configMap", "projected")
MAX_HOST_NAME_LENGTH: Final = 64
WITH_OWN_USERS = "when `pod.Spec.HostUsers` is false"


def check_spec(spec: Object, pod_name: str, path: str, causes: Causes, context: Context) -> None:
    """`pod_name` is empty for the spec of a template."""
    declared = spec.get("volumes")
    volumes = (
        check_volumes(declared, pod_name, f"{path}.volumes", causes, context) if declared else {}
    )
    claims: list[Object] = spec.get("resourceClaims") or []
    if claims:
        check_resource_claims(claims, f"{path}.resourceClaims", causes)
    claim_names = frozenset(claim["name"] for claim in claims if claim["name"])
    facts = PodFacts(spec, volumes, claim_names, context)
    check_containers(facts, f"{path}.containers", causes)
    if "initContainers" in spec:
        check_init_containers(facts, f"{path}.initContainers", causes)
    if "ephemeralContainers" in spec:
        check_ephemeral_containers(facts, f"{path}.ephemeralContainers", causes)
    if "resources" in spec:
        check_pod_resources(spec, path, causes, context)
    if spec.get("restartPolicy") not in RESTART_POLICIES:
        one_of(spec.get("restartPolicy"), RESTART_POLICIES, f"{path}.restartPolicy", causes)
    if spec.get("dnsPolicy") not in DNS_POLICIES:
        one_of(spec.get("dnsPolicy"), DNS_POLICIES, f"{path}.dnsPolicy", causes)
    if "nodeSelector" in spec:
        check_labels(spec["nodeSelector"], f"{path}.nodeSelector", causes)
    gates = context.gates
    if spec.get("hostNetwork"):
        check_host_network(spec, bool(pod_name), f"{path}.containers", causes, gates)
    check_pod_security(spec, path, causes, gates)
    _check_placing(spec, path, causes, context)
    if uses_windows_options(spec):
        check_host_process(spec, path, causes)
    if spec.get("hostUsers") is False:
        _check_own_users(spec, path, causes, context)
    if "hostnameOverride" in spec:
        _check_host_name(spec, f"{path}.hostnameOverride", causes)
    _check_subdomain(spec, "serviceAccountName", path, causes)
    _check_subdomain(spec, "nodeName", path, causes)
    deadline: int | None = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_DEADLINE:
        causes.invalid(f"{path}.activeDeadlineSeconds", deadline, DEADLINE_RANGE)
    _check_label(spec, "hostname", path, causes)
    _check_label(spec, "subdomain", path, causes)
    if spec.get("tolerations"):
        can_compare = gates["TaintTolerationComparisonOperators"]
        tolerations_path = f"{path}.tolerations"
        check_tolerations(spec["tolerations"], tolerations_path, causes, can_compare=can_compare)
    if spec.get("hostAliases"):
        check_host_aliases(spec["hostAliases"], f"{path}.hostAliases", causes, context)
    _check_class(spec, path, causes, context)
    if spec.get("os") is not None:
        check_system(spec, path, causes)
    if gates["EnvFiles"]:
        check_file_volumes(spec, path, causes)


def _check_subdomain(spec: Object, name: str, path: str, causes: Causes) -> None:
    value: str | None = spec.get(name)
    if value and not is_dns_subdomain(value):
        causes.invalid_each(f"{path}.{name}", value, dns_subdomain(value))


def _check_label(spec: Object, name: str, path: str, causes: Causes) -> None:
    value: str | None = spec.get(name)
    if value and not is_dns_label(value):
        causes.invalid_each(f"{path}.{name}", value, dns_label(value))


def _check_placing(spec: Object, path: str, causes: Causes, context: Context) -> None:
    if spec.get("affinity") is not None:
        check_affinity(spec["affinity"], f"{path}.affinity", causes, context.gates)
    policy: str = spec.get("dnsPolicy", "")
    if policy == "None" or "dnsConfig" in spec:
        config = spec.get("dnsConfig")
        check_dns_config(config, policy, f"{path}.dnsConfig", causes, context)
    gates: list[Object] | None = spec.get("readinessGates")
    for index, gate in enumerate(gates or ()):
        kind = gate["conditionType"]
        field = f"{path}.readinessGates[{index}].conditionType"
        causes.invalid_each(field, kind, qualified_name(kind))
    if "schedulingGates" in spec:
        _check_scheduling_gates(spec["schedulingGates"], f"{path}.schedulingGates", causes)
    constraints = spec.get("topologySpreadConstraints")
    if constraints:
        constraints_path = f"{path}.topologySpreadConstraints"
        check_spreading(constraints, constraints_path, causes, context.gates)


def _check_scheduling_gates(scheduling_gates: list[Object], path: str, causes: Causes) -> None:
    names: set[str] = set()
    for index, gate in enumerate(scheduling_gates):
        name = gate["name"]
        causes.invalid_each(f"{path}[{index}]", name, qualified_name(name))
        if name in names:
            causes.duplicate(f"{path}[{index}]", name)
        names.add(name)


def _check_host_name(spec: Object, path: str, causes: Causes) -> None:
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            causes.forbidden(path, f"may not be specified when {field} is true")
    name: str = spec["hostnameOverride"]
    if len(name.encode()) > MAX_HOST_NAME_LENGTH:
        causes.too_long(path, MAX_HOST_NAME_LENGTH)
    causes.invalid_each(path, name, dns_subdomain(name))


def _check_own_users(spec: Object, path: str, causes: Causes, context: Context) -> None:
    """A pod with its own user namespace cannot use host namespaces, and depending on the release
    no stateful volumes or no block devices."""
    if context.gates["UserNamespacesSupport"]:
        _check_users_of_host(spec, path, "when `hostUsers` is false", causes, context)
        for container, container_path in containers_with_paths(spec, path):
            if container.get("volumeDevices"):
                causes.forbidden(f"{container_path}.volumeDevices", "when `hostUsers` is false")
        return
    for index, volume in enumerate(spec.get("volumes") or ()):
        if not any(name in volume for name in STATELESS_VOLUMES):
            detail = f"volume type not supported {WITH_OWN_USERS}"
            causes.forbidden(f"{path}.volumes[{index}]", detail)
    _check_users_of_host(spec, path, WITH_OWN_USERS, causes, context)


def _check_users_of_host(
    spec: Object, path: str, detail: str, causes: Causes, context: Context
) -> None:
    for name, shown in (("hostNetwork",) * 2, ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if name == "hostNetwork" and context.gates["UserNamespacesHostNetworkSupport"]:
            continue
        if spec.get(name):
            causes.forbidden(f"{path}.{shown}", detail)


def _check_class(spec: Object, path: str, causes: Causes, context: Context) -> None:
    """Check priority class, runtime class, preemption policy and overhead."""
    _check_subdomain(spec, "priorityClassName", path, causes)
    runtime = spec.get("runtimeClassName")
    if runtime is not None:
        causes.invalid_each(f"{path}.runtimeClassName", runtime, dns_subdomain(runtime))
    preemption = spec.get("preemptionPolicy")
    if preemption is not None and preemption not in PREEMPTION_POLICIES:
        one_of(preemption, PREEMPTION_POLICIES, f"{path}.preemptionPolicy", causes)
    overhead = spec.get("overhead")
    if overhead:
        check_resources({"limits": overhead}, f"{path}.overhead", causes, context)


# DNS settings and host aliases

DNS_POLICIES: Final[tuple[str, ...]] = (
    "ClusterFirstWithHostNet",
    "ClusterFirst",
    "Default",
    "None",
)
NOT_AN_ADDRESS = "must be valid IP address"
MAX_NAMESERVERS = 3
# Number of search paths and of their characters, without and with the gate.
SEARCH_LIMITS, EXPANDED_SEARCH_LIMITS = (6, 256), (32, 2048)


def check_dns_config(
    config: Object | None, policy: str, path: str, causes: Causes, context: Context
) -> None:
    servers = (config or {}).get("nameservers") or []
    if policy == "None":
        if config is None:
            causes.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            causes.required(f"{path}.nameservers", detail)
            return
    if config is None:
        return
    if len(servers) > MAX_NAMESERVERS:
        detail = f"must not have more than {MAX_NAMESERVERS} nameservers"
        causes.invalid(f"{path}.nameservers", GoValue(go_strings(servers)), detail)
    for index, server in enumerate(servers):
        _check_address(server, f"{path}.nameservers[{index}]", causes, context)
    expanded = context.gates["ExpandedDNSConfig"]
    limits = EXPANDED_SEARCH_LIMITS if expanded else SEARCH_LIMITS
    relaxed = context.gates["RelaxedDNSSearchValidation"]
    _check_searches(config.get("searches") or [], limits, relaxed, f"{path}.searches", causes)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            causes.required(f"{path}.options[{index}]", "must not be empty")


def _check_searches(
    searches: list[str], limits: tuple[int, int], relaxed: bool, path: str, causes: Causes
) -> None:
    """`relaxed`: underscores and a single dot are allowed."""
    maximum, longest = limits
    if len(searches) > maximum:
        detail = f"must not have more than {maximum} search paths"
        causes.invalid(path, GoValue(go_strings(searches)), detail)
    if len(" ".join(searches)) > longest:
        detail = (
            f"must not have more than {longest} characters (including spaces) in the search list"
        )
        causes.invalid(path, GoValue(go_strings(searches)), detail)
    for index, search in enumerate(searches):
        if relaxed and search == ".":
            continue
        name = search.removesuffix(".")
        errors = subdomain_with_underscores(name) if relaxed else dns_subdomain(name)
        causes.invalid_each(f"{path}[{index}]", name, errors)


def check_host_aliases(aliases: list[Object], path: str, causes: Causes, context: Context) -> None:
    indexed = context.gates["AddressErrorsByValue"]
    for index, alias in enumerate(aliases):
        item_path = f"{path}[{index}]" if indexed else path
        _check_address(alias.get("ip", ""), f"{item_path}.ip", causes, context)
        for number, name in enumerate(alias.get("hostnames") or ()):
            name_path = f"{item_path}.hostnames" + (f"[{number}]" if indexed else "")
            causes.invalid_each(name_path, name, dns_subdomain(name))


def _check_address(address: str, path: str, causes: Causes, context: Context) -> None:
    if not context.gates["AddressErrorsByValue"]:
        if not is_address(address):
            causes.invalid(path, address, NOT_AN_ADDRESS)
        return
    strict = context.gates["StrictIPCIDRValidation"]
    causes.invalid_each(path, address, address_errors(address, strict=strict))


# Entry points for the kinds that contain pod specs and pod templates

NO_EPHEMERAL = "ephemeral containers not allowed in pod template"


def check_pod_template(template: Object, path: str, causes: Causes, context: Context) -> None:
    """Check the labels, annotations and spec of a PodTemplateSpec at `path`."""
    metadata, spec = template["metadata"], template["spec"]
    annotations = metadata.get("annotations")
    check_labels(metadata.get("labels"), f"{path}.labels", causes)
    check_annotations(annotations, f"{path}.annotations", causes)
    check_pod_annotations(annotations, spec, f"{path}.annotations", causes, context.dialect)
    check_pod_spec(spec, f"{path}.spec", causes, context)
    check_seccomp_matches(annotations, spec, f"{path}.spec", causes, context.dialect)
    if annotations and context.gates["AppArmorFields"]:
        check_app_armor_matches(annotations, spec, f"{path}.spec", causes, context.dialect)
    if spec.get("ephemeralContainers"):
        causes.forbidden(f"{path}.spec.ephemeralContainers", NO_EPHEMERAL)


def check_pod_spec(spec: Object, path: str, causes: Causes, context: Context) -> None:
    """Check a PodSpec at `path`."""
    check_spec(spec, "", path, causes, context)


def fill_template_defaults(template: Object, context: Context) -> None:
    """Set the defaults of a PodTemplateSpec that depend on other fields."""
    fill_spec_defaults(template["spec"])
    if context.gates["DefaultHostNetworkHostPortsInPodTemplates"]:
        fill_host_ports(template["spec"])
    drop_init_annotations(template["metadata"], context.dialect)


def drop_disabled_pod_fields(spec: Object, old_spec: Object | None, context: Context) -> None:
    """Remove the fields of disabled features, unless the old spec uses them."""
    drop_disabled_fields(spec, old_spec, context)


def template_warnings(template: Object, path: str, context: Context) -> None:
    """Report warnings about a PodTemplateSpec at `path`."""
    warn_of_pod(template["spec"], template["metadata"], f"{path}.", context)
