"""Validation of the schema of a custom resource: its root, its structure, its defaults, all nested
schemas, and its validation rules.
"""

from __future__ import annotations

from typing import Any

from fairlead.base.meter import TimeLimitExceeded
from fairlead.resources.apiextensions.openapi_rules import OpenAPIRules
from fairlead.resources.apiextensions.schema_defaults import check_defaults, check_depth
from fairlead.resources.apiextensions.shown_schemas import shown_schema
from fairlead.resources.apiextensions.structural import check_structural, without_structure
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.custom.schema.markers import Markers, Schema, markers_of

# Keywords that the root may have if the status subresource is enabled: those that still apply when
# the status is validated on its own.
ALLOWED_AT_ROOT = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-@-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-@-validations": "XValidations",
}


def check_schema(
    validation: dict[str, Any] | None,
    status_enabled: bool,
    path: str,
    causes: Causes,
    context: Context,
) -> None:
    """Check the schema of one version, or of all versions; `path` is that of the parent of
    `openAPIV3Schema`."""
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return
    field_path, before = f"{path}.openAPIV3Schema", len(causes)
    if status_enabled:
        _check_root(schema, field_path, causes, context)
    if schema.get("nullable"):
        causes.forbidden(f"{field_path}.nullable", "nullable cannot be true at the root")
    markers = markers_of(context.dialect.marker, context.gates.release)
    if check_depth(schema, field_path, causes):
        try:
            unstructured = _check_inside(schema, field_path, markers, causes)
        except TimeLimitExceeded as error:
            causes.invalid(field_path, "", str(error))
            return
        if unstructured and len(causes) == before:
            word = unstructured.removeprefix("$")  # only "$schema" has no rule of its own
            causes.invalid(field_path, "", f"OpenAPIV3Schema '{word}' is not supported")


def _check_inside(schema: Schema, path: str, markers: Markers, causes: Causes) -> str:
    """Check defaults if the structure is valid, and rules if the defaults are valid too. Returns
    the keyword that prevents a structural schema, or an empty string."""
    unstructured = without_structure(schema, markers)
    is_good = (
        not unstructured
        and check_structural(schema, path, markers, causes)
        and check_defaults(schema, path, markers, causes)
    )
    OpenAPIRules(markers, causes).check(schema, path, is_good)
    return unstructured


def _check_root(schema: dict[str, Any], path: str, causes: Causes, context: Context) -> None:
    """Report the first keyword that the root may not have, in the order of their output: `id`,
    `$schema` and `$ref` come before the type, all others after it."""
    kind = schema.get("type", "")
    allowed = {context.dialect.marked(name) for name in ALLOWED_AT_ROOT}
    keywords = {name for name, value in schema.items() if _is_given(name, value)}
    keywords.update(getattr(schema, "empty", ()))  # empty lists and maps in the request
    keywords -= allowed
    if kind not in ("", "object") and not {"id", "$schema", "$ref"}.intersection(keywords):
        detail = (
            'only "object" is allowed as the type at the root of the schema if the status'
            " subresource is enabled"
        )
        causes.invalid(f"{path}.type", kind, detail)
    elif keywords:
        names = " ".join(ALLOWED_AT_ROOT.values())
        detail = (
            f"only [{names}] fields are allowed at the root of the schema if the status"
            " subresource is enabled"
        )
        causes.invalid(path, shown_schema(schema, context.dialect.marked), detail)


def _is_given(name: str, value: Any) -> bool:
    """Whether a keyword is set. A limit of 0 is set, and so are an empty schema and the schema
    false."""
    if name in ("$ref", "additionalItems", "additionalProperties"):
        return value is not None
    return value is not None and value is not False and value != ""
