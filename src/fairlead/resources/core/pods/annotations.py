"""Annotations of pods with a meaning: older forms of fields, and markers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from fairlead.base.dialect import Dialect
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.container_lists import all_containers, containers_with_paths
from fairlead.resources.core.pods.scheduling import check_tolerations
from fairlead.resources.core.shared import read_list
from fairlead.resources.core.volumes.paths import descending_path
from fairlead.resources.rules import bounded_int

RUNTIME_DEFAULT, DOCKER_DEFAULT = "runtime/default", "docker/default"
UNCONFINED, LOCALHOST = "unconfined", "localhost/"
_DELETION_COST = re.compile(r"\A(0|-?[1-9][0-9]*|-0+[0-9]*)\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of the annotations in a dialect."""

    mirror: str
    tolerations: str
    deletion_cost: str
    seccomp_pod: str
    seccomp_container: str
    app_armor: str
    init: frozenset[str]

    def names_seccomp(self, annotations: dict[str, str]) -> bool:
        """Whether any of the annotations is about seccomp; hardly any pod has one."""
        pod, container = self.seccomp_pod, self.seccomp_container
        return any(key.startswith(pod) or key.startswith(container) for key in annotations)


@cache
def keys(dialect: Dialect) -> Keys:
    return Keys(
        mirror=dialect.label("@/config.mirror"),
        tolerations=dialect.label("scheduler.alpha.@/tolerations"),
        deletion_cost=dialect.label("controller.@/pod-deletion-cost"),
        seccomp_pod=dialect.label("seccomp.security.alpha.@/pod"),
        seccomp_container=dialect.label("container.seccomp.security.alpha.@/"),
        app_armor=dialect.label("container.apparmor.security.beta.@/"),
        init=frozenset(
            dialect.label(f"pod.{stage}.@/{name}")
            for stage in ("alpha", "beta")
            for name in ("init-containers", "init-container-statuses")
        ),
    )


def drop_init_annotations(metadata: Object, dialect: Dialect) -> None:
    """Drop the annotations that were once init containers; they have no meaning now."""
    annotations = metadata.get("annotations")
    init = keys(dialect).init
    if not annotations or init.isdisjoint(annotations):
        return
    remaining = {key: text for key, text in annotations.items() if key not in init}
    if remaining:
        metadata["annotations"] = remaining
    else:
        del metadata["annotations"]


def is_deletion_cost(text: str) -> bool:
    if not _DELETION_COST.match(text):
        return False
    return -(2**31) <= bounded_int(text) < 2**31


def check_pod_annotations(
    annotations: dict[str, str] | None,
    spec: Object,
    path: str,
    causes: Causes,
    dialect: Dialect,
    old: dict[str, str] | None = None,
) -> None:
    """`old` are the annotations before a change: an invalid deletion cost in them may stay."""
    if not annotations:
        return
    annotation_keys = keys(dialect)
    mirror = annotations.get(annotation_keys.mirror)
    if mirror is not None and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        causes.invalid(f"{path}[{annotation_keys.mirror}]", mirror, detail)
    if annotations.get(annotation_keys.tolerations):
        _check_tolerations(
            annotations[annotation_keys.tolerations], annotation_keys.tolerations, path, causes
        )
    cost = annotations.get(annotation_keys.deletion_cost)
    if cost is not None and not is_deletion_cost(cost):
        was_wrong = not is_deletion_cost((old or {}).get(annotation_keys.deletion_cost, "0"))
        if not was_wrong:
            causes.invalid(
                f"{path}[{annotation_keys.deletion_cost}]", cost, "must be a 32bit integer"
            )
    if annotation_keys.names_seccomp(annotations):
        _check_seccomp(annotations, annotation_keys, path, causes)
    for key, profile in annotations.items():
        if key.startswith(annotation_keys.app_armor):
            container = key.removeprefix(annotation_keys.app_armor)
            _check_app_armor(container, profile, spec, f"{path}[{key}]", causes)


_TOLERATION_TYPES: Final[dict[str, str]] = {
    "key": "string",
    "operator": "core.TolerationOperator",
    "value": "string",
    "effect": "core.TaintEffect",
    "tolerationSeconds": "int64",
}


