"""Validation of containers: regular, init and ephemeral containers."""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.codec.types.names import dns_label, is_dns_label
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.container_lists import PROBES
from fairlead.resources.core.pods.environment import check_env, check_env_from
from fairlead.resources.core.pods.handlers import check_lifecycle, check_probes
from fairlead.resources.core.pods.mounts import check_mounts
from fairlead.resources.core.pods.resources import check_claims, check_resources
from fairlead.resources.core.pods.restarts import (
    check_init_restart_policy,
    check_resize_policy,
    check_restart_policy,
)
from fairlead.resources.core.pods.security import check_security_context
from fairlead.resources.core.pods.totals import is_sidecar
from fairlead.resources.rules import PORT_RANGE, PROTOCOLS, is_usual_port_name, port_name_errors

PULL_POLICIES: Final[tuple[str, ...]] = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES: Final[tuple[str, ...]] = ("File", "FallbackToLogsOnError")
NOT_FOR_INIT = "may not be set for init containers"
NOT_FOR_PLAIN_INIT = "may not be set for init containers without restartPolicy=Always"
NOT_FOR_EPHEMERAL = "cannot be set for an Ephemeral Container"
SURROUNDING_SPACE = "must not have leading or trailing whitespace"
_REGULAR_ONLY = ("lifecycle", *PROBES)
_NOT_EPHEMERAL = (
    "ports",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
)
_POINTERS = ("lifecycle", "restartPolicy")  # set even if they are empty


class PodFacts(NamedTuple):
    """What the rules of containers refer to: the spec, its valid volumes by name, and the names of
    its resource claims."""

    spec: Object
    volumes: dict[str, Object]
    claims: frozenset[str]
    context: Context


def check_containers(facts: PodFacts, path: str, causes: Causes) -> None:
    containers: list[Object] | None = facts.spec["containers"]
    if not containers:
        causes.required(path)
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        container_path = f"{path}[{index}]"
        _check_common(container, facts, container_path, causes)
        name: str = container["name"]
        if name in names:
            causes.duplicate(f"{container_path}.name", name)
        names.add(name)
        _check_running(container, facts, container_path, causes)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            check_restart_policy(container, container_path, causes, facts.context)
    _check_host_ports(containers, path, causes)


def _check_running(container: Object, facts: PodFacts, path: str, causes: Causes) -> None:
    """Check the hooks and probes of a container that runs all the time."""
    if "lifecycle" in container:
        check_lifecycle(container["lifecycle"], facts.spec, f"{path}.lifecycle", causes)
    check_probes(container, path, causes)


def check_init_containers(facts: PodFacts, path: str, causes: Causes) -> None:
    """Names are unique among init and regular containers. Host ports are unique within each init
    container only, because those run one after the other."""
    spec, has_sidecars = facts.spec, facts.context.gates["SidecarContainers"]
    names = {container["name"] for container in spec["containers"] or ()}
    for index, container in enumerate(spec.get("initContainers") or ()):
        container_path = f"{path}[{index}]"
        _check_common(container, facts, container_path, causes)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            check_init_restart_policy(container, container_path, causes, facts.context)
        if container["name"] in names:
            causes.duplicate(f"{container_path}.name", container["name"])
        elif container["name"]:
            names.add(container["name"])
        _check_host_ports([container], path, causes)
        if is_sidecar(container):
            _check_running(container, facts, container_path, causes)
        else:
            refusal = NOT_FOR_PLAIN_INIT if has_sidecars else NOT_FOR_INIT
            _check_plain_init(container, container_path, refusal, causes)


def _check_plain_init(container: Object, path: str, refusal: str, causes: Causes) -> None:
    """Check an init container that ends before the next one starts."""
    for name in _REGULAR_ONLY:
        if container.get(name) is not None:
            causes.forbidden(f"{path}.{name}", refusal)
    for index, policy in enumerate(container.get("resizePolicy") or ()):
        if policy.get("restartPolicy") == "RestartContainer":
            detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            field = f"{path}.resizePolicy[{index}].restartPolicy"
            causes.invalid(field, "RestartContainer", detail)


def check_ephemeral_containers(facts: PodFacts, path: str, causes: Causes) -> None:
    spec = facts.spec
    others = {c["name"] for c in spec["containers"] or ()}
    others.update(c["name"] for c in spec.get("initContainers") or ())
    names = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        container_path = f"{path}[{index}]"
        _check_common(container, facts, container_path, causes)
        check_image_space(container, container_path, causes)
        if container["name"] in names:
            causes.duplicate(f"{container_path}.name", container["name"])
        names.add(container["name"])
        target = container.get("targetContainerName", "")
        if target and target not in others:
            causes.not_found(f"{container_path}.targetContainerName", target)
        for name in _NOT_EPHEMERAL:
            if container.get(name) or (name in _POINTERS and container.get(name) is not None):
                causes.forbidden(f"{container_path}.{name}", NOT_FOR_EPHEMERAL)
        _check_ephemeral_mounts(container, f"{container_path}.volumeMounts", causes)


