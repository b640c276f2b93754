"""Validation of the spec of claims, and of the claim templates of ephemeral volumes."""

from __future__ import annotations

from fairlead.codec.types.names import dns_subdomain
from fairlead.codec.types.quantity import quantity
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.context import Context
from fairlead.resources.metadata import check_annotations, check_labels
from fairlead.resources.rules import ABOVE_ZERO, label_selector

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce")
SINGLE_POD = "ReadWriteOncePod"
VOLUME_MODES = ("Block", "Filesystem")

# Metadata that a claim template cannot have: our name, and the name in the reference's paths.
_FOREIGN_METADATA = {
    "name": "name",
    "generateName": "generateName",
    "namespace": "namespace",
    "selfLink": "selfLink",
    "uid": "uID",
    "resourceVersion": "resourceVersion",
    "generation": "generation",
    "creationTimestamp": "creationTimestamp",
    "deletionTimestamp": "deletionTimestamp",
    "deletionGracePeriodSeconds": "deletionGracePeriodSeconds",
    "ownerReferences": "ownerReferences",
    "finalizers": "finalizers",
    "managedFields": "managedFields",
}


def check_claim_template(
    template: Object | None, path: str, causes: Causes, context: Context
) -> None:
    if template is None:
        causes.required(path)
        return
    metadata = template["metadata"]
    check_annotations(metadata.get("annotations"), f"{path}.metadata.annotations", causes)
    check_labels(metadata.get("labels"), f"{path}.metadata.labels", causes)
    for name, shown in _FOREIGN_METADATA.items():
        if metadata.get(name):
            causes.forbidden(f"{path}.metadata.{shown}", "cannot be set for an ephemeral volume")
    check_claim_spec(template["spec"], f"{path}.spec", causes, context)


def check_claim_spec(
    spec: Object,
    path: str,
    causes: Causes,
    context: Context,
    *,
    single_pod_allowed: bool = False,
) -> None:
    """Check a PersistentVolumeClaimSpec. `single_pod_allowed`: the old object already has the gated
    access mode."""
    modes = spec.get("accessModes") or []
    if not modes:
        causes.required(f"{path}.accessModes", "at least 1 access mode is required")
    label_selector(spec.get("selector"), f"{path}.selector", causes)
    single_pod = single_pod_allowed or context.gates["ReadWriteOncePod"]
    check_access_modes(modes, f"{path}.accessModes", causes, single_pod=single_pod)
    _check_size((spec["resources"].get("requests") or {}).get("storage"), path, causes)
    storage_class = spec.get("storageClassName")
    if storage_class:
        causes.invalid_each(f"{path}.storageClassName", storage_class, dns_subdomain(storage_class))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        causes.unsupported(f"{path}.volumeMode", mode, VOLUME_MODES)
    _check_data_sources(spec, path, causes)


def check_access_modes(modes: list[str], path: str, causes: Causes, *, single_pod: bool) -> None:
    supported = (*ACCESS_MODES, SINGLE_POD) if single_pod else ACCESS_MODES
    for mode in modes:
        if mode not in supported:
            causes.unsupported(path, mode, supported)
    if SINGLE_POD in modes and any(mode in ACCESS_MODES for mode in modes):
        causes.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _check_size(size: str | None, path: str, causes: Causes) -> None:
    field = f"{path}.resources[storage]"
    if size is None:
        causes.required(field)
    elif quantity(size) <= 0:
        causes.invalid(field, size, ABOVE_ZERO)


def _check_data_sources(spec: Object, path: str, causes: Causes) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        _check_data_source(source, f"{path}.dataSource", causes)
    if reference is not None:
        _check_data_source(reference, f"{path}.dataSourceRef", causes)
    if source is not None and reference is not None and source != reference:
        causes.invalid(path, GoValue(f"{path}.dataSource"), "must match dataSourceRef")


def _check_data_source(source: Object, path: str, causes: Causes) -> None:
    for name in ("name", "kind"):
        if not source[name]:
            causes.required(f"{path}.{name}")
    if not source.get("apiGroup") and source["kind"] != "PersistentVolumeClaim":
        causes.invalid(path, source["kind"], "")