def _check_tolerations(text: str, key: str, path: str, causes: Causes) -> None:
    tolerations, error = read_list(text, "Toleration", _TOLERATION_TYPES)
    if error:
        causes.invalid(path, key, error)
    elif tolerations:
        check_tolerations(tolerations, f"{path}.{key}", causes)


def _check_seccomp(
    annotations: dict[str, str], annotation_keys: Keys, path: str, causes: Causes
) -> None:
    if annotation_keys.seccomp_pod in annotations:
        profile = annotations[annotation_keys.seccomp_pod]
        _check_seccomp_profile(profile, f"{path}.{annotation_keys.seccomp_pod}", causes)
    for key, profile in annotations.items():
        if key.startswith(annotation_keys.seccomp_container):
            _check_seccomp_profile(profile, f"{path}.{key}", causes)


def _check_seccomp_profile(profile: str, path: str, causes: Causes) -> None:
    if profile.startswith(LOCALHOST):
        descending_path(profile.removeprefix(LOCALHOST), path, causes)
    elif profile not in (RUNTIME_DEFAULT, DOCKER_DEFAULT, UNCONFINED):
        causes.invalid(path, profile, "must be a valid seccomp profile")


def _check_app_armor(container: str, profile: str, spec: Object, path: str, causes: Causes) -> None:
    if not any(declared["name"] == container for declared in all_containers(spec)):
        causes.invalid(path, container, "container not found")
    named = profile in ("", RUNTIME_DEFAULT, UNCONFINED) or profile.startswith(LOCALHOST)
    if not named:
        causes.invalid(path, profile, f'invalid AppArmor profile name: "{profile}"')


def check_annotation_changes(
    metadata: Object, old: Object, path: str, causes: Causes, dialect: Dialect
) -> None:
    """AppArmor profiles and the mirror annotation are immutable."""
    new = metadata.get("annotations") or {}
    before = old.get("annotations") or {}
    if new == before:
        return
    annotation_keys = keys(dialect)
    for key in sorted(before):
        if new.get(key) != before[key]:
            _refuse_change(key, "may not remove or update", annotation_keys, path, causes)
    for key in sorted(new.keys() - before.keys()):
        _refuse_change(key, "may not add", annotation_keys, path, causes)


def _refuse_change(
    key: str, refusal: str, annotation_keys: Keys, path: str, causes: Causes
) -> None:
    if key.startswith(annotation_keys.app_armor):
        causes.forbidden(f"{path}[{key}]", f"{refusal} AppArmor annotations")
    if key == annotation_keys.mirror:
        causes.forbidden(f"{path}[{key}]", f"{refusal} mirror pod annotation")


def seccomp_profile_of(annotation: str) -> Object | None:
    """The `seccompProfile` field for an annotation; None if it is not a valid profile."""
    if annotation == UNCONFINED:
        return {"type": "Unconfined"}
    if annotation in (RUNTIME_DEFAULT, DOCKER_DEFAULT):
        return {"type": "RuntimeDefault"}
    file = annotation.removeprefix(LOCALHOST)
    if file != annotation and file:
        return {"type": "Localhost", "localhostProfile": file}
    return None


def fill_seccomp_fields(annotations: dict[str, str] | None, spec: Object, dialect: Dialect) -> None:
    """Set the seccomp fields that are given as annotations only."""
    if not annotations:
        return
    annotation_keys = keys(dialect)
    if not annotation_keys.names_seccomp(annotations):
        return
    _fill_seccomp(spec, annotations.get(annotation_keys.seccomp_pod))
    for container in all_containers(spec):
        _fill_seccomp(
            container, annotations.get(annotation_keys.seccomp_container + container["name"])
        )


def _fill_seccomp(holder: Object, annotation: str | None) -> None:
    profile = seccomp_profile_of(annotation) if annotation else None
    context = holder.get("securityContext") or {}
    if profile is not None and context.get("seccompProfile") is None:
        holder["securityContext"] = {**context, "seccompProfile": profile}


