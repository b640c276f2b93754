"""Warnings about accepted pod specs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fairlead.base.dialect import Dialect
from fairlead.resources.behaviour import Object
from fairlead.resources.context import Context
from fairlead.resources.core.pods import PREFERRED, REQUIRED
from fairlead.resources.core.pods.annotations import keys
from fairlead.resources.core.pods.container_lists import CONTAINER_LISTS, all_containers
from fairlead.resources.core.pods.resources import is_fractional

_BYTES: Final[tuple[str, ...]] = ("memory", "ephemeral-storage")

# Deprecated node labels: since which version, and the new name.
_OLD_NODE_LABELS = {
    "beta.@/arch": ("v1.14", "@/arch"),
    "beta.@/os": ("v1.14", "@/os"),
    "failure-domain.beta.@/region": ("v1.17", "topology.@/region"),
    "failure-domain.beta.@/zone": ("v1.17", "topology.@/zone"),
    "beta.@/instance-type": ("v1.17", "node.@/instance-type"),
}
_OLD_ANNOTATIONS = {
    "scheduler.alpha.@/critical-pod": ("v1.16", "priorityClassName"),
    "security.alpha.@/sysctls": ("v1.11", "sysctls"),
    "security.alpha.@/unsafe-sysctls": ("v1.11", "sysctls"),
}
# Deprecated volume sources: their name in messages, and their state.
_OLD_SOURCES: Final[dict[str, tuple[str, str]]] = {
    "photonPersistentDisk": ("photonPersistentDisk", "v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "v1.11"),
    "scaleIO": ("scaleIO", "v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "v1.22, support removal is planned in v1.26"),
    "storageos": ("storageOS", "v1.22, support removal is planned in v1.26"),
    "quobyte": ("quobyte", "v1.22, support removal is planned in v1.26"),
    "glusterfs": (
        "glusterfs",
        "v1.25, this feature will be removed soon after in a subsequent release",
    ),
}
_SECCOMP = (
    "deprecated since v1.19, non-functional in a future release; use the"
    ' "seccompProfile" field instead'
)


def warn_of_pod(spec: Object, metadata: Object, path: str, context: Context) -> None:
    """`path` is the prefix of the paths of spec and metadata: empty, or ending with a dot."""
    dialect = context.dialect
    annotations = metadata.get("annotations") or {}
    spec_path = f"{path}spec"
    if "nodeSelector" in spec:
        for key in spec["nodeSelector"]:
            if newer := newer_node_label(key, dialect):
                context.warn(f"{spec_path}.nodeSelector[{key}]: {newer}")
    if "affinity" in spec:
        _warn_of_affinity(spec["affinity"], f"{spec_path}.affinity", context)
    constraints: list[Object] | None = spec.get("topologySpreadConstraints")
    for index, constraint in enumerate(constraints or ()):
        key = constraint["topologyKey"]
        if newer := newer_node_label(key, dialect):
            field = f"{spec_path}.topologySpreadConstraints[{index}].topologyKey"
            context.warn(f"{field}: {key} is {newer}")
    if annotations:
        _warn_of_annotations(annotations, f"{path}metadata.annotations", context)
    volumes: list[Object] | None = spec.get("volumes")
    for index, volume in enumerate(volumes or ()):
        for source in volume:
            if source in _OLD_SOURCES:
                name, state = _OLD_SOURCES[source]
                context.warn(f"{spec_path}.volumes[{index}].{name}: deprecated in {state}")
    _warn_of_repeats(spec, spec_path, context)
    if "overhead" in spec:
        for name in _BYTES:
            _warn_of_fraction(spec, "overhead", name, spec_path, context)
    if annotations:
        _warn_of_seccomp(spec, annotations, f"{path}metadata.annotations", context)
    for name in CONTAINER_LISTS:
        containers: list[Object] | None = spec.get(name)
        for index, container in enumerate(containers or ()):
            _warn_of_container(container, f"{spec_path}.{name}[{index}]", context)


def newer_node_label(key: str, dialect: Dialect) -> str:
    """The warning about a deprecated node label; empty for other labels."""
    if "beta." not in key:
        return ""
    for old, (since, newer) in _OLD_NODE_LABELS.items():
        if key == dialect.label(old):
            return f'deprecated since {since}; use "{dialect.label(newer)}" instead'
    return ""


def _warn_of_affinity(affinity: Object, path: str, context: Context) -> None:
    node = affinity.get("nodeAffinity") or {}
    path = f"{path}.nodeAffinity"
    required = (node.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(required):
        warn_of_node_term(term, f"{path}.{REQUIRED}.nodeSelectorTerms[{index}]", context)
    for index, weighted in enumerate(node.get(PREFERRED) or ()):
        field = f"{path}.{PREFERRED}[{index}].preference"
        warn_of_node_term(weighted["preference"], field, context)


def warn_of_node_term(term: Object, path: str, context: Context) -> None:
    for index, rule in enumerate(term.get("matchExpressions") or ()):
        if newer := newer_node_label(rule["key"], context.dialect):
            context.warn(f"{path}.matchExpressions[{index}].key: {rule['key']} is {newer}")


def _warn_of_annotations(annotations: dict[str, str], path: str, context: Context) -> None:
    if not any("alpha." in key for key in annotations):
        return
    for old, (since, field) in _OLD_ANNOTATIONS.items():
        key = context.dialect.label(old)
        if key in annotations:
            context.warn(
                f'{path}[{key}]: non-functional in {since}+; use the "{field}" field instead'
            )


def _warn_of_seccomp(
    spec: Object, annotations: dict[str, str], path: str, context: Context
) -> None:
    annotation_keys = keys(context.dialect)
    if not annotation_keys.names_seccomp(annotations):
        return
    holders = [(spec, annotation_keys.seccomp_pod)]
    holders += [
        (container, annotation_keys.seccomp_container + container["name"])
        for container in all_containers(spec)
    ]
    for holder, key in holders:
        profile = (holder.get("securityContext") or {}).get("seccompProfile")
        if profile is None and key in annotations:
            context.warn(f"{path}[{key}]: {_SECCOMP}")


def _repeated(values: Iterable[str]) -> list[tuple[int, str]]:
    seen: set[str] = set()
    repeated = []
    for index, value in enumerate(values):
        if value in seen:
            repeated.append((index, value))
        seen.add(value)
    return repeated


def _warn_of_repeats(spec: Object, path: str, context: Context) -> None:
    if "hostAliases" not in spec and "imagePullSecrets" not in spec:
        return
    addresses = [alias.get("ip", "") for alias in spec.get("hostAliases") or ()]
    for index, address in _repeated(addresses):
        context.warn(f'{path}.hostAliases[{index}].ip: duplicate ip "{address}"')
    secrets = [secret.get("name", "") for secret in spec.get("imagePullSecrets") or ()]
    for index, name in _repeated(secrets):
        context.warn(f'{path}.imagePullSecrets[{index}].name: duplicate name "{name}"')
    for index, name in enumerate(secrets):
        if not name:
            context.warn(f'{path}.imagePullSecrets[{index}].name: invalid empty name ""')


def _warn_of_fraction(holder: Object, field: str, name: str, path: str, context: Context) -> None:
    """Warn if an amount in `field` of the object at `path` is a fraction of a byte."""
    amounts: Object | None = holder.get(field)
    amount: str | None = amounts.get(name) if amounts else None
    # A whole number has neither the suffix `m` nor a negative exponent.
    if amount and (amount[-1] == "m" or "e-" in amount) and is_fractional(amount):
        context.warn(
            f'{path}.{field}[{name}]: fractional byte value "{amount}" is invalid, must be an'
            " integer"
        )


def _warn_of_container(container: Object, path: str, context: Context) -> None:
    resources: Object = container["resources"]
    if resources:
        inside = f"{path}.resources"
        for name in _BYTES:
            _warn_of_fraction(resources, "limits", name, inside, context)
            _warn_of_fraction(resources, "requests", name, inside, context)
    variables: list[Object] | None = container.get("env")
    if not variables:
        return
    names: list[str] = [variable["name"] for variable in variables]
    if len(names) != len(set(names)):
        for index, name in _repeated(names):
            context.warn(f'{path}.env[{index}].name: duplicate name "{name}"')