def _check_ephemeral_mounts(container: Object, path: str, causes: Causes) -> None:
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        for name in ("subPath", "subPathExpr"):
            if mount.get(name):
                causes.forbidden(f"{path}[{index}].{name}", NOT_FOR_EPHEMERAL)


def has_image_space(container: Object) -> bool:
    """Whether the name of the image starts or ends with whitespace."""
    image: str = container.get("image", "")
    return image[:1].isspace() or image[-1:].isspace()


def check_image_space(container: Object, path: str, causes: Causes) -> None:
    if has_image_space(container):
        causes.invalid(f"{path}.image", container["image"], SURROUNDING_SPACE)


def _check_common(container: Object, facts: PodFacts, path: str, causes: Causes) -> None:
    """Check the rules of all containers."""
    name: str = container["name"]
    if not name:
        causes.required(f"{path}.name")
    elif not is_dns_label(name):
        causes.invalid_each(f"{path}.name", name, dns_label(name))
    if not container.get("image"):
        causes.required(f"{path}.image")
    policy: str = container.get("terminationMessagePolicy", "")
    if policy not in MESSAGE_POLICIES:
        _check_choice(policy, MESSAGE_POLICIES, f"{path}.terminationMessagePolicy", causes)
    if "ports" in container:
        _check_ports(container["ports"], path, causes)
    if "env" in container:
        check_env(container["env"], path, causes, facts.context)
    if "envFrom" in container:
        check_env_from(container["envFrom"], f"{path}.envFrom", causes, facts.context)
    check_mounts(container, facts.volumes, path, causes)
    pull: str = container.get("imagePullPolicy", "")
    if pull not in PULL_POLICIES:
        _check_choice(pull, PULL_POLICIES, f"{path}.imagePullPolicy", causes)
    resources: Object = container["resources"]
    if resources:
        check_resources(resources, f"{path}.resources", causes, facts.context)
        if "claims" in resources:
            check_claims(resources["claims"], facts.claims, f"{path}.resources.claims", causes)
    if "resizePolicy" in container:
        pod_policy = facts.spec.get("restartPolicy", "")
        check_resize_policy(container["resizePolicy"], pod_policy, f"{path}.resizePolicy", causes)
    security: Object | None = container.get("securityContext")
    if security:
        gates = facts.context.gates
        check_security_context(security, facts.spec, f"{path}.securityContext", causes, gates)


def _check_choice(value: str, supported: tuple[str, ...], path: str, causes: Causes) -> None:
    if value:
        causes.unsupported(path, value, supported)
    else:
        causes.required(path)


def _check_ports(ports: list[Object], path: str, causes: Causes) -> None:
    """Check the ports of the container at `path`."""
    names: set[str] = set()
    for index, port in enumerate(ports):
        name: str = port.get("name", "")
        number: int = port["containerPort"]
        host: int = port.get("hostPort", 0)
        if name in names or not is_usual_port_name(name):
            if name:
                _check_port_name(name, names, f"{path}.ports[{index}].name", causes)
        else:
            names.add(name)
        if not 1 <= number <= 65535:
            if number:
                causes.invalid(f"{path}.ports[{index}].containerPort", number, PORT_RANGE)
            else:
                causes.required(f"{path}.ports[{index}].containerPort")
        if host and not 1 <= host <= 65535:
            causes.invalid(f"{path}.ports[{index}].hostPort", host, PORT_RANGE)
        protocol: str = port.get("protocol", "")
        if protocol not in PROTOCOLS:
            _check_choice(protocol, PROTOCOLS, f"{path}.ports[{index}].protocol", causes)


def _check_port_name(name: str, names: set[str], path: str, causes: Causes) -> None:
    errors = port_name_errors(name)
    if errors:
        causes.invalid_each(path, name, errors)
    elif name in names:
        causes.duplicate(path, name)
    else:
        names.add(name)


def _check_host_ports(containers: list[Object], path: str, causes: Causes) -> None:
    """Each host port may be used once."""
    used: set[str] = set()
    for index, container in enumerate(containers):
        ports: list[Object] | None = container.get("ports")
        for number, port in enumerate(ports or ()):
            host: int | None = port.get("hostPort")
            if not host:
                continue
            shown = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{host}"
            if shown in used:
                causes.duplicate(f"{path}[{index}].ports[{number}].hostPort", shown)
            used.add(shown)
