"""Defaults of pod specs that depend on other fields, and fields of features that are off."""

from __future__ import annotations

from typing import Final

from fairlead.resources.behaviour import Object
from fairlead.resources.context import Context
from fairlead.resources.core.pods.every_container import (
    CONTAINER_LISTS,
    DECLARED_LISTS,
    PROBES,
    all_containers,
)
from fairlead.resources.core.pods.images import default_pull_policy
from fairlead.resources.core.pods.resources import round_up_amounts
from fairlead.resources.core.volumes import has_source


def fill_spec_defaults(spec: Object) -> None:
    """What holds in pods and in templates."""
    volumes: list[Object] | None = spec.get("volumes")
    for volume in volumes or ():
        if not has_source(volume):
            volume["emptyDir"] = {}
        if "ephemeral" in volume:
            _round_claim(volume["ephemeral"])
    host_network = bool(spec.get("hostNetwork"))
    for name in CONTAINER_LISTS:
        containers: list[Object] | None = spec.get(name)
        for container in containers or ():
            _fill_container(container)
            if host_network and name != "ephemeralContainers":
                _fill_host_ports(container)
    round_up_amounts(spec.get("overhead"))
    account: str | None = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:  # two names of one field; the newer one wins
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _fill_container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image", ""))
    resources: Object = container["resources"]
    if resources:
        round_up_amounts(resources.get("limits"))
        round_up_amounts(resources.get("requests"))


def _round_claim(ephemeral: Object | None) -> None:
    template = (ephemeral or {}).get("volumeClaimTemplate")
    if template is not None:
        resources = template["spec"]["resources"]
        round_up_amounts(resources.get("limits"))
        round_up_amounts(resources.get("requests"))


def _fill_host_ports(container: Object) -> None:
    for port in container.get("ports") or ():
        if not port.get("hostPort") and port["containerPort"]:
            port["hostPort"] = port["containerPort"]


def fill_requests(spec: Object) -> None:
    """In a pod, what is limited is also requested."""
    for name in DECLARED_LISTS:
        containers: list[Object] | None = spec.get(name)
        for container in containers or ():
            resources: Object = container["resources"]
            limits: Object | None = resources.get("limits")
            if not limits:
                continue
            requests: Object | None = resources.get("requests")
            if requests is None:
                resources["requests"] = dict(limits)
            else:
                for resource, amount in limits.items():
                    requests.setdefault(resource, amount)


# Fields of spread constraints and the gate each needs.
_GATED_CONSTRAINTS: Final[dict[str, str]] = {
    "minDomains": "MinDomainsInPodTopologySpread",
    "nodeAffinityPolicy": "NodeInclusionPolicyInPodTopologySpread",
    "nodeTaintsPolicy": "NodeInclusionPolicyInPodTopologySpread",
    "matchLabelKeys": "MatchLabelKeysInPodTopologySpread",
}
# Fields of probes and the gate each needs.
_GATED_PROBES: Final[dict[str, str]] = {
    "terminationGracePeriodSeconds": "ProbeTerminationGracePeriod",
    "grpc": "GRPCContainerProbe",
}
# Fields of pods and the gate each needs.
_GATED_FIELDS: Final[dict[str, str]] = {
    "hostUsers": "UserNamespacesStatelessPodsSupport",
    "os": "IdentifyPodOS",
}


def drop_disabled_fields(spec: Object, old: Object | None, context: Context) -> None:
    gates = context.gates
    before = old or {}
    for field, gate in _GATED_FIELDS.items():
        if field in spec and not gates[gate] and before.get(field) is None:
            del spec[field]
    if "topologySpreadConstraints" in spec:
        constraints = spec["topologySpreadConstraints"]
        before_constraints = before.get("topologySpreadConstraints") or []
        _drop_gated(constraints, before_constraints, _GATED_CONSTRAINTS, context)
    if not all(gates[gate] for gate in _GATED_PROBES.values()):
        _drop_gated(_probes(spec), _probes(before), _GATED_PROBES, context)
    if not gates["ProcMountType"] and not (old and _uses_proc_mount(old)):
        for container in all_containers(spec):
            security: Object | None = container.get("securityContext")
            if security and security.get("procMount") is not None:
                security["procMount"] = "Default"


def _probes(spec: Object) -> list[Object]:
    containers = all_containers(spec)
    return [c[name] for c in containers for name in PROBES if c.get(name) is not None]


def _drop_gated(
    items: list[Object], before: list[Object], gated: dict[str, str], context: Context
) -> None:
    for field, gate in gated.items():
        if context.gates[gate] or any(field in item for item in before):
            continue
        for item in items:
            item.pop(field, None)


def _uses_proc_mount(spec: Object) -> bool:
    mounts = [(c.get("securityContext") or {}).get("procMount") for c in all_containers(spec)]
    return any(mount not in (None, "Default") for mount in mounts)
