"""Warnings about accepted pod specs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import quote
from fairlead.resources.context import Context
from fairlead.resources.core.pods import PREFERRED, REQUIRED
from fairlead.resources.core.pods.annotations import (
    APP_ARMOR_DEPRECATED,
    app_armor_profile_of,
    keys,
)
from fairlead.resources.core.pods.container_lists import (
    CONTAINER_LISTS,
    all_containers,
    containers_with_paths,
)
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
# Node labels that later releases warn of too.
_REMOVED_NODE_LABELS = {
    "app.@/created-by": "deprecated since v1.9",
    "scheduler.alpha.@/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.@/master": 'use "node-role.@/control-plane" instead',
}
_OLD_ANNOTATIONS = {
    "scheduler.alpha.@/critical-pod": ("v1.16", "priorityClassName"),
    "security.alpha.@/sysctls": ("v1.11", "sysctls"),
    "security.alpha.@/unsafe-sysctls": ("v1.11", "sysctls"),
}
# Deprecated volume sources: their name in messages, and their state, then those of later releases.
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
_REMOVED_SOURCES: Final[dict[str, tuple[str, str]]] = {
    "photonPersistentDisk": ("photonPersistentDisk", "v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "v1.28, non-functional in v1.31+"),
}
_SECCOMP = (
    "deprecated since v1.19, non-functional in a future release; use the"
    ' "seccompProfile" field instead'
)
_SECCOMP_IGNORED = 'non-functional in v1.27+; use the "seccompProfile" field instead'
NO_SELECTOR = "a null labelSelector results in matching no pod"


def warn_of_pod(spec: Object, metadata: Object, path: str, context: Context) -> None:
    """`path` is the prefix of the paths of spec and metadata: empty, or ending with a dot."""
    annotations = metadata.get("annotations") or {}
    spec_path = f"{path}spec"
    is_newer = context.gates["PodWarnings"]
    old_sources = _REMOVED_SOURCES if is_newer else _OLD_SOURCES
    if "nodeSelector" in spec:
        for key in spec["nodeSelector"]:
            if newer := newer_node_label(key, context):
                context.warn(f"{spec_path}.nodeSelector[{key}]: {newer}")
    if "affinity" in spec:
        _warn_of_affinity(spec["affinity"], f"{spec_path}.affinity", context)
    constraints: list[Object] | None = spec.get("topologySpreadConstraints")
    for index, constraint in enumerate(constraints or ()):
        key = constraint["topologyKey"]
        if newer := newer_node_label(key, context):
            field = f"{spec_path}.topologySpreadConstraints[{index}].topologyKey"
            context.warn(f"{field}: {key} is {newer}")
        if is_newer and constraint.get("labelSelector") is None:
            field = f"{spec_path}.topologySpreadConstraints[{index}].labelSelector"
            context.warn(f"{field}: {NO_SELECTOR}")
    if annotations:
        _warn_of_annotations(annotations, f"{path}metadata.annotations", context)
    volumes: list[Object] | None = spec.get("volumes")
    for index, volume in enumerate(volumes or ()):
        for source in volume:
            if source in old_sources:
                name, state = old_sources[source]
                context.warn(f"{spec_path}.volumes[{index}].{name}: deprecated in {state}")
    if is_newer and volumes:
        warn_of_overlapping_paths(volumes, context)
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
    if is_newer:
        if path and annotations:
            _warn_of_app_armor(spec, annotations, f"{path}metadata.annotations", context)
        warn_of_newer_rules(spec, spec_path, context)


def newer_node_label(key: str, context: Context) -> str:
    """The warning about a deprecated node label; empty for other labels."""
    dialect = context.dialect
    if "beta." not in key:
        return _removed_node_label(key, context)
    for old, (since, newer) in _OLD_NODE_LABELS.items():
        if key == dialect.label(old):
            return f'deprecated since {since}; use "{dialect.label(newer)}" instead'
    return ""


def _removed_node_label(key: str, context: Context) -> str:
    if not context.gates["PodWarnings"]:
        return ""
    for old, text in _REMOVED_NODE_LABELS.items():
        if key == context.dialect.label(old):
            return context.dialect.label(text)
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
        if newer := newer_node_label(rule["key"], context):
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
            is_ignored = not context.gates["SeccompAnnotationSync"]
            context.warn(f"{path}[{key}]: {_SECCOMP_IGNORED if is_ignored else _SECCOMP}")


def _warn_of_app_armor(
    spec: Object, annotations: dict[str, str], path: str, context: Context
) -> None:
    """Warn of AppArmor annotations of a template; those of pods become fields, with a warning."""
    prefix = keys(context.dialect).app_armor
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in all_containers(spec):
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        annotation = annotations.get(prefix + container["name"])
        if own is not None or annotation is None:
            continue
        if of_pod is None or of_pod != app_armor_profile_of(annotation):
            context.warn(f"{path}[{prefix}{container['name']}]: {APP_ARMOR_DEPRECATED}")


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
    if len(names) == len(set(names)):
        return
    for index, name in _repeated(names):
        if not context.gates["PodWarnings"]:
            context.warn(f'{path}.env[{index}].name: duplicate name "{name}"')
        elif _hides_previous(variables[index]):
            context.warn(
                f"{path}.env[{index}]: hides previous definition of {quote(name)}, which may be"
                " dropped when using apply"
            )


def _hides_previous(variable: Object) -> bool:
    """Whether a variable does not build on the earlier one of the same name."""
    reference, value = f"$({variable['name']})", variable.get("value", "")
    return variable.get("valueFrom") is not None or value == reference or reference not in value


# Warnings of later releases

_MAX_COMPARED = 500  # paths or ports that are compared with each other


def warn_of_newer_rules(spec: Object, path: str, context: Context) -> None:
    _warn_of_ports(spec, path, context)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        context.warn(
            f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and"
            " will be treated as 1"
        )
    affinity: Object = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        rules: Object = affinity.get(name) or {}
        for index, term in enumerate(rules.get(REQUIRED) or ()):
            if term.get("labelSelector") is None:
                field = f"{path}.affinity.{name}.{REQUIRED}[{index}].labelSelector"
                context.warn(f"{field}: {NO_SELECTOR}")
        for index, weighted in enumerate(rules.get(PREFERRED) or ()):
            if weighted["podAffinityTerm"].get("labelSelector") is None:
                field = f"{path}.affinity.{name}.{PREFERRED}[{index}].podAffinityTerm.labelSelector"
                context.warn(f"{field}: {NO_SELECTOR}")


def _warn_of_ports(spec: Object, path: str, context: Context) -> None:
    """Warn of ports that are defined twice."""
    ports = [
        (port, f"{container_path}.ports[{index}]")
        for container, container_path in containers_with_paths(spec, path)
        for index, port in enumerate(container.get("ports") or ())
    ]
    if not ports:
        return
    by_number: dict[tuple[int, str], list[tuple[Object, str]]] = {}
    for port, field in ports:
        others = by_number.setdefault((port["containerPort"], port.get("protocol", "")), [])
        if port.get("hostIP") and not port.get("hostPort"):
            context.warn(f"{field}: hostIP set without hostPort: {_port_shown(port)}")
        for other, other_field in others[:_MAX_COMPARED]:
            if conflict := _port_conflict(port, other):
                context.warn(f"{field}: {conflict} port definition with {other_field}")
        others.append((port, field))
    names: dict[str, str] = {}
    for port, field in ports:
        name = port.get("name", "")
        if name and name in names:
            first = names[name]
            context.warn(
                f"{field}: duplicate port name {quote(name)} with {first}, services and probes that"
                f" select ports by name will use {first}"
            )
        names.setdefault(name, field)


def _port_shown(port: Object) -> str:
    return (
        f"{{Name:{port.get('name', '')} HostPort:{port.get('hostPort', 0)}"
        f" ContainerPort:{port['containerPort']} Protocol:{port.get('protocol', '')}"
        f" HostIP:{port.get('hostIP', '')}}}"
    )


def _port_conflict(port: Object, other: Object) -> str:
    """How two definitions of one port relate; empty if they are apart."""
    host, other_host = port.get("hostPort", 0), other.get("hostPort", 0)
    address, other_address = port.get("hostIP", ""), other.get("hostIP", "")
    if host == other_host and address == other_address:
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    if host == other_host and (not address or not other_address):
        return "dangerously ambiguous"
    return ""


def warn_of_overlapping_paths(volumes: list[Object], context: Context) -> None:
    """Warn of files of one volume that hide each other."""
    for volume in volumes:
        for source, word, name_field in (
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ):
            inner: Object | None = volume.get(source)
            if inner and inner.get("items"):
                paths = [(item["path"], "") for item in inner["items"]]
                name = f" {quote(inner.get(name_field, ''))}" if name_field else ""
                _warn_of_overlaps(volume["name"], word + name, paths, context)
        if volume.get("projected") is not None:
            _warn_of_projection(volume["name"], volume["projected"], context)


def _warn_of_projection(name: str, projected: Object, context: Context) -> None:
    paths: list[tuple[str, str]] = []
    for source in projected.get("sources") or ():
        if not source:
            context.warn(f"volume {quote(name)} (Projected) has no sources provided")
            continue
        for kind, word in (("configMap", "ConfigMap"), ("secret", "Secret")):
            if (source.get(kind) or {}).get("items"):
                shown = f"{word} {quote(source[kind].get('name', ''))}"
                paths += [(item["path"], shown) for item in source[kind]["items"]]
        if (source.get("downwardAPI") or {}).get("items"):
            paths += [(item["path"], "DownwardAPI") for item in source["downwardAPI"]["items"]]
        if source.get("serviceAccountToken") is not None:
            paths.append((source["serviceAccountToken"]["path"], "ServiceAccountToken"))
    _warn_of_overlaps(name, "Projected", paths, context)


def _warn_of_overlaps(
    name: str, source: str, paths: list[tuple[str, str]], context: Context
) -> None:
    earlier: list[tuple[str, str]] = []
    for path, origin in paths[:_MAX_COMPARED]:
        path = path.rstrip("/")
        for other, other_origin in earlier if path else ():
            if other and _overlap(f"{path}/", f"{other}/"):
                shown, other_shown = _path_shown(path, origin), _path_shown(other, other_origin)
                overlap = f"overlapping paths: {shown} with {other_shown}"
                context.warn(f"volume {quote(name)} ({source}): {overlap}")
        earlier.append((path, origin))


def _overlap(path: str, other: str) -> bool:
    return path.startswith(other) or other.startswith(path)


def _path_shown(path: str, origin: str) -> str:
    return f"{quote(path)} ({origin})" if origin else quote(path)
