"""The behaviour of PersistentVolume: its source is immutable."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from fairlead.codec.types.model import Struct, struct_at
from fairlead.codec.types.names import dns_subdomain
from fairlead.codec.types.times import now
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes, GoValue, go_composite, go_pointer
from fairlead.resources.context import Context
from fairlead.resources.core.pods.difference import difference
from fairlead.resources.core.pods.resources import round_up_amounts
from fairlead.resources.core.pods.scheduling import check_node_selector
from fairlead.resources.core.pods.warnings import warn_of_node_term
from fairlead.resources.core.shared import basic_quantity, go_quantities, positive_quantity
from fairlead.resources.core.volumes.claims import SINGLE_POD, VOLUME_MODES, check_access_modes
from fairlead.resources.core.volumes.persistent import (
    PERSISTENT_SOURCES,
    check_persistent_sources,
    has_long_secret_name,
)
from fairlead.resources.go_values import given_map
from fairlead.resources.metadata import check_metadata
from fairlead.resources.rules import IMMUTABLE, immutable

RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
CLASS_ANNOTATION = "volume.beta.@/storage-class"
MOUNT_OPTIONS_ANNOTATION = "volume.beta.@/mount-options"

_MOUNTED_WITH_OPTIONS = (
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "gcePersistentDisk",
    "glusterfs",
    "iscsi",
    "nfs",
    "quobyte",
    "rbd",
    "storageos",
    "vsphereVolume",
)


class PersistentVolumeBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        spec = value["spec"]
        round_up_amounts(spec.get("capacity"))
        if not spec.get("persistentVolumeReclaimPolicy"):
            spec["persistentVolumeReclaimPolicy"] = "Retain"
        if spec.get("volumeMode") is None:
            spec["volumeMode"] = "Filesystem"

    def prepare_create(self, value: Object, context: Context) -> None:
        value["status"] = {"phase": "Pending"}
        if context.gates["PersistentVolumeLastPhaseTransitionTime"]:
            value["status"]["lastPhaseTransitionTime"] = now()
        _drop_disabled(value, None, context)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        super().prepare_update(value, old, context)
        _drop_disabled(value, old, context)

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        if not context.gates["PersistentVolumeLastPhaseTransitionTime"]:
            return
        status, before, name = value["status"], old["status"], "lastPhaseTransitionTime"
        if status.get("phase") != before.get("phase"):
            if status.get(name) in (None, before.get(name)):
                status[name] = now()
        elif status.get(name) is None and before.get(name) is not None:
            status[name] = before[name]

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        _check_spec(value, None, causes, context)
        _check_mount_options(value, causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        """Checks the whole object twice, as the reference's causes show."""
        metadata = value["metadata"]
        check_metadata(metadata, self.resource.namespaced, self.name_rule, causes)
        _check_spec(value, old, causes, context)
        _check_mount_options(value, causes, context)
        check_metadata(metadata, self.resource.namespaced, self.name_rule, causes)
        _check_spec(value, old, causes, context)
        sources = struct_at(self.resource.stored_struct, "spec").embedded["persistentVolumeSource"]
        _check_source_change(sources.struct, value["spec"], old["spec"], causes)
        immutable(
            value["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "volumeMode", causes
        )
        _check_affinity_change(value["spec"], old["spec"], causes, context)
        name = "volumeAttributesClassName"
        if old["spec"].get(name) is not None and value["spec"].get(name) is None:
            causes.forbidden(f"spec.{name}", "update from non-nil value to nil is forbidden")

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        affinity = (value["spec"].get("nodeAffinity") or {}).get("required") or {}
        for index, term in enumerate(affinity.get("nodeSelectorTerms") or ()):
            path = f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]"
            warn_of_node_term(term, path, context)
        if context.gates["LaterWarnings"]:
            _warn_of_deprecated(value, context)


_DEPRECATED_SOURCES = {
    "cephfs": ("1.28", "1.31"),
    "photonPersistentDisk": ("1.11", "1.16"),
    "scaleIO": ("1.16", "1.22"),
    "storageos": ("1.22", "1.25"),
    "glusterfs": ("1.25", "1.26"),
    "rbd": ("1.28", "1.31"),
}
_SHOWN_SOURCES = {"storageos": "storageOS"}


