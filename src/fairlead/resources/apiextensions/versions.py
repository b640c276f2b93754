"""Validation of a version of a definition, without its schema."""

from __future__ import annotations

from typing import Any

from fairlead.resources.causes import Causes, GoValue, go_composite, go_pointer, quote
from fairlead.resources.core.shared import go_structs
from fairlead.resources.custom.schema.field_paths import FieldPathError, field_path
from fairlead.resources.go_notation import to_value

MAX_SELECTABLE_FIELDS = 8
COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = (
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
)
MAX_WARNING_LENGTH = 256


def check_deprecation(version: dict[str, Any], path: str, causes: Causes) -> None:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    for error in _warning_errors(warning, version.get("deprecated", False)):
        causes.invalid(f"{path}.deprecationWarning", warning, error)


def _warning_errors(warning: str, deprecated: bool) -> list[str]:
    if not deprecated:
        return ["can only be set for deprecated versions"]
    errors = []
    if len(warning.encode()) > MAX_WARNING_LENGTH:
        errors.append(f"must be <= {MAX_WARNING_LENGTH} characters long")
    if not warning:
        errors.append("must not be an empty string")
    for index, letter in enumerate(warning):
        if not letter.isprintable():
            position = len(warning[:index].encode())
            errors.append(
                "must only contain printable UTF-8 characters; non-printable character found at"
                f" index {position}"
            )
            break
    return errors


def check_subresources(subresources: dict[str, Any] | None, path: str, causes: Causes) -> None:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for name, roots in (
        ("specReplicasPath", (".spec",)),
        ("statusReplicasPath", (".status",)),
        ("labelSelectorPath", (".spec", ".status")),
    ):
        field_path, text = f"{path}.scale.{name}", scale.get(name)
        if text:
            _check_scale_path(text, roots, field_path, causes)
        elif name != "labelSelectorPath":
            causes.required(field_path)


def _check_scale_path(text: str, roots: tuple[str, ...], path: str, causes: Causes) -> None:
    if not text.startswith("."):
        causes.invalid(path, text, "must be a simple json path starting with .")
    elif not text.startswith(tuple(f"{root}." for root in roots)):
        where = roots[0] if len(roots) == 1 else f"either {' or '.join(roots)}"
        causes.invalid(path, text, f"should be a json path under {where}")


def check_columns(columns: list[dict[str, Any]] | None, path: str, causes: Causes) -> None:
    for index, column in enumerate(columns or ()):
        _check_column(column, f"{path}[{index}]", causes)


def _check_column(column: dict[str, Any], path: str, causes: Causes) -> None:
    if not column["name"]:
        causes.required(f"{path}.name")
    types = f"must be one of {','.join(COLUMN_TYPES)}"
    if not column["type"]:
        causes.required(f"{path}.type", types)
    elif column["type"] not in COLUMN_TYPES:
        causes.invalid(f"{path}.type", column["type"], types)
    form = column.get("format", "")
    if form and form not in COLUMN_FORMATS:
        causes.invalid(f"{path}.format", form, f"must be one of {','.join(COLUMN_FORMATS)}")
    json_path = column["jsonPath"]
    if not json_path:
        causes.required(f"{path}.JSONPath")
    elif not json_path.startswith("."):
        causes.invalid(f"{path}.JSONPath", json_path, "must be a simple json path starting with .")


def check_selectable_fields(
    version: dict[str, Any],
    schema: dict[str, Any] | None,
    path: str,
    causes: Causes,
    *,
    without_schema: str,
    is_unchanged: bool,
) -> None:
    """Check the fields that field selectors may name; too many pass if they did not change."""
    selectable = version.get("selectableFields")
    if not selectable:
        return
    if schema is None:
        causes.invalid(path, "", without_schema)
        return
    seen: set[str] = set()
    for index, entry in enumerate(selectable):
        entry_path = f"{path}[{index}].jsonPath"
        _check_selectable_field(entry.get("jsonPath") or "", schema, entry_path, seen, causes)
    if len(seen) > MAX_SELECTABLE_FIELDS and not is_unchanged:
        causes.too_many(path, len(seen), MAX_SELECTABLE_FIELDS)


def _check_selectable_field(
    text: str, schema: dict[str, Any], path: str, seen: set[str], causes: Causes
) -> None:
    if not text:
        causes.required(path)
        return
    try:
        found = field_path(text, schema, with_brackets=False)
    except FieldPathError as error:
        causes.invalid(path, text, f"is an invalid path: {error}")
        return
    if found.steps[:1] == ("metadata",):
        causes.invalid(path, text, "must not point to fields in metadata")
    if found.schema.get("type") not in ("string", "boolean", "integer"):
        detail = (
            "must point to a field of type string, boolean or integer. Enum string fields and"
            " strings with formats are allowed."
        )
        causes.invalid(path, text, detail)
    if found.text in seen:
        causes.duplicate(path, text)
    seen.add(found.text)


def shown_version(version: dict[str, Any]) -> GoValue:
    """A version, without its hoisted fields, as messages print it."""
    columns = version.get("additionalPrinterColumns")
    package = "apiextensions"
    parts = {
        "Name": quote(version["name"]),
        "Served": str(version["served"]).lower(),
        "Storage": str(version["storage"]).lower(),
        "Deprecated": str(version.get("deprecated", False)).lower(),
        "DeprecationWarning": go_pointer("string", version.get("deprecationWarning")),
        "Schema": go_pointer(f"{package}.CustomResourceValidation", version.get("schema")),
        "Subresources": go_pointer(
            f"{package}.CustomResourceSubresources", version.get("subresources")
        ),
        "AdditionalPrinterColumns": go_structs(
            f"{package}.CustomResourceColumnDefinition", columns or None, _shown_column
        ),
    }
    kind = f"{package}.CustomResourceDefinitionVersion"
    selectable = go_structs(
        f"{package}.SelectableField",
        version.get("selectableFields") or None,
        lambda entry: {"JSONPath": quote(entry.get("jsonPath") or "")},
    )
    later = go_composite(kind, {**parts, "SelectableFields": selectable})
    return GoValue(go_composite(kind, parts), to_value(later, later.pointees))


def _shown_column(column: dict[str, Any]) -> dict[str, str]:
    return {
        "Name": quote(column["name"]),
        "Type": quote(column["type"]),
        "Format": quote(column.get("format", "")),
        "Description": quote(column.get("description", "")),
        "Priority": str(column.get("priority", 0)),
        "JSONPath": quote(column["jsonPath"]),
    }
