"""Defaults of pod specs that depend on other fields."""

from __future__ import annotations

import re

from fairlead.base.caches import memoized
from fairlead.resources.behaviour import Object
from fairlead.resources.context import Context
from fairlead.resources.core.pods.container_lists import (
    CONTAINER_LISTS,
    DECLARED_LISTS,
    all_containers,
)
from fairlead.resources.core.pods.resources import round_up_amounts
from fairlead.resources.core.volumes import has_source


def fill_spec_defaults(spec: Object) -> None:
    """Set the defaults of pods and of pod templates."""
    volumes: list[Object] | None = spec.get("volumes")
    for volume in volumes or ():
        if not has_source(volume):
            volume["emptyDir"] = {}
        if "ephemeral" in volume:
            _round_claim(volume["ephemeral"])
        if "image" in volume and not volume["image"].get("pullPolicy"):
            reference: str = volume["image"].get("reference", "")
            volume["image"]["pullPolicy"] = default_pull_policy(reference)
    for name in CONTAINER_LISTS:
        containers: list[Object] | None = spec.get(name)
        for container in containers or ():
            _fill_container(container)
    round_up_amounts(spec.get("overhead"))
    account: str | None = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:  # two names of one field; the newer name wins
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


def fill_host_ports(spec: Object) -> None:
    """The ports of containers on the host's network are ports of the host."""
    if not spec.get("hostNetwork"):
        return
    for name in DECLARED_LISTS:
        for container in spec.get(name) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort") and port["containerPort"]:
                    port["hostPort"] = port["containerPort"]


def fill_requests(spec: Object) -> None:
    """In a pod, the default of a request is the limit."""
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


def drop_disabled_fields(spec: Object, old: Object | None, context: Context) -> None:
    """Reset what a disabled feature does not allow; whole fields of such features are dropped by
    `resources.gated_fields`."""
    if not context.gates["ProcMountType"] and not (old and _uses_proc_mount(old)):
        for container in all_containers(spec):
            security: Object | None = container.get("securityContext")
            if security and security.get("procMount") is not None:
                security["procMount"] = "Default"
    has_rules = context.gates["ContainerRestartRules"] or not context.gates["SidecarContainers"]
    if not has_rules and not (old and _containers_with_own_policy(old)):
        for container in _containers_with_own_policy(spec):
            del container["restartPolicy"]


def _containers_with_own_policy(spec: Object) -> list[Object]:
    """The containers with a restart policy of their own that does not make them sidecars."""
    sidecars = [c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    return [
        container
        for container in all_containers(spec)
        if "restartPolicy" in container and container not in sidecars
    ]


def _uses_proc_mount(spec: Object) -> bool:
    mounts = [(c.get("securityContext") or {}).get("procMount") for c in all_containers(spec)]
    return any(mount not in (None, "Default") for mount in mounts)


# Names of container images

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_STEP = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_IMAGE = re.compile(
    rf"\A(?P<name>{_DOMAIN}(?:/{_STEP})+)(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?\Z",
    re.ASCII,
)
_MAX_NAME_LENGTH = 255  # with registry, without tag and digest
_REGISTRY = "docker.io"
_IDENTIFIER = re.compile(r"\A[0-9a-f]{64}\Z")


def default_pull_policy(image: str) -> str:
    """`Always` for an image that may change: with the tag `latest`, or without tag and digest."""
    _, colon, tag = image.rpartition(":")
    if colon and tag != "latest" and "/" not in tag and "@" not in image:
        return "IfNotPresent"  # has another tag, or is not a valid name
    return _default_pull_policy(image)


@memoized(longest=512)
def _default_pull_policy(image: str) -> str:
    match = _IMAGE.match(_with_registry(image))
    if match is None or len(match["name"]) > _MAX_NAME_LENGTH or _IDENTIFIER.match(image):
        return "IfNotPresent"
    tag = match["tag"] or ("" if match["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def _with_registry(image: str) -> str:
    """The image with its registry; the default registry if it names none."""
    first, _, rest = image.partition("/")
    named = bool(rest) and ("." in first or ":" in first or first == "localhost")
    registry, name = (first, rest) if named else (_REGISTRY, image)
    if registry == f"index.{_REGISTRY}":
        registry = _REGISTRY
    if registry == _REGISTRY and "/" not in name:
        name = f"library/{name}"
    return f"{registry}/{name}"
