"""The behaviour of PersistentVolumeClaim: a request for storage. The spec is immutable, but bound
claims may grow.
"""

from __future__ import annotations

from copy import deepcopy

from fairlead.codec.types.model import Struct, struct_at
from fairlead.codec.types.names import qualified_name
from fairlead.codec.types.quantity import quantity
from fairlead.resources.behaviour import Behaviour, Object, keep
from fairlead.resources.causes import Causes, quote
from fairlead.resources.context import Context
from fairlead.resources.core.persistent_volumes import CLASS_ANNOTATION
from fairlead.resources.core.pods.difference import difference
from fairlead.resources.core.pods.resources import round_up_amounts
from fairlead.resources.core.resource_names import check_amount
from fairlead.resources.core.shared import basic_quantity, same_quantities
from fairlead.resources.core.volumes.claims import SINGLE_POD, check_claim_spec
from fairlead.resources.metadata import check_metadata, check_metadata_update
from fairlead.resources.rules import IMMUTABLE, immutable

RESIZE_STATES = (
    "",
    "ControllerExpansionFailed",
    "ControllerExpansionInProgress",
    "NodeExpansionFailed",
    "NodeExpansionInProgress",
    "NodeExpansionPending",
)
_RESIZE_FIELDS = ("allocatedResources", "resizeStatus", "allocatedResourceStatuses")
_RESOURCE_STATES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_CLASS = "volumeAttributesClassName"
_SIZE_PATH = "spec.resources.requests.storage"


def round_claim(claim: Object) -> None:
    """Round all amounts of a claim up to thousandths."""
    for name in ("limits", "requests"):
        round_up_amounts(claim["spec"]["resources"].get(name))
    for name in ("capacity", "allocatedResources"):
        round_up_amounts(claim["status"].get(name))


class PersistentVolumeClaimBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        round_claim(value)

    def prepare_create(self, value: Object, context: Context) -> None:
        value["status"] = {"phase": "Pending"}
        _normalize_sources(value["spec"], None, context)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        super().prepare_update(value, old, context)
        _normalize_sources(value["spec"], old["spec"], context)

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        if not _recovers(old, context):
            for name in _RESIZE_FIELDS:
                value["status"].pop(name, None)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        check_claim_spec(value["spec"], "spec", causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        """Early releases check the whole object twice, as the reference's causes show."""
        if not context.gates["CheckedOnce"]:
            self._check_all(value, old, causes, context)
        check_metadata_update(value["metadata"], old["metadata"], causes)
        self._check_all(value, old, causes, context)
        _check_spec_change(
            struct_at(self.resource.stored_struct, "spec"), value, old, causes, context
        )
        _check_size_change(value, old, causes, context)
        immutable(
            value["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "volumeMode", causes
        )
        _check_attributes_class_change(value["spec"].get(_CLASS), old, causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if context.subresource or not context.gates["LaterWarnings"]:
            return
        name = context.dialect.label(CLASS_ANNOTATION)
        if name in (value["metadata"].get("annotations") or {}):
            use = 'deprecated since v1.8; use "storageClassName" attribute instead'
            context.warn(f"metadata.annotations[{name}]: {use}")
        for kind in ("requests", "limits"):
            size = (value["spec"]["resources"].get(kind) or {}).get("storage", "0")
            if quantity(size) % 1:
                context.warn(
                    f"spec.resources.{kind}[storage]: fractional byte value {quote(size)} is"
                    " invalid, must be an integer"
                )

    def _check_all(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata(value["metadata"], self.resource.namespaced, self.name_rule, causes)
        used = SINGLE_POD in (old["spec"].get("accessModes") or ())
        check_claim_spec(
            value["spec"], "spec", causes, context, single_pod_allowed=used, old=old["spec"]
        )

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        if not value["spec"].get("accessModes"):
            causes.required("Spec.accessModes")
        status = value["status"]
        for name, text in (status.get("capacity") or {}).items():
            basic_quantity(text, f"status.capacity[{name}]", causes)
        if _recovers(old, context):
            _check_resizing(status, causes, context)


def _recovers(old: Object, context: Context) -> bool:
    """Whether a claim may shrink again after a failed expansion."""
    used = any(old["status"].get(name) is not None for name in _RESIZE_FIELDS)
    return used or context.gates["RecoverVolumeExpansionFailure"]


def _normalize_sources(spec: Object, old: Object | None, context: Context) -> None:
    """Drop kinds that `dataSource` does not support, and sync it with `dataSourceRef`."""
    gate = context.gates["AnyVolumeDataSource"]
    if not gate:
        spec.pop("dataSourceRef", None)
    is_foreign = bool((spec.get("dataSourceRef") or {}).get("namespace"))
    had_reference = old is not None and old.get("dataSourceRef") is not None
    if is_foreign and not had_reference and not context.gates["CrossNamespaceVolumeDataSource"]:
        spec.pop("dataSourceRef", None)
    was_used = old is not None and old.get("dataSource") is not None
    # A client that sets the newer field does not expect that invalid sources are ignored.
    is_newer = context.gates["VolumeAttributesClass"] and spec.get("dataSourceRef") is not None
    if not was_used and not is_newer and not _is_known_source(spec.get("dataSource"), context):
        spec.pop("dataSource", None)
    if not gate:
        return
    reference = spec.get("dataSourceRef")
    if "dataSource" in spec and reference is None:
        spec["dataSourceRef"] = dict(spec["dataSource"])
    elif "dataSource" not in spec and reference is not None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def _is_known_source(source: Object | None, context: Context) -> bool:
    builtin_kinds = (
        ("", "PersistentVolumeClaim"),
        (context.dialect.group_name("snapshot.storage.@"), "VolumeSnapshot"),
    )
    return source is not None and (source.get("apiGroup") or "", source["kind"]) in builtin_kinds


def _check_spec_change(
    struct: Struct, value: Object, old: Object, causes: Causes, context: Context
) -> None:
    spec, old_spec = deepcopy(value["spec"]), deepcopy(old["spec"])
    if not old_spec.get("volumeName"):
        keep(old_spec, spec, "volumeName")  # may be set once
    if _moves_class_to_field(value, old, context):
        spec.pop("storageClassName", None)
    else:
        _check_class_annotation(value["metadata"], old["metadata"], causes, context)
        if _gets_class(value, old, context):
            spec.pop("storageClassName", None)
    if value["status"].get("phase") == "Bound":
        _set_aside_size(spec, old_spec)
        keep(spec, old_spec, _CLASS)
    if not _same_spec(spec, old_spec):
        also = " and volumeAttributesClassName" if context.gates["VolumeAttributesClass"] else ""
        fixed = f"spec is immutable after creation except resources.requests{also} for bound claims"
        causes.forbidden("spec", f"{fixed}\n{difference(struct, old_spec, spec, causes)}")


def _set_aside_size(spec: Object, old_spec: Object) -> None:
    requests = spec["resources"].get("requests")
    if requests is not None:
        requests["storage"] = (old_spec["resources"].get("requests") or {}).get("storage", "0")


def _moves_class_to_field(value: Object, old: Object, context: Context) -> bool:
    key = context.dialect.label(CLASS_ANNOTATION)
    before = (old["metadata"].get("annotations") or {}).get(key)
    after = (value["metadata"].get("annotations") or {}).get(key)
    return (
        before is not None
        and old["spec"].get("storageClassName") is None
        and value["spec"].get("storageClassName") == before
        and after in (None, before)
    )


def _gets_class(value: Object, old: Object, context: Context) -> bool:
    """Whether a claim without a class gets one, such as the default class."""
    if not context.gates["RetroactiveDefaultStorageClass"]:
        return False
    annotations = old["metadata"].get("annotations") or {}
    annotation = annotations.get(context.dialect.label(CLASS_ANNOTATION))
    name = value["spec"].get("storageClassName")
    is_new = name is not None and old["spec"].get("storageClassName") is None
    return is_new and annotation in (None, name)


def _check_attributes_class_change(name: str | None, old: Object, causes: Causes) -> None:
    is_applied = old["status"].get("currentVolumeAttributesClassName") is not None
    if name == old["spec"].get(_CLASS) or not is_applied or name:
        return
    shown = "nil" if name is None else "empty string"
    detail = f"update to {shown} is forbidden when status.currentVolumeAttributesClassName is not"
    causes.forbidden(f"spec.{_CLASS}", f"{detail} nil")


def _check_class_annotation(
    metadata: Object, old: Object, causes: Causes, context: Context
) -> None:
    key = context.dialect.label(CLASS_ANNOTATION)
    after = (metadata.get("annotations") or {}).get(key, "")
    if after != (old.get("annotations") or {}).get(key, ""):
        causes.invalid(f"metadata.annotations.{key}", after, IMMUTABLE)


def _same_spec(spec: Object, old: Object) -> bool:
    rest = {name for name in (*spec, *old) if name != "resources"}
    return all(spec.get(name) == old.get(name) for name in rest) and all(
        same_quantities(spec["resources"].get(name), old["resources"].get(name))
        for name in ("limits", "requests")
    )


def _check_size_change(value: Object, old: Object, causes: Causes, context: Context) -> None:
    def size(claim: Object) -> str:
        return (claim["spec"]["resources"].get("requests") or {}).get("storage") or "0"

    if quantity(size(value)) >= quantity(size(old)):
        return
    if not _recovers(old, context):
        causes.forbidden(_SIZE_PATH, "field can not be less than previous value")
        return
    actual = (old["status"].get("capacity") or {}).get("storage", "0")
    if quantity(size(value)) <= quantity(actual):
        causes.forbidden(_SIZE_PATH, "field can not be less than status.capacity")


def _check_resizing(status: Object, causes: Causes, context: Context) -> None:
    state = status.get("resizeStatus")
    if state is not None and state not in RESIZE_STATES:
        causes.unsupported("status.resizeStatus", state, RESIZE_STATES)
    states, path = status.get("allocatedResourceStatuses") or {}, "status.allocatedResourceStatuses"
    for name, text in states.items():
        _check_resource_key(name, path, causes, context)
        if text not in _RESOURCE_STATES:
            causes.unsupported(path, name, sorted(_RESOURCE_STATES))
    for name, text in (status.get("allocatedResources") or {}).items():
        path = "status.allocatedResources"
        if not _check_resource_key(name, path, causes, context):
            continue
        before = len(causes)
        basic_quantity(text, f"{path}[{name}]", causes)
        if len(causes) == before:
            check_amount(name, text, f"{path}[{name}]", causes, context.dialect)


def _check_resource_key(name: str, path: str, causes: Causes, context: Context) -> bool:
    """Whether a claim can have a resource: storage, or one of another domain."""
    if not context.gates["VolumeAttributesClass"]:
        if name != "storage":
            causes.unsupported(path, name, ("storage",))
        return name == "storage"
    errors = qualified_name(name)
    causes.invalid_each(path, name, errors)
    is_native = "/" not in name or name.partition("/")[0].endswith(context.dialect.label_domain)
    if not errors and is_native and name != "storage":
        causes.unsupported(path, name, ("storage",))
        return False
    return not errors
