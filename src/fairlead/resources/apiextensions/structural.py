"""Checks that a schema is structural: it describes the type of every field, and `allOf` and the
like only narrow that.
"""

from __future__ import annotations

from typing import Any

from fairlead.base import meter
from fairlead.base.patterns import PatternError, compiled
from fairlead.resources.causes import Causes
from fairlead.resources.custom.schema.markers import (
    Markers,
    Schema,
    items_schema,
    states_int_or_string,
    values_schema,
)

ROOT, ITEM, FIELD = "root", "item", "field"
_STEPS_PER_PATTERN = 1000  # compiling takes about a millisecond
_NO_TYPE = {
    ROOT: "must not be empty at the root",
    ITEM: "must not be empty for specified array items",
    FIELD: "must not be empty for specified object fields",
}
_EMPTY, _UNDEFINED, _FALSE = (
    f"must be {word} to be structural" for word in ("empty", "undefined", "false")
)
ONLY_NAMES = (
    "must not specify anything other than name and generateName, but metadata is implicitly"
    " specified"
)
# Keywords that a structural schema cannot have.
_UNKNOWN = ("id", "$schema", "$ref", "additionalItems", "definitions", "dependencies")
_NO_STRUCTURE = (*_UNKNOWN, "patternProperties")


def without_structure(schema: Schema, markers: Markers) -> str:
    """The first keyword in a schema, at any depth, that prevents a structural schema; else
    empty."""
    for word in _NO_STRUCTURE:
        if schema.get(word):
            return word
    if schema.get(markers.preserve) is False:
        return markers.preserve
    if isinstance(schema.get("items"), list):
        return "items"
    for inner in _inner(schema):
        if missing := without_structure(inner, markers):
            return missing
    return ""


def _inner(schema: Schema) -> list[Schema]:
    """The schemas nested directly in a schema."""
    listed = [inner for word in ("allOf", "anyOf", "oneOf") for inner in schema.get(word) or ()]
    ones = [schema.get("not"), items_schema(schema), values_schema(schema)]
    return [
        *(schema.get("properties") or {}).values(),
        *listed,
        *(inner for inner in ones if inner is not None),
    ]


def check_structural(schema: Schema, path: str, markers: Markers, causes: Causes) -> bool:
    """Whether a schema is structural; if not, adds causes sorted by their text."""
    structural = _Structural(markers, type(causes)())
    structural.check(schema, ROOT, path)
    structural.check_complete(schema, path)
    for cause in sorted(
        structural.causes, key=lambda problem: f"{problem.field}: {problem.message}"
    ):
        causes.append(cause)
    return not structural.causes


