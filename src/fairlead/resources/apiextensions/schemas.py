"""The schema of a custom resource: the rules of its root, of its structure, of its defaults, of
all schemas in it, and of its validation rules."""

from __future__ import annotations

from typing import Any

from fairlead.base.budget import OverTime
from fairlead.resources.apiextensions.depth import check_depth
from fairlead.resources.apiextensions.openapi_rules import OpenAPIRules
from fairlead.resources.apiextensions.schema_defaults import check_defaults
from fairlead.resources.apiextensions.shown_schemas import shown_schema
from fairlead.resources.apiextensions.structural import check_structural, without_structure
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.custom.schema.markers import Markers, Schema, markers_of

# What the root may say besides `type` when the status is written on its own: all that is not lost
# when the status is checked by itself.
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
    """The schema of one version, or of all; `path` leads to what holds `openAPIV3Schema`."""
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return
    here, before = f"{path}.openAPIV3Schema", len(causes)
    if status_enabled:
        _check_root(schema, here, causes, context)
    if schema.get("nullable"):
        causes.forbidden(f"{here}.nullable", "nullable cannot be true at the root")
    markers = markers_of(context.dialect.marker)
    if check_depth(schema, here, causes):
        try:
            unstructured = _check_inside(schema, here, markers, causes)
        except OverTime as error:
            causes.invalid(here, "", str(error))
            return
        if unstructured and len(causes) == before:
            word = unstructured.removeprefix("$")  # only "$schema" is told by no rule of its own
            causes.invalid(here, "", f"OpenAPIV3Schema '{word}' is not supported")


def _check_inside(schema: Schema, path: str, markers: Markers, causes: Causes) -> str:
    """Check defaults if the structure is good, and rules if defaults are good too. Returns the
    keyword that keeps the schema from having a structure, if there is one."""
    unstructured = without_structure(schema, markers)
    is_good = (
        not unstructured
        and check_structural(schema, path, markers, causes)
        and check_defaults(schema, path, markers, causes)
    )
    OpenAPIRules(markers, causes).check(schema, path, is_good)
    return unstructured


def _check_root(schema: dict[str, Any], path: str, causes: Causes, context: Context) -> None:
    """The first keyword that the root may not have is told, in the order in which they are shown:
    `id`, `$schema` and `$ref` come before the type, all others after it."""
    kind = schema.get("type", "")
    allowed = {context.dialect.marked(name) for name in ALLOWED_AT_ROOT}
    given = {name for name, held in schema.items() if _is_given(name, held)}
    given.update(getattr(schema, "empty", ()))  # lists and maps that were given without entries
    given -= allowed
    if kind not in ("", "object") and not {"id", "$schema", "$ref"}.intersection(given):
        detail = (
            'only "object" is allowed as the type at the root of the schema if the status'
            " subresource is enabled"
        )
        causes.invalid(f"{path}.type", kind, detail)
    elif given:
        names = " ".join(ALLOWED_AT_ROOT.values())
        detail = (
            f"only [{names}] fields are allowed at the root of the schema if the status"
            " subresource is enabled"
        )
        causes.invalid(path, shown_schema(schema, context.dialect.marked), detail)


def _is_given(name: str, held: Any) -> bool:
    """A limit of 0 is given, and so are a schema without anything in it and one that is false."""
    if name in ("$ref", "additionalItems", "additionalProperties"):
        return held is not None
    return held is not None and held is not False and held != ""
