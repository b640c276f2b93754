"""Formats a schema for messages: the whole Go struct, without the values of pointers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairlead.codec.types.mismatch import source_text
from fairlead.resources.causes import GoValue, go_composite, go_pointer, quote
from fairlead.resources.custom.schema.markers import Schema
from fairlead.resources.go_values import go_list

PACKAGE = "apiextensions"
KIND = f"{PACKAGE}.JSONSchemaProps"
# One schema takes 2 kB, and a truncated message would lose the error at its end.
MAX_SHOWN = 24
_HOLDERS = ("allOf", "oneOf", "anyOf")
_MAPS = ("properties", "patternProperties", "definitions")


def shown_schema(schema: Schema, marked: Callable[[str], str]) -> GoValue:
    """`marked` returns the dialect's name of an extension."""
    if _count(schema) > MAX_SHOWN:
        return GoValue(f"{KIND}{{...}}")
    return _SchemaFormatter(marked).schema(schema)


def _count(schema: Schema) -> int:
    """The number of schemas to print; stops counting above the limit."""
    waiting, count = [schema], 0
    while waiting and count <= MAX_SHOWN:
        current = waiting.pop()
        count += 1
        for name in _HOLDERS:
            waiting += current.get(name) or ()
        for name in _MAPS:
            waiting += (current.get(name) or {}).values()
    return count


def _flag(value: Any) -> str:
    return str(bool(value)).lower()


def _text(value: Any) -> str:
    return quote(value or "")


def _texts(value: Any) -> str:
    return go_list("string", value)


def _pointer(name: str) -> Callable[[Any], str]:
    return lambda value: go_pointer(name, value)


def _values(values: Iterable[Any] | None) -> str:
    kind = f"[]{PACKAGE}.JSON"
    if values is None:
        return f"{kind}(nil)"
    nothing = f"{PACKAGE}.JSON(nil)"
    listed = ", ".join(nothing if value is None else source_text(value) for value in values)
    return f"{kind}{{{listed}}}"


def _rules(rules: Iterable[dict[str, str]] | None) -> str:
    kind = f"{PACKAGE}.ValidationRules"
    if rules is None:
        return f"{kind}(nil)"
    shown = (
        go_composite(
            f"{PACKAGE}.ValidationRule",
            {"Rule": _text(rule.get("rule")), "Message": _text(rule.get("message"))},
        )
        for rule in rules
    )
    return go_composite(kind, shown)


def _dependencies(named: dict[str, Any] | None) -> str:
    kind = f"{PACKAGE}.JSONSchemaDependencies"
    if named is None:
        return f"{kind}(nil)"
    return go_composite(kind, {quote(name): _dependency(named[name]) for name in sorted(named)})


def _dependency(value: Any) -> str:
    names = value if isinstance(value, list) else None
    schema = None if isinstance(value, list) else value
    parts = {"Schema": go_pointer(KIND, schema), "Property": _texts(names)}
    return go_composite(f"{PACKAGE}.JSONSchemaPropsOrStringArray", parts)


class _SchemaFormatter:
    def __init__(self, marked: Callable[[str], str]) -> None:
        decimal, integer = _pointer("float64"), _pointer("int64")
        json, bool_or_schema = _pointer(f"{PACKAGE}.JSON"), f"{PACKAGE}.JSONSchemaPropsOrBool"
        fields: dict[str, tuple[str, Callable[[Any], str]]] = {
            "ID": ("id", _text),
            "Schema": ("$schema", _text),
            "Ref": ("$ref", _pointer("string")),
            "Description": ("description", _text),
            "Type": ("type", _text),
            "Nullable": ("nullable", _flag),
            "Format": ("format", _text),
            "Title": ("title", _text),
            "Default": ("default", json),
            "Maximum": ("maximum", decimal),
            "ExclusiveMaximum": ("exclusiveMaximum", _flag),
            "Minimum": ("minimum", decimal),
            "ExclusiveMinimum": ("exclusiveMinimum", _flag),
            "MaxLength": ("maxLength", integer),
            "MinLength": ("minLength", integer),
            "Pattern": ("pattern", _text),
            "MaxItems": ("maxItems", integer),
            "MinItems": ("minItems", integer),
            "UniqueItems": ("uniqueItems", _flag),
            "MultipleOf": ("multipleOf", decimal),
            "Enum": ("enum", _values),
            "MaxProperties": ("maxProperties", integer),
            "MinProperties": ("minProperties", integer),
            "Required": ("required", _texts),
            "Items": ("items", _pointer(f"{PACKAGE}.JSONSchemaPropsOrArray")),
            "AllOf": ("allOf", self._several),
            "OneOf": ("oneOf", self._several),
            "AnyOf": ("anyOf", self._several),
            "Not": ("not", _pointer(KIND)),
            "Properties": ("properties", self._named(f"map[string]{KIND}")),
            "AdditionalProperties": ("additionalProperties", _pointer(bool_or_schema)),
            "PatternProperties": ("patternProperties", self._named(f"map[string]{KIND}")),
            "Dependencies": ("dependencies", _dependencies),
            "AdditionalItems": ("additionalItems", _pointer(bool_or_schema)),
            "Definitions": ("definitions", self._named(f"{PACKAGE}.JSONSchemaDefinitions")),
            "ExternalDocs": ("externalDocs", _pointer(f"{PACKAGE}.ExternalDocumentation")),
            "Example": ("example", json),
            "XPreserveUnknownFields": ("x-@-preserve-unknown-fields", _pointer("bool")),
            "XEmbeddedResource": ("x-@-embedded-resource", _flag),
            "XIntOrString": ("x-@-int-or-string", _flag),
            "XListMapKeys": ("x-@-list-map-keys", _texts),
            "XListType": ("x-@-list-type", _pointer("string")),
            "XMapType": ("x-@-map-type", _pointer("string")),
            "XValidations": ("x-@-validations", _rules),
        }
        self._fields = {name: (marked(keyword), show) for name, (keyword, show) in fields.items()}

    def schema(self, schema: Schema) -> GoValue:
        empty = getattr(schema, "empty", ())  # empty lists and maps in the request
        shown = {
            name: show([] if keyword in empty else schema.get(keyword))
            for name, (keyword, show) in self._fields.items()
        }
        return go_composite(KIND, shown)

    def _several(self, schemas: Iterable[Schema] | None) -> str:
        if schemas is None:
            return f"[]{KIND}(nil)"
        return go_composite(f"[]{KIND}", map(self.schema, schemas))

    def _named(self, kind: str) -> Callable[[dict[str, Schema] | None], str]:
        def show(schemas: dict[str, Schema] | None) -> str:
            if schemas is None:
                return f"{kind}(nil)"
            return go_composite(
                kind, {quote(name): self.schema(schemas[name]) for name in sorted(schemas)}
            )

        return show
