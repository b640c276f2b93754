"""Validation of the spec of claims, and of the claim templates of ephemeral volumes."""

from __future__ import annotations

from fairlead.base.release import Reworded
from fairlead.codec.types.names import dns_label, dns_subdomain
from fairlead.codec.types.quantity import quantity
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.context import Context
from fairlead.resources.metadata import check_annotations, check_labels
from fairlead.resources.rules import (
    ABOVE_ZERO,
    checks_selector_values,
    label_selector,
)

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce")
SINGLE_POD = "ReadWriteOncePod"
VOLUME_MODES = ("Block", "Filesystem")

# Metadata that a claim template cannot have: our name, and the name in the reference's paths.
FOREIGN_METADATA = {
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


_NOT_SET = Reworded("cannot be set for an ephemeral volume", "cannot be set")


def check_claim_template(
    template: Object | None, path: str, causes: Causes, context: Context
) -> None:
    if template is None:
        causes.required(path)
        return
    metadata = template["metadata"]
    check_annotations(metadata.get("annotations"), f"{path}.metadata.annotations", causes)
    check_labels(metadata.get("labels"), f"{path}.metadata.labels", causes)
    for name, shown in FOREIGN_METADATA.items():
        if metadata.get(name):
            causes.forbidden(f"{path}.metadata.{shown}", _NOT_SET)
    check_claim_spec(template["spec"], f"{path}.spec", causes, context)


def check_claim_spec(
    spec: Object,
    path: str,
    causes: Causes,
    context: Context,
    *,
    single_pod_allowed: bool = False,
    old: Object | None = None,
) -> None:
    """Check a PersistentVolumeClaimSpec. `single_pod_allowed`: the old object already has the gated
    access mode. What was invalid in the `old` spec may stay so."""
    modes = spec.get("accessModes") or []
    if not modes:
        causes.required(f"{path}.accessModes", "at least 1 access mode is required")
    before = old.get("selector") if old is not None else None
    check_values = checks_selector_values(context.gates, before)
    label_selector(spec.get("selector"), f"{path}.selector", causes, check_values=check_values)
    single_pod = single_pod_allowed or context.gates["ReadWriteOncePod"]
    check_access_modes(modes, f"{path}.accessModes", causes, single_pod=single_pod)
    _check_size((spec["resources"].get("requests") or {}).get("storage"), path, causes)
    storage_class = spec.get("storageClassName")
    if storage_class:
        causes.invalid_each(f"{path}.storageClassName", storage_class, dns_subdomain(storage_class))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        causes.unsupported(f"{path}.volumeMode", mode, VOLUME_MODES)
    _check_data_sources(spec, path, causes, context, old)
    attributes_class = spec.get("volumeAttributesClassName")
    if attributes_class:
        errors = dns_subdomain(attributes_class)
        causes.invalid_each(f"{path}.volumeAttributesClassName", attributes_class, errors)


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


def _check_data_sources(
    spec: Object, path: str, causes: Causes, context: Context, old: Object | None
) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    checks_group = context.gates["VolumeAttributesClass"] and not _has_bad_group(old or {})
    for name, data_source in (("dataSource", source), ("dataSourceRef", reference)):
        if data_source is not None:
            _check_data_source(data_source, f"{path}.{name}", causes, checks_group)
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        detail = "may not be specified when dataSourceRef.namespace is specified"
        causes.invalid(path, _shown_path(f"{path}.dataSource", causes), detail)
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        shown = _shown_path(f"{path}.dataSource", causes)
        causes.invalid(path, shown, "must match dataSourceRef")


def _shown_path(path: str, causes: Causes) -> object:
    """A path in place of a value; it has no public fields, so that JSON shows nothing of it."""
    return {} if causes.has_later_wording else GoValue(path)


def _has_bad_group(spec: Object) -> bool:
    sources = (spec.get(name) or {} for name in ("dataSource", "dataSourceRef"))
    return any(dns_subdomain(source["apiGroup"]) for source in sources if source.get("apiGroup"))


def _check_data_source(source: Object, path: str, causes: Causes, checks_group: bool) -> None:
    for name in ("name", "kind"):
        if not source[name]:
            causes.required(f"{path}.{name}")
    group, namespace = source.get("apiGroup"), source.get("namespace")
    if not group and source["kind"] != "PersistentVolumeClaim":
        later = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        causes.invalid(path, source["kind"], Reworded("", later))
    if group and checks_group:
        causes.invalid_each(f"{path}.apiGroup", group, dns_subdomain(group))
    if namespace:
        causes.invalid_each(f"{path}.namespace", namespace, dns_label(namespace))