class _Structural:
    def __init__(self, markers: Markers, causes: Causes) -> None:
        self.markers = markers
        self.causes = causes

    def check(self, schema: Schema, level: str, path: str) -> None:
        self._check_inside(schema, level, path)
        self._check_extensions(schema, path)
        self._check_conditions(schema, path, *states_int_or_string(schema))
        self._check_type(schema, level, path)
        is_object = level == ROOT or bool(schema.get(self.markers.embedded))
        self._check_meta(schema, level, path, is_object)
        if (
            schema.get(self.markers.embedded)
            and not schema.get(self.markers.preserve)
            and not schema.get("properties")
        ):
            detail = f"must not be empty if {self.markers.embedded} is true without"
            self.causes.required(f"{path}.properties", f"{detail} {self.markers.preserve}")

    def _check_inside(self, schema: Schema, level: str, path: str) -> None:
        items, values = items_schema(schema), values_schema(schema)
        if schema.get("type") == "array" and items is None:
            self.causes.required(f"{path}.items", "must be specified")
        if items is not None:
            self.check(items, ITEM, f"{path}.items")
        for name, inner in (schema.get("properties") or {}).items():
            self.check(inner, FIELD, f"{path}.properties[{name}]")
        if "additionalProperties" in schema and level == ROOT:
            detail = "must not be used at the root"
            self.causes.forbidden(f"{path}.additionalProperties", detail)
        if values is not None:
            self.check(values, FIELD, f"{path}.additionalProperties")

    def _check_extensions(self, schema: Schema, path: str) -> None:
        if not schema.get(self.markers.int_or_string):
            return
        for name in (self.markers.preserve, self.markers.embedded):
            if schema.get(name):
                detail = f"must be false if {self.markers.int_or_string} is true"
                self.causes.invalid(f"{path}.{name}", True, detail)

    def _check_type(self, schema: Schema, level: str, path: str) -> None:
        kind, embedded = schema.get("type") or "", schema.get(self.markers.embedded)
        if embedded and kind != "object":
            detail = f"must be object if {self.markers.embedded} is true"
            if kind:
                self.causes.invalid(f"{path}.type", kind, detail)
            else:
                self.causes.required(f"{path}.type", detail)
        elif not kind and not (
            schema.get(self.markers.int_or_string) or schema.get(self.markers.preserve)
        ):
            self.causes.required(f"{path}.type", _NO_TYPE[level])
        if embedded and "additionalProperties" in schema:
            detail = f"must not be used if {self.markers.embedded} is set"
            self.causes.forbidden(f"{path}.additionalProperties", detail)
        if level == ROOT and kind not in ("", "object"):
            self.causes.invalid(f"{path}.type", kind, "must be object at the root")

    def _check_meta(self, schema: Schema, level: str, path: str, is_object: bool) -> None:
        """Of apiVersion, kind and metadata, a schema may only restrict `name` and
        `generateName`."""
        properties = schema.get("properties") or {}
        expected_types = {"kind": "string", "apiVersion": "string", "metadata": "object"}
        for name, kind in expected_types.items():
            actual = properties[name].get("type") or "" if name in properties else kind
            if is_object and actual != kind:
                type_path = f"{path}.properties[{name}].type"
                self.causes.invalid(type_path, actual, f"must be {kind}")
        metadata = properties.get("metadata")
        if level != ROOT or metadata is None:
            return
        names = (metadata.get("properties") or {}).keys()
        others = {word for word, item in metadata.items() if item}
        others -= {"type", "properties", "default"}
        if not names <= {"name", "generateName"} or others:
            self.causes.forbidden(f"{path}.properties[metadata]", ONLY_NAMES)

    def _check_conditions(
        self, schema: Schema, path: str, skip_any: bool = False, skip_first: bool = False
    ) -> None:
        for word in ("anyOf", "allOf", "oneOf"):
            if word == "anyOf" and skip_any:
                continue
            for index, inner in enumerate(schema.get(word) or ()):
                skip = skip_first and word == "allOf" and index == 0
                self._check_nested(inner, f"{path}.{word}[{index}]", skip)
        if schema.get("not") is not None:
            self._check_nested(schema["not"], f"{path}.not")
        if schema.get("pattern"):
            meter.spend(_STEPS_PER_PATTERN)
            try:
                compiled(schema["pattern"])
            except PatternError as error:
                detail = f"must be a valid regular expression, but isn't: {error}"
                self.causes.invalid(f"{path}.pattern", schema["pattern"], detail)

    def _check_nested(self, schema: Schema, path: str, skip_any: bool = False) -> None:
        """Check a schema in `allOf` and the like: it may restrict values, but not declare types."""
        self._check_conditions(schema, path, skip_any)
        items, properties = items_schema(schema), schema.get("properties") or {}
        if items is not None:
            self._check_nested(items, f"{path}.items")
        for name, inner in properties.items():
            self._check_nested(inner, f"{path}.properties[{name}]")
        for word, detail in self._forbidden().items():
            nested = schema.get(word)
            if nested or (nested is not None and detail == _UNDEFINED):
                self.causes.forbidden(f"{path}.{word}", detail)
        if "metadata" in properties:
            detail = "must not be specified in a nested context"
            self.causes.forbidden(f"{path}.properties[metadata]", detail)

    def _forbidden(self) -> dict[str, str]:
        markers = self.markers
        return {
            "type": _EMPTY,
            "additionalProperties": _UNDEFINED,
            "default": _UNDEFINED,
            "title": _EMPTY,
            "description": _EMPTY,
            "nullable": _FALSE,
            markers.preserve: _FALSE,
            markers.embedded: _FALSE,
            markers.int_or_string: _FALSE,
            markers.list_keys: _EMPTY,
            markers.list_type: _UNDEFINED,
            markers.map_type: _UNDEFINED,
            markers.validations: _EMPTY,
        }

    def check_complete(self, schema: Schema, path: str) -> None:
        """Fields in `allOf` and the like must also be declared outside of them."""
        self._complete_conditions(schema, schema, path, path)

    def _complete_conditions(
        self, condition: Schema, schema: Schema, path: str, defined_in: str
    ) -> None:
        if condition.get("not") is not None:
            self._complete(condition["not"], schema, path, f"{defined_in}.not")
        for word in ("allOf", "anyOf", "oneOf"):
            for index, inner in enumerate(condition.get(word) or ()):
                self._complete(inner, schema, path, f"{defined_in}.{word}[{index}]")

    def _complete(
        self, condition: Schema, schema: Schema | None, path: str, defined_in: str
    ) -> None:
        if schema is None:
            self.causes.required(path, f"because it is defined in {defined_in}")
            return
        self._complete_conditions(condition, schema, path, defined_in)
        items = items_schema(condition)
        if items is not None:
            self._complete(items, items_schema(schema), f"{path}.items", f"{defined_in}.items")
        properties: dict[str, Any] = schema.get("properties") or {}
        for name, inner in (condition.get("properties") or {}).items():
            step = f"properties[{name}]"
            self._complete(inner, properties.get(name), f"{path}.{step}", f"{defined_in}.{step}")
