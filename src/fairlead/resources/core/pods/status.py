"""The status of pods: its rules, and the two forms of its addresses."""

from __future__ import annotations

from collections import defaultdict

from fairlead.codec.types.names import dns_label, dns_subdomain, qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import address_errors, family_of, is_address
from fairlead.resources.core.pods.go_text import go_pod_ip, go_pod_ips
from fairlead.resources.core.pods.restarts import all_may_restart, container_named, should_restart
from fairlead.resources.core.pods.security import check_id
from fairlead.resources.gates import Gates
from fairlead.resources.rules import IMMUTABLE

SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
NO_GENERATION = "must be a non-negative integer"
STILL_TERMINATED = "may not be transitioned to non-terminated state"


def sync_pod_addresses(status: Object) -> None:
    """Sync `podIP` with the first of `podIPs`; `podIP` wins."""
    single, many = status.get("podIP"), status.get("podIPs")
    if single and (not many or many[0].get("ip") != single):
        status["podIPs"] = [{"ip": single}]
    elif many and not single:
        first = many[0].get("ip")
        if first:
            status["podIP"] = first


def check_status(status: Object, old: Object, spec: Object, causes: Causes, gates: Gates) -> None:
    """The rules before conditions and statuses had generations."""
    _check_nominated_node(status, old, causes)
    restart_policy = spec.get("restartPolicy", "")
    for name, policy in (
        ("containerStatuses", restart_policy),
        ("initContainerStatuses", restart_policy),
        ("ephemeralContainerStatuses", "Never"),
    ):
        before, after = old.get(name) or (), status.get(name) or ()
        _check_transitions(before, after, policy, f"status.{name}", causes)
    _check_addresses(status, "podIPs", old, causes, gates)


def _check_nominated_node(status: Object, old: Object, causes: Causes) -> None:
    node = status.get("nominatedNodeName", "")
    if node and node != old.get("nominatedNodeName"):
        causes.invalid_each("status.nominatedNodeName", node, dns_subdomain(node))


def check_conditions(status: Object, path: str, causes: Causes) -> None:
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition["type"]
        if condition.get("observedGeneration", 0) < 0:
            field = f"{path}[{index}].observedGeneration"
            causes.invalid(field, condition["observedGeneration"], NO_GENERATION)
        if kind not in SYSTEM_CONDITIONS:
            causes.invalid_each(f"{path}[{index}].Type", kind, qualified_name(kind))


def _check_transitions(
    before: list[Object] | tuple[()],
    after: list[Object] | tuple[()],
    policy: str,
    path: str,
    causes: Causes,
) -> None:
    """A container that terminated for good must not run again."""
    if policy == "Always":
        return
    for index, old in enumerate(before):
        ended = (old.get("state") or {}).get("terminated")
        if ended is None or (ended["exitCode"] != 0 and policy == "OnFailure"):
            continue
        for new in after:
            if new["name"] == old["name"] and (new.get("state") or {}).get("terminated") is None:
                causes.forbidden(f"{path}[{index}].state", STILL_TERMINATED)


def _check_addresses(status: Object, name: str, old: Object, causes: Causes, gates: Gates) -> None:
    """Check a list of addresses; in later releases those of the old status may stay invalid."""
    path, by_value = f"status.{name}", gates["AddressErrorsByValue"]
    addresses, old_addresses = _addresses(status, name), _addresses(old, name) if by_value else ()
    for index, address in enumerate(addresses):
        if address not in old_addresses:
            errors = address_errors(address, strict=gates["StrictIPCIDRValidation"])
            causes.invalid_each(f"{path}[{index}]", address, errors)
    if len(addresses) < 2:
        return
    invalid = [number for number, address in enumerate(addresses) if not is_address(address)]
    if invalid:
        first = f"invalid IP[{invalid[0]}]: {addresses[invalid[0]]}"
        problem = first if by_value else "ip <nil> is invalid"
        causes.internal(path, f"failed to check for dual stack with error:{problem}")
    if invalid or not _is_dual_stack(addresses):
        detail = "may specify no more than one IP for each IP family"
        causes.invalid(path, go_pod_ips(addresses), detail)
    if not by_value:
        for index, address in enumerate(addresses):
            if address in addresses[:index]:
                causes.duplicate(f"{path}[{index}]", go_pod_ip(address))