def _warn_of_deprecated(volume: Object, context: Context) -> None:
    annotations, spec = volume["metadata"].get("annotations") or {}, volume["spec"]
    for key, since, field in (
        (CLASS_ANNOTATION, "1.8", "storageClassName"),
        (MOUNT_OPTIONS_ANNOTATION, "1.31", "mountOptions"),
    ):
        name = context.dialect.label(key)
        if name in annotations:
            use = f'deprecated since v{since}; use "{field}" attribute instead'
            context.warn(f"metadata.annotations[{name}]: {use}")
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        context.warn(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead,"
            " the recommended approach is to use dynamic provisioning."
        )
    for name, (since, until) in _DEPRECATED_SOURCES.items():
        if spec.get(name) is not None:
            shown = _SHOWN_SOURCES.get(name, name)
            context.warn(f"spec.{shown}: deprecated in v{since}, non-functional in v{until}+")


def _check_affinity_change(spec: Object, old: Object, causes: Causes, context: Context) -> None:
    affinity, before = spec.get("nodeAffinity"), old.get("nodeAffinity")
    if before is None or affinity == before:
        return
    detail = IMMUTABLE
    if context.gates["LaterWarnings"]:
        if affinity == _with_newer_labels(before, affinity, context):
            return
        detail += ", except for updating from beta label to GA"
    causes.invalid("nodeAffinity", _shown_affinity(affinity, causes), detail)


_NEWER_LABELS = {
    "beta.@/arch": "@/arch",
    "beta.@/os": "@/os",
    "failure-domain.beta.@/zone": "topology.@/zone",
    "failure-domain.beta.@/region": "topology.@/region",
    "beta.@/instance-type": "node.@/instance-type",
}


def _with_newer_labels(old: Object, new: Object | None, context: Context) -> Object:
    """The old affinity with the labels of the new one where only their names are newer."""
    label = context.dialect.label
    newer = {label(key): label(name) for key, name in _NEWER_LABELS.items()}
    result = deepcopy(old)
    terms = (result.get("required") or {}).get("nodeSelectorTerms") or []
    new_terms = (((new or {}).get("required")) or {}).get("nodeSelectorTerms") or []
    for term, new_term in zip(terms, new_terms, strict=False):
        rules, new_rules = (version.get("matchExpressions") or [] for version in (term, new_term))
        for rule, new_rule in zip(rules, new_rules, strict=False):
            if newer.get(rule["key"]) == new_rule["key"]:
                rule["key"] = new_rule["key"]
    return result


def _check_spec(value: Object, old: Object | None, causes: Causes, context: Context) -> None:
    spec = value["spec"]
    _check_modes(spec, old, causes, context)
    _check_capacity(given_map(spec, "capacity"), "spec.capacity", causes)
    policy = spec.get("persistentVolumeReclaimPolicy", "")
    if policy and policy not in RECLAIM_POLICIES:
        causes.unsupported("spec.persistentVolumeReclaimPolicy", policy, RECLAIM_POLICIES)
    old_affinity = old and old["spec"].get("nodeAffinity")
    _check_affinity(spec.get("nodeAffinity"), old_affinity, "spec.nodeAffinity", causes, context)
    _check_sources(value, old, causes, context)
    name, mode = spec.get("storageClassName", ""), spec.get("volumeMode")
    if name:
        causes.invalid_each("spec.storageClassName", name, dns_subdomain(name))
    if mode is not None and mode not in VOLUME_MODES:
        causes.unsupported("spec.volumeMode", mode, VOLUME_MODES)
    _check_attributes_class(spec, causes)


def _check_attributes_class(spec: Object, causes: Causes) -> None:
    name, path = spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    if name is None:
        return
    if not name:
        causes.required(path, "an empty string is disallowed")
    else:
        causes.invalid_each(path, name, dns_subdomain(name))
    if spec.get("csi") is None:
        causes.required("spec.csi", "has to be specified when using volumeAttributesClassName")


def _drop_disabled(value: Object, old: Object | None, context: Context) -> None:
    if context.gates["CSINodeExpandSecret"]:
        return
    if old is None or "nodeExpandSecretRef" not in (old["spec"].get("csi") or {}):
        (value["spec"].get("csi") or {}).pop("nodeExpandSecretRef", None)


