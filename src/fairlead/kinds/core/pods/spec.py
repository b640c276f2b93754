"""The rules of a PodSpec, in the order of the reference."""

from __future__ import annotations

from fairlead.kinds.behaviour import Object
from fairlead.kinds.causes import Causes
from fairlead.kinds.context import Context
from fairlead.kinds.core.pods.containers import (
    check_containers,
    check_ephemeral_containers,
    check_init_containers,
)
from fairlead.kinds.core.pods.networking import (
    DNS_POLICIES,
    check_dns_config,
    check_host_aliases,
)
from fairlead.kinds.core.pods.resources import check_resources
from fairlead.kinds.core.pods.scheduling import (
    check_affinity,
    check_spreading,
    check_tolerations,
)
from fairlead.kinds.core.pods.security import check_pod_security
from fairlead.kinds.core.pods.windows import (
    check_host_process,
    check_system,
    uses_windows_options,
)
from fairlead.kinds.core.volumes import check_volumes
from fairlead.kinds.metadata import check_labels
from fairlead.kinds.rules import one_of
from fairlead.schema.names import dns_label, dns_subdomain, qualified_name

RESTART_POLICIES = ("Always", "OnFailure", "Never")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
LONGEST_DEADLINE = 2**31 - 1
DEADLINE_RANGE = f"must be between 1 and {LONGEST_DEADLINE}, inclusive"
STATELESS_VOLUMES = ("emptyDir", "secret", "downwardAPI", "configMap", "projected")
WITH_OWN_USERS = "when `pod.Spec.HostUsers` is false"

# Names in a pod spec and their syntax, in the two places where they are looked at.
_FIRST_NAMES = (("serviceAccountName", dns_subdomain), ("nodeName", dns_subdomain))
_NETWORK_NAMES = (("hostname", dns_label), ("subdomain", dns_label))


def check_spec(spec: Object, pod_name: str, path: str, causes: Causes, context: Context) -> None:
    """`pod_name` is empty for the spec of a template."""
    given = spec.get("volumes")
    volumes = check_volumes(given, pod_name, f"{path}.volumes", causes, context) if given else {}
    check_containers(spec["containers"], volumes, f"{path}.containers", causes, context)
    if "initContainers" in spec:
        check_init_containers(spec, volumes, f"{path}.initContainers", causes, context)
    if "ephemeralContainers" in spec:
        check_ephemeral_containers(spec, volumes, f"{path}.ephemeralContainers", causes, context)
    one_of(spec.get("restartPolicy"), RESTART_POLICIES, f"{path}.restartPolicy", causes)
    one_of(spec.get("dnsPolicy"), DNS_POLICIES, f"{path}.dnsPolicy", causes)
    check_labels(spec.get("nodeSelector"), f"{path}.nodeSelector", causes)
    check_pod_security(spec, path, causes)
    _check_placing(spec, path, causes, context)
    if uses_windows_options(spec):
        check_host_process(spec, path, causes)
    if spec.get("hostUsers") is False:
        _check_own_users(spec, path, causes)
    _check_names(spec, _FIRST_NAMES, path, causes)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= LONGEST_DEADLINE:
        causes.invalid(f"{path}.activeDeadlineSeconds", deadline, DEADLINE_RANGE)
    _check_names(spec, _NETWORK_NAMES, path, causes)
    check_tolerations(spec.get("tolerations") or [], f"{path}.tolerations", causes)
    check_host_aliases(spec.get("hostAliases") or [], f"{path}.hostAliases", causes)
    _check_class(spec, path, causes, context)
    if spec.get("os") is not None:
        check_system(spec, path, causes)


def _check_names(
    spec: Object, rows: tuple[tuple[str, object], ...], path: str, causes: Causes
) -> None:
    for name, rule in rows:
        value = spec.get(name)
        if value:
            assert callable(rule)
            causes.invalid_each(f"{path}.{name}", value, rule(value))


def _check_placing(spec: Object, path: str, causes: Causes, context: Context) -> None:
    if spec.get("affinity") is not None:
        check_affinity(spec["affinity"], f"{path}.affinity", causes)
    policy = spec.get("dnsPolicy", "")
    if policy == "None" or "dnsConfig" in spec:
        config = spec.get("dnsConfig")
        check_dns_config(config, policy, f"{path}.dnsConfig", causes, context)
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate["conditionType"]
        field = f"{path}.readinessGates[{index}].conditionType"
        causes.invalid_each(field, kind, qualified_name(kind))
    constraints = spec.get("topologySpreadConstraints")
    if constraints:
        check_spreading(constraints, f"{path}.topologySpreadConstraints", causes)


def _check_own_users(spec: Object, path: str, causes: Causes) -> None:
    """A pod with users of its own cannot share what carries the host's."""
    for index, volume in enumerate(spec.get("volumes") or ()):
        if not any(name in volume for name in STATELESS_VOLUMES):
            detail = f"volume type not supported {WITH_OWN_USERS}"
            causes.forbidden(f"{path}.volumes[{index}]", detail)
    for name, shown in (("hostNetwork",) * 2, ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(name):
            causes.forbidden(f"{path}.{shown}", WITH_OWN_USERS)


def _check_class(spec: Object, path: str, causes: Causes, context: Context) -> None:
    """Which class a pod is of, in importance and in how it runs."""
    priority = spec.get("priorityClassName")
    if priority:
        causes.invalid_each(f"{path}.priorityClassName", priority, dns_subdomain(priority))
    runtime = spec.get("runtimeClassName")
    if runtime is not None:
        causes.invalid_each(f"{path}.runtimeClassName", runtime, dns_subdomain(runtime))
    preemption = spec.get("preemptionPolicy")
    if preemption is not None:
        one_of(preemption, PREEMPTION_POLICIES, f"{path}.preemptionPolicy", causes)
    overhead = spec.get("overhead")
    if overhead:
        check_resources({"limits": overhead}, f"{path}.overhead", causes, context)