def check_seccomp_matches(
    annotations: dict[str, str] | None, spec: Object, path: str, causes: Causes, dialect: Dialect
) -> None:
    """Check that an annotation and a field that are both set match."""
    if not annotations:
        return
    annotation_keys = keys(dialect)
    if not annotation_keys.names_seccomp(annotations):
        return
    holders = [(spec, path, annotation_keys.seccomp_pod)]
    holders += [
        (container, container_path, annotation_keys.seccomp_container + container["name"])
        for container, container_path in containers_with_paths(spec, path)
    ]
    for holder, holder_path, key in holders:
        profile = (holder.get("securityContext") or {}).get("seccompProfile")
        if profile is not None and key in annotations:
            field = f"{holder_path}.securityContext.seccompProfile"
            _check_match(annotations[key], profile, field, causes)


def _check_match(annotation: str, profile: Object, path: str, causes: Causes) -> None:
    kind = profile["type"]
    same = {
        "Unconfined": annotation == UNCONFINED,
        "RuntimeDefault": annotation in (RUNTIME_DEFAULT, DOCKER_DEFAULT),
        "Localhost": annotation.startswith(LOCALHOST),
    }.get(kind, True)
    if not same:
        causes.forbidden(f"{path}.type", "seccomp type in annotation and field must match")
    elif kind == "Localhost" and annotation != LOCALHOST + profile.get("localhostProfile", ""):
        detail = "seccomp profile in annotation and field must match"
        causes.forbidden(f"{path}.localhostProfile", detail)


# AppArmor profiles: annotations of older clients become fields

_APP_ARMOR_TYPES: Final[dict[str, str]] = {
    RUNTIME_DEFAULT: "RuntimeDefault",
    UNCONFINED: "Unconfined",
}


def app_armor_profile_of(annotation: str) -> Object | None:
    """The `appArmorProfile` field for an annotation; None if it is not a valid profile."""
    if annotation in _APP_ARMOR_TYPES:
        return {"type": _APP_ARMOR_TYPES[annotation]}
    name = annotation.removeprefix(LOCALHOST)
    if name == annotation or not name or name != name.strip():
        return None
    return {"type": "Localhost", "localhostProfile": name}


def fill_app_armor_fields(
    annotations: dict[str, str] | None, spec: Object, context: Context
) -> None:
    """Set the AppArmor fields that are given as annotations only, and warn."""
    prefix = keys(context.dialect).app_armor
    if not annotations or not any(key.startswith(prefix) for key in annotations):
        return
    if (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in all_containers(spec):
        annotation = annotations.get(prefix + container["name"])
        security: Object = container.get("securityContext") or {}
        if annotation is None or security.get("appArmorProfile") is not None:
            continue
        profile = app_armor_profile_of(annotation)
        if profile is not None and profile == of_pod:
            continue
        if profile is not None:
            container["securityContext"] = {**security, "appArmorProfile": profile}
        context.warn(f"metadata.annotations[{prefix}{container['name']}]: {APP_ARMOR_DEPRECATED}")


APP_ARMOR_DEPRECATED = 'deprecated since v1.30; use the "appArmorProfile" field instead'


def check_app_armor_matches(
    annotations: dict[str, str], spec: Object, path: str, causes: Causes, dialect: Dialect
) -> None:
    """Check that an AppArmor annotation and the field of the container or pod match."""
    prefix = keys(dialect).app_armor
    if not any(key.startswith(prefix) for key in annotations):
        return
    if (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container, container_path in containers_with_paths(spec, path):
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        profile, annotation = own or of_pod, annotations.get(prefix + container["name"])
        if profile is None or annotation is None:
            continue
        field = f"{container_path}.securityContext.appArmorProfile"
        kind = profile["type"]
        if kind == "Localhost":
            is_same_type = annotation.startswith(LOCALHOST)
        else:
            expected = _APP_ARMOR_TYPES.get(annotation)
            is_same_type = expected == kind or kind not in _APP_ARMOR_TYPES.values()
        if not is_same_type:
            detail = "apparmor type in annotation and field must match"
            causes.forbidden(f"{field}.type", detail)
        elif kind == "Localhost" and annotation != LOCALHOST + profile.get("localhostProfile", ""):
            detail = "apparmor profile in annotation and field must match"
            causes.forbidden(f"{field}.localhostProfile", detail)