def _check_modes(spec: Object, old: Object | None, causes: Causes, context: Context) -> None:
    modes = spec.get("accessModes") or []
    if not modes:
        causes.required("spec.accessModes")
    used = old is not None and SINGLE_POD in (old["spec"].get("accessModes") or ())
    single_pod = used or context.gates["ReadWriteOncePod"]
    check_access_modes(modes, "spec.accessModes", causes, single_pod=single_pod)


def _check_capacity(capacity: Mapping[str, str] | None, path: str, causes: Causes) -> None:
    if not capacity:
        causes.required(path)
    if not capacity or set(capacity) != {"storage"}:
        shown = GoValue(go_quantities(capacity), capacity)
        causes.unsupported(path, shown, ("storage",))
    for name, text in (capacity or {}).items():
        basic_quantity(text, f"{path}[{name}]", causes)
        positive_quantity(text, f"{path}[{name}]", causes)


def _check_affinity(
    affinity: Object | None, old: Object | None, path: str, causes: Causes, context: Context
) -> None:
    if affinity is None:
        return
    if affinity.get("required") is None:
        causes.required(f"{path}.required", "must specify required node constraints")
    else:
        checked = context.gates["SelectorValuesChecked"] and not _has_invalid_values(old)
        check_node_selector(affinity["required"], f"{path}.required", causes, check_values=checked)


def _has_invalid_values(affinity: Object | None) -> bool:
    causes, required = Causes(), (affinity or {}).get("required")
    if required is not None:
        check_node_selector(required, "", causes, check_values=True)
    return bool(causes)


def _check_sources(value: Object, old: Object | None, causes: Causes, context: Context) -> None:
    spec = value["spec"]
    name = value["metadata"].get("name", "")
    long_names = old is not None and has_long_secret_name(old["spec"])
    check_persistent_sources(spec, name, "spec", causes, context, long_names=long_names)
    host_path = (spec.get("hostPath") or {}).get("path", "")
    is_root = host_path and posixpath.normpath(host_path).replace("//", "/") == "/"
    if is_root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        causes.forbidden("spec.persistentVolumeReclaimPolicy", detail)


def _check_mount_options(value: Object, causes: Causes, context: Context) -> None:
    key = context.dialect.label(MOUNT_OPTIONS_ANNOTATION)
    if key not in (value["metadata"].get("annotations") or {}):
        return
    if not any(value["spec"].get(name) is not None for name in _MOUNTED_WITH_OPTIONS):
        detail = "may not specify mount options for this volume type"
        causes.forbidden(f"metadata.annotations.{key}", detail)


def _check_source_change(struct: Struct, spec: Object, old: Object, causes: Causes) -> None:
    sources = {name: spec.get(name) for name in PERSISTENT_SOURCES}
    old_sources = {name: old.get(name) for name in PERSISTENT_SOURCES}
    driver, old_driver = sources["csi"], old_sources["csi"]
    expands = "controllerExpandSecretRef"
    if driver and old_driver and expands in driver and expands not in old_driver:
        sources["csi"] = {name: driver[name] for name in driver if name != expands}
    if sources != old_sources:
        changes = difference(struct, old_sources, sources, causes)
        detail = f"spec.persistentvolumesource is immutable after creation\n{changes}"
        causes.forbidden("spec.persistentvolumesource", detail)


def _shown_affinity(affinity: Object | None, causes: Causes) -> Any:
    if affinity is None or causes.has_later_wording:
        return _internal(affinity)
    required = go_pointer("core.NodeSelector", affinity.get("required"))
    return go_composite("core.VolumeNodeAffinity", {"Required": required})


def _internal(affinity: Object | None) -> Object | None:
    """An affinity with the names of the reference's internal types."""
    if affinity is None or affinity.get("required") is None:
        return affinity if affinity is None else {"Required": None}
    terms = [
        {
            "MatchExpressions": _internal_rules(term.get("matchExpressions")),
            "MatchFields": _internal_rules(term.get("matchFields")),
        }
        for term in affinity["required"].get("nodeSelectorTerms") or ()
    ]
    return {"Required": {"NodeSelectorTerms": terms}}


def _internal_rules(rules: list[Object] | None) -> list[Object] | None:
    if rules is None:
        return None
    return [
        {"Key": rule["key"], "Operator": rule["operator"], "Values": rule.get("values")}
        for rule in rules
    ]