def _addresses(status: Object, name: str) -> list[str]:
    return [address.get("ip", "") for address in status.get(name) or ()]


def _is_dual_stack(addresses: list[str]) -> bool:
    return len(addresses) == 2 and len({family_of(address) for address in addresses}) == 2


# Rules of later releases


def keep_observed_generations(status: Object, old: Object) -> None:
    """Keep the observed generations that an update leaves out."""
    if not status.get("observedGeneration") and old.get("observedGeneration"):
        status["observedGeneration"] = old["observedGeneration"]
    if not any("observedGeneration" in condition for condition in old.get("conditions") or ()):
        return
    before: dict[str, list[int]] = defaultdict(list)
    for condition in old["conditions"]:
        before[condition["type"]].append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or ():
        generations = before[condition["type"]]
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def check_newer_status(value: Object, old_pod: Object, causes: Causes, context: Context) -> None:
    status, old, spec = value["status"], old_pod["status"], old_pod["spec"]
    check_conditions(status, "status.conditions", causes)
    _check_nominated_node(status, old, causes)
    node = status.get("nominatedNodeName", "")
    is_nominated = node and node != old.get("nominatedNodeName") and spec.get("nodeName")
    if is_nominated and context.gates["ClearingNominatedNodeNameAfterBinding"]:
        detail = "may not be set on pods that are already bound to a node"
        causes.forbidden("status.nominatedNodeName", detail)
    if status.get("observedGeneration", 0) < 0:
        causes.invalid("status.observedGeneration", status["observedGeneration"], NO_GENERATION)
    if status.get("qosClass", "") != old.get("qosClass", ""):
        causes.invalid("status.qosClass", status.get("qosClass", ""), IMMUTABLE)
    _check_restarts(status, old, spec, causes)
    if "resourceClaimStatuses" in status:
        _check_claim_statuses(status["resourceClaimStatuses"], spec, causes)
    if "extendedResourceClaimStatus" in status:
        _check_extended(status["extendedResourceClaimStatus"], spec, causes)
    first = (_addresses(status, "hostIPs") or [""])[0]
    if first and first != status.get("hostIP", ""):
        causes.invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`")
    for name in ("podIPs", "hostIPs"):
        _check_addresses(status, name, old, causes, context.gates)
    for name in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for index, container in enumerate(status.get(name) or ()):
            path = f"status.{name}[{index}]"
            if "user" in container:
                _check_user(container["user"], spec, f"{path}.user.linux", causes)
            if "allocatedResourcesStatus" in container:
                _check_allocated(container, spec, name, path, causes)


def _check_restarts(status: Object, old: Object, spec: Object, causes: Causes) -> None:
    """A container that terminated must not run again unless its policy or rules restart it."""
    may_restart = all_may_restart(spec)
    for name in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        is_ephemeral = name == "ephemeralContainerStatuses"
        if may_restart and not is_ephemeral:
            continue
        states = {item["name"]: item.get("state") or {} for item in status.get(name) or ()}
        for index, before in enumerate(old.get(name) or ()):
            ended = (before.get("state") or {}).get("terminated")
            state = states.get(before["name"])
            if ended is None or state is None or state.get("terminated") is not None:
                continue
            container = None if is_ephemeral else container_named(spec, before["name"])
            if container is None or not should_restart(container, spec, ended["exitCode"]):
                causes.forbidden(f"status.{name}[{index}].state", STILL_TERMINATED)


def _check_claim_statuses(statuses: list[Object], spec: Object, causes: Causes) -> None:
    declared = {claim["name"] for claim in spec.get("resourceClaims") or ()}
    names: set[str] = set()
    for index, claim in enumerate(statuses):
        path, name = f"status.resourceClaimStatuses[{index}]", claim["name"]
        if name not in declared:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            causes.invalid(f"{path}.name", name, detail)
        if name in names:
            causes.duplicate(f"{path}.name", name)
        names.add(name)
        claim_name = claim.get("resourceClaimName")
        if claim_name is not None:
            field = f"{path}.resourceClaimName"
            causes.invalid_each(field, claim_name, dns_subdomain(claim_name))


def _check_extended(status: Object, spec: Object, causes: Causes) -> None:
    """Check the claim that stands for extended resources of containers."""
    path = "status.extendedResourceClaimStatus"
    mappings: list[Object] = status.get("requestMappings") or []
    if not mappings:
        causes.required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: set[tuple[str, str, str]] = set()
    for index, mapping in enumerate(mappings):
        _check_mapping(mapping, seen, spec, path, index, causes)
    name = status.get("resourceClaimName", "")
    if not name:
        causes.required(f"{path}.resourceClaimName")
    else:
        causes.invalid_each(f"{path}.resourceClaimName", name, dns_subdomain(name))


def _check_mapping(
    mapping: Object,
    seen: set[tuple[str, str, str]],
    spec: Object,
    path: str,
    index: int,
    causes: Causes,
) -> None:
    names = ("containerName", "resourceName", "requestName")
    container_name, resource, request = (mapping.get(name, "") for name in names)
    field = f"{path}.requestMappings[{index}]"
    container = container_named(spec, container_name)
    if container is None:
        detail = (
            "must match the name of an entry in spec.initContainers.name or spec.containers.name"
        )
        causes.invalid(f"{field}.containerName", container_name, detail)
    elif resource not in (container["resources"].get("requests") or {}):
        detail = (
            "must match the extended resource name of an entry in"
            " spec.initContainers.resources.requests or spec.containers.resources.requests"
        )
        causes.invalid(f"{field}.resourceName", resource, detail)
    causes.invalid_each(f"{path}.requestName", request, dns_label(request))
    key = container_name, resource, request
    if key in seen:
        for name in names:
            causes.duplicate(f"{field}.{name}", mapping.get(name, ""))
    seen.add(key)


def _check_user(user: Object, spec: Object, path: str, causes: Causes) -> None:
    linux: Object | None = user.get("linux")
    system = (spec.get("os") or {}).get("name", "linux")
    if linux is None:
        return
    if system == "windows":
        causes.forbidden(path, "cannot be set for a windows pod")
    elif system == "linux":
        check_id(linux.get("uid"), f"{path}.uid", causes)
        check_id(linux.get("gid"), f"{path}.gid", causes)
        for index, group in enumerate(linux.get("supplementalGroups") or ()):
            check_id(group, f"{path}.supplementalGroups[{index}]", causes)


HEALTH_STATES = ("Healthy", "Unhealthy", "Unknown")
MAX_HEALTH_MESSAGE = 1024


def _check_allocated(container: Object, spec: Object, name: str, path: str, causes: Causes) -> None:
    """Check the health of the devices of a container."""
    path = f"{path}.allocatedResourcesStatus"
    if name == "ephemeralContainerStatuses":
        causes.forbidden(path, "must not be specified in container status")
        return
    declared = container_named(spec, container["name"])
    for index, allocated in enumerate(container["allocatedResourcesStatus"]):
        if declared is not None:
            _check_allocated_name(allocated["name"], declared, f"{path}[{index}].name", causes)
        seen: set[str] = set()
        for number, resource in enumerate(allocated.get("resources") or ()):
            field = f"{path}[{index}].resources[{number}]"
            health, message = resource.get("health", ""), resource.get("message")
            if health not in HEALTH_STATES:
                causes.unsupported(f"{field}.health", health, HEALTH_STATES)
            if message is not None and not message:
                causes.required(f"{field}.message", "must be non-empty if specified")
            elif message is not None and len(message.encode()) > MAX_HEALTH_MESSAGE:
                causes.too_long(f"{field}.message", MAX_HEALTH_MESSAGE)
            identifier = resource.get("resourceID", "")
            if identifier in seen:
                causes.duplicate(f"{field}.resourceID", identifier)
            seen.add(identifier)


def _check_allocated_name(name: str, container: Object, path: str, causes: Causes) -> None:
    resources: Object = container["resources"]
    if name.startswith("claim:"):
        names = {
            f"claim:{claim['name']}" + (f"/{claim['request']}" if claim.get("request") else "")
            for claim in resources.get("claims") or ()
        }
        detail = (
            "must match one of the container's resource claims in a format"
            " 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
        )
    else:
        names = set(resources.get("requests") or ())
        detail = "must match one of the container's resource requests"
    if name not in names:
        causes.invalid(path, name, detail)
