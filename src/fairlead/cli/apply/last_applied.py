"""The records of client-side apply: the last-applied annotation and entries in managedFields."""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.base.dialect import LAST_APPLIED, Dialect
from fairlead.cli.errors import CommandError
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.write_options import MANAGER
from fairlead.client.resources import JSON_PATCH, Resource
from fairlead.fields.field_sets import FieldSet, difference, of, parsed, union
from fairlead.fields.values import compact_json

Object = dict[str, Any]
CLIENT_SIDE = f"{MANAGER}-client-side-apply"
# Managers of client-side apply: ours and that of kubectl.
CLIENT_SIDE_MANAGERS = (CLIENT_SIDE, "kubectl-client-side-apply")


def annotation_of(dialect: Dialect) -> str:
    """The name of the annotation in this dialect."""
    return dialect.label(LAST_APPLIED)


def recorded(value: Object, annotation: str) -> Object:
    """The configuration with its own text in the annotation."""
    return annotated(value, annotation, text_of(value, annotation))


def text_of(value: Object, annotation: str) -> str:
    """The text of the annotation for a configuration, without the annotation itself."""
    metadata = value.get("metadata") or {}
    others = {name: text for name, text in annotations_of(value).items() if name != annotation}
    return compact_json({**value, "metadata": {**metadata, "annotations": others}}) + "\n"


def annotated(value: Object, name: str, text: str) -> Object:
    metadata = value.get("metadata") or {}
    return {**value, "metadata": {**metadata, "annotations": {**annotations_of(value), name: text}}}


def annotations_of(value: Object) -> dict[str, Any]:
    annotations = (value.get("metadata") or {}).get("annotations")
    return annotations if isinstance(annotations, dict) else {}


def last_applied(live: Object, annotation: str) -> Object | None:
    """The last applied configuration; None if the annotation is missing or not valid JSON."""
    text = annotations_of(live).get(annotation)
    if not isinstance(text, str) or not text:
        return None
    try:
        configuration = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return configuration if isinstance(configuration, dict) else None


def not_recorded(resolved: ResolvedObject, advice: str = "") -> CommandError:
    """The error for an object without the annotation."""
    name = f"{resolved.resource.type.name}/{resolved.name}"
    return CommandError(f"{name} has no record of what apply --client-side applied last{advice}")


async def record(
    resolved: ResolvedObject, value: Object, annotation: str, query: dict[str, Any]
) -> Object:
    """Write a configuration into the annotation of the object on the server."""
    patch = {"metadata": {"annotations": {annotation: text_of(value, annotation)}}}
    return await resolved.resource.patch(resolved.name, patch, resolved.namespace, **query)


# Migrates an object from client-side to server-side apply by rewriting its managedFields.


def has_client_side_fields(live: Object) -> bool:
    return any(map(_is_client_side, live["metadata"].get("managedFields") or ()))


def _is_client_side(entry: dict[str, Any]) -> bool:
    return (
        entry.get("manager") in CLIENT_SIDE_MANAGERS
        and entry.get("operation") == "Update"
        and not entry.get("subresource")
    )


async def migrate(
    resource: Resource, live: Object, namespace: str, manager: str, annotation: str
) -> None:
    """Transfer the fields of client-side apply to `manager`; raises Conflict if the object changed
    since `live` was read."""
    metadata = live["metadata"]
    patch = [
        {
            "op": "replace",
            "path": "/metadata/managedFields",
            "value": migrated(metadata["managedFields"], manager, annotation),
        },
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": metadata["resourceVersion"],
        },
    ]
    await resource.patch(metadata["name"], patch, namespace, type=JSON_PATCH)


def migrated(entries: list[Any], manager: str, annotation: str) -> list[Any]:
    """The managedFields after the migration. The annotation gets a manager of its own: it is not
    part of the applied configuration, so the next apply would remove it."""
    own = [entry for entry in entries if _is_client_side(entry)]
    newest = max(own, key=lambda entry: str(entry.get("time") or ""))
    version = newest["apiVersion"]
    others = []
    fields: FieldSet = {}
    for entry in entries:
        applies = entry.get("manager") == manager and entry.get("operation") == "Apply"
        if (applies and not entry.get("subresource")) or _is_client_side(entry):
            if entry["apiVersion"] == version:
                fields = union(fields, parsed(entry.get("fieldsV1") or {}))
        elif entry.get("manager") != keeper(manager):
            others.append(entry)
    own_text = of(("f:metadata", "f:annotations", f"f:{annotation}"))
    return [
        *others,
        _applied(manager, newest, difference(fields, own_text)),
        _applied(keeper(manager), newest, own_text),
    ]


def keeper(manager: str) -> str:
    """The manager that owns the annotation while `manager` uses server-side apply."""
    return f"{manager}-last-applied"


def _applied(manager: str, like: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    time = {"time": like["time"]} if like.get("time") else {}
    return {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": like["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **time,
    }
