"""Errors and warnings about unknown, missing and duplicate fields."""

from __future__ import annotations

from fairlead.base.errors import ResourceRef, StatusError, invalid
from fairlead.codec.types.required import missing_paths
from fairlead.operations.api import Object
from fairlead.operations.operation import Operation
from fairlead.resources.causes import Causes
from fairlead.resources.registry import Resource

MAX_STRICT_ERRORS = 100


def strict_errors(unknown: list[str], repeated: list[str]) -> list[str]:
    found = [*repeated, *(f'unknown field "{path}"' for path in unknown)]
    return list(dict.fromkeys(found))[:MAX_STRICT_ERRORS]


def warn_of(operation: Operation, found: list[str], validation: str) -> None:
    if validation == "Warn":
        for text in found:
            operation.warn(text)


def custom_type_error(resource: Resource, value: Object) -> StatusError | None:
    """The error for a custom object whose kind or apiVersion is not that of the resource."""
    causes = Causes()
    for field, wanted in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        given = value.get(field) or ""
        if given != wanted:
            causes.invalid(field, given, f"must be {wanted}")
    if not causes:
        return None
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else ""
    group = str(value.get("apiVersion") or "").rpartition("/")[0]
    return invalid(ResourceRef(group, value.get("kind") or "", str(name or "")), causes)


def check_required(resource: Resource, value: Object, *, in_message: bool = False) -> None:
    """Raise Invalid if required fields are missing from a body. Fields of `status` are required
    only where the status is written."""
    causes = Causes()
    writes_status = resource.subresource == "status"
    for path in missing_paths(resource.struct, value, in_message=in_message):
        if writes_status or not path.startswith("status."):
            causes.required(path)
    if causes:
        metadata = value.get("metadata") or {}
        raise invalid(resource.kind_ref(metadata.get("name") or ""), causes)
