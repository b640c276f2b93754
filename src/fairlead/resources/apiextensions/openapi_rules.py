"""Rules of every schema in a definition, at any depth: unsupported keywords, and combinations of
extensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairlead.codec.cel.environment import environment
from fairlead.resources.apiextensions import schema_rules
from fairlead.resources.causes import Causes
from fairlead.resources.custom.schema.field_paths import FieldPathError, field_path
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema
from fairlead.resources.go_values import go_list

TYPES = ("array", "boolean", "integer", "number", "object", "string")
LIST_TYPES = ("atomic", "set", "map")
MAP_TYPES = ("atomic", "granular")
REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_META = ("metadata", "kind", "apiVersion")
QUADRATIC = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
_ATOMIC_ITEMS = "must be atomic as item of a list with {}=set"


@dataclass(frozen=True, slots=True)
class SchemaPosition:
    """The position of a schema. `no_defaults` is why defaults are forbidden there, None if they are
    allowed. `in_meta`: inside the metadata of an object. `times` is the maximal number of its
    values in an object, None if unbounded. `uncorrelatable` is the path of the list or map below
    which values cannot be matched with old values. `with_rules` is False inside conditions such as
    `allOf`."""

    path: str
    no_defaults: str | None = None
    in_meta: bool = False
    times: int | None = 1
    uncorrelatable: str = ""
    with_rules: bool = True
    is_root: bool = False

    def inside(self, step: str) -> SchemaPosition:
        return replace(self, path=f"{self.path}.{step}", is_root=False)

    def without_rules(self, step: str) -> SchemaPosition:
        return replace(self, path=f"{self.path}.{step}", is_root=False, with_rules=False)

    def multiplied(self, maximum: int | None) -> SchemaPosition:
        times = None if maximum is None or self.times is None else self.times * max(maximum, 0)
        return replace(self, times=times)

    def uncorrelated(self, path: str) -> SchemaPosition:
        return self if self.uncorrelatable else replace(self, uncorrelatable=path)


class OpenAPIRules:
    """Checks one schema. Problems of validation rules are reported after those of schemas."""

    def __init__(self, markers: Markers, causes: Causes) -> None:
        self._markers = markers
        self._causes = causes
        self._rules: schema_rules.RuleChecks | None = None

    def check(self, schema: Schema, path: str, with_rules: bool) -> None:
        """`with_rules`: everything else is valid, so that the types of expressions are known."""
        self._check(schema, SchemaPosition(path, with_rules=with_rules, is_root=True))
        if self._rules is not None:
            self._rules.report(path, self._causes)

    def _check(self, schema: Schema, position: SchemaPosition) -> None:
        before = len(self._causes)
        self._check_supported(schema, position)
        if schema.get("uniqueItems"):
            self._causes.forbidden(f"{position.path}.uniqueItems", QUADRATIC)
        self._check_object(schema, position)
        self._check_conditions(schema, position)
        self._check_items(schema, position)
        self._check_extensions(schema, position.path)
        rules = schema.get(self._markers.validations)
        if rules:
            self._check_rule_texts(rules, f"{position.path}.{self._markers.validations}")
            if self._markers.is_later:
                self._check_reports(schema, f"{position.path}.{self._markers.validations}")
            if position.with_rules and len(self._causes) == before:
                self._check_rules(schema, position)

    def _check_rules(self, schema: Schema, position: SchemaPosition) -> None:
        if self._rules is None:  # lazy: few schemas have rules, and none at the start
            pending = type(self._causes)()
            release = environment(self._markers.release)
            self._rules = schema_rules.RuleChecks(self._markers, release, pending)
        where = f"{position.path}.{self._markers.validations}"
        is_object = position.is_root or bool(schema.get(self._markers.embedded))
        self._rules.check(schema, where, is_object, position.times, position.uncorrelatable)

    def _check_supported(self, schema: Schema, position: SchemaPosition) -> None:
        causes, path, kind = self._causes, position.path, schema.get("type")
        if kind and kind not in TYPES:
            causes.unsupported(f"{path}.type", kind, TYPES)
        if schema.get("default") is not None and position.no_defaults is not None:
            causes.forbidden(f"{path}.default", f"must not be set {position.no_defaults}".rstrip())
        empty = getattr(schema, "empty", ())
        for word in ("id", "additionalItems", "patternProperties", "definitions", "dependencies"):
            value = {} if word in empty else schema.get(word)
            if value or (value is not None and word in ("additionalItems", "dependencies")):
                causes.forbidden(f"{path}.{word}", f"{word} is not supported")
        if schema.get("$ref") is not None:
            causes.forbidden(f"{path}.$ref", "$ref is not supported")
        if kind == "null":
            detail = "type cannot be set to null, use nullable as an alternative"
            causes.forbidden(f"{path}.type", detail)
        if isinstance(schema.get("items"), list) and schema["items"]:
            causes.forbidden(f"{path}.items", "items must be a schema object and not an array")
        if position.in_meta and schema.get(self._markers.embedded):
            name = self._markers.embedded
            causes.forbidden(f"{path}.{name}", "must not be used inside of resource meta")

    def _check_object(self, schema: Schema, position: SchemaPosition) -> None:
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        if properties and others is not None and others is not True:
            detail = "additionalProperties and properties are mutual exclusive"
            self._causes.forbidden(f"{position.path}.additionalProperties", detail)
        values = values_schema(schema)
        if values is not None:
            inside = position.inside("additionalProperties").multiplied(schema.get("maxProperties"))
            if position.in_meta:
                reason = "inside additionalProperties applying to object metadata"
                inside = replace(inside, no_defaults=reason)
            self._check(values, inside)
        for name, inner in properties.items():
            self._check(inner, self._of_property(schema, name, position))

    def _of_property(self, schema: Schema, name: str, position: SchemaPosition) -> SchemaPosition:
        inside = position.inside(f"properties[{name}]")
        if name in _META and (position.is_root or schema.get(self._markers.embedded)):
            inside = replace(inside, in_meta=True)
            if position.is_root:
                inside = replace(inside, no_defaults=f"in top-level {name}")
        return inside

    def _check_conditions(self, schema: Schema, position: SchemaPosition) -> None:
        if schema.get("not") is not None:
            self._check(schema["not"], position.without_rules("not"))
        for word in ("allOf", "oneOf", "anyOf"):
            for index, inner in enumerate(schema.get(word) or ()):
                self._check(inner, position.without_rules(f"{word}[{index}]"))
        for name, inner in (schema.get("definitions") or {}).items():
            self._check(inner, position.without_rules(f"definitions[{name}]"))

    def _check_items(self, schema: Schema, position: SchemaPosition) -> None:
        items = items_schema(schema)
        if items is not None:
            inside = position.inside("items").multiplied(schema.get("maxItems"))
            if schema.get(self._markers.list_type) != "map":
                inside = inside.uncorrelated(position.path)
            self._check(items, inside)

    def _check_extensions(self, schema: Schema, path: str) -> None:
        markers, causes = self._markers, self._causes
        if schema.get(markers.preserve) is False:
            causes.invalid(f"{path}.{markers.preserve}", False, "must be true or undefined")
        map_type, list_type = schema.get(markers.map_type), schema.get(markers.list_type)
        if map_type is not None:
            self._check_type(schema, "object", markers.map_type, path)
            if map_type not in MAP_TYPES:
                causes.unsupported(f"{path}.{markers.map_type}", map_type, MAP_TYPES)
        if list_type is not None:
            if self._check_type(schema, "array", markers.list_type, path) and list_type == "set":
                self._check_set(schema, path)
            if list_type not in LIST_TYPES:
                causes.unsupported(f"{path}.{markers.list_type}", list_type, LIST_TYPES)
        if schema.get(markers.list_keys) and list_type != "map":
            detail = f"must be map if {markers.list_keys} is non-empty"
            if list_type is None:
                causes.required(f"{path}.{markers.list_type}", detail)
            else:
                causes.invalid(f"{path}.{markers.list_type}", list_type, detail)
        if list_type == "map":
            self._check_map_list(schema, path)
        if list_type in ("set", "map"):
            self._check_key_values(schema, path)

    def _check_type(self, schema: Schema, type_name: str, marker: str, path: str) -> bool:
        kind = schema.get("type") or ""
        detail = f"must be {type_name} if {marker} is specified"
        if not kind:
            self._causes.required(f"{path}.type", detail)
        elif kind != type_name:
            self._causes.invalid(f"{path}.type", kind, detail)
        return kind == type_name

    def _check_set(self, schema: Schema, path: str) -> None:
        """The items of a set must be atomic: each has a single owner."""
        items, markers = items_schema(schema) or {}, self._markers
        detail = _ATOMIC_ITEMS.format(markers.list_type)
        list_type = items.get(markers.list_type)
        if items.get("type") == "array" and list_type not in (None, "atomic"):
            self._causes.invalid(f"{path}.items.{markers.list_type}", list_type, detail)
        if items.get("type") == "object" and items.get(markers.map_type) != "atomic":
            map_type_path = f"{path}.items.{markers.map_type}"
            self._causes.invalid(map_type_path, list_type or "null", detail)

    def _check_map_list(self, schema: Schema, path: str) -> None:
        markers, causes = self._markers, self._causes
        keys, items = schema.get(markers.list_keys) or [], schema.get("items")
        if not keys:
            detail = f"must not be empty if {markers.list_type} is map"
            causes.required(f"{path}.{markers.list_keys}", detail)
        if items is None:
            detail = f"must have a schema if {markers.list_type} is map"
            causes.required(f"{path}.items", detail)
        elif not isinstance(items, dict):
            detail = f"must only have a single schema if {markers.list_type} is map"
            causes.invalid(f"{path}.items", items, detail)
        elif items.get("type") != "object":
            detail = f"must be object if parent array's {markers.list_type} is map"
            causes.invalid(f"{path}.items.type", items.get("type") or "", detail)
        else:
            self._check_keys(keys, items.get("properties") or {}, path)

    def _check_keys(self, keys: list[str], properties: Schema, path: str) -> None:
        markers, causes = self._markers, self._causes
        keyword_path, seen = f"{path}.{markers.list_keys}", set[str]()
        for key in keys:
            if key not in properties:
                detail = "entries must all be names of item properties"
                causes.invalid(keyword_path, go_list("string", keys), detail)
            elif properties[key].get("type") in ("array", "object"):
                detail = f"must be a scalar type if parent array's {markers.list_type} is map"
                causes.invalid(f"{path}.items.properties[{key}].type", "object", detail)
            if key in seen:
                causes.invalid(
                    keyword_path, go_list("string", keys), "must not contain duplicate entries"
                )
            seen.add(key)

    def _check_key_values(self, schema: Schema, path: str) -> None:
        """The keys that identify list items must always be set."""
        markers, causes, items = self._markers, self._causes, items_schema(schema)
        list_type = schema[markers.list_type]
        if items is None:
            return
        if items.get("nullable"):
            detail = f"cannot be nullable when {markers.list_type} is {list_type}"
            causes.forbidden(f"{path}.items.nullable", detail)
        properties, required = items.get("properties") or {}, items.get("required") or ()
        for key in schema.get(markers.list_keys) or () if list_type == "map" else ():
            key_schema = properties.get(key)
            if key_schema is None:
                continue
            where = f"{path}.items.properties[{key}]"
            reason = f"this property is in {markers.list_keys}"
            if key not in required and key_schema.get("default") is None:
                detail = f"{reason}, so it must have a default or be a required property"
                causes.required(f"{where}.default", detail)
            if key_schema.get("nullable"):
                causes.forbidden(f"{where}.nullable", f"{reason}, so it cannot be nullable")

    def _check_rule_texts(self, rules: list[Schema], path: str) -> None:
        word = "" if self._markers.is_later else "message "
        for index, rule in enumerate(rules):
            keyword_path, text, message = (
                f"{path}[{index}]",
                rule.get("rule") or "",
                rule.get("message") or "",
            )
            if not text.strip():
                self._causes.required(f"{keyword_path}.rule", "rule is not specified")
            elif message and not message.strip():
                detail = f"{word}must be non-empty if specified"
                self._causes.invalid(f"{keyword_path}.message", message, detail)
            elif _has_lines(message.strip()):
                detail = f"{word}must not contain line breaks"
                self._causes.invalid(f"{keyword_path}.message", message, detail)
            elif _has_lines(text.strip()) and not message.strip():
                detail = "message must be specified if rule contains line breaks"
                self._causes.required(f"{keyword_path}.message", detail)

    def _check_reports(self, schema: Schema, path: str) -> None:
        """Check the message, the reason and the path that a rule reports for a refused value."""
        for index, rule in enumerate(schema[self._markers.validations]):
            keyword_path, field = f"{path}[{index}]", rule.get("fieldPath") or ""
            expression, reason = rule.get("messageExpression") or "", rule.get("reason")
            if expression and not expression.strip():
                detail = "messageExpression must be non-empty if specified"
                self._causes.required(f"{keyword_path}.messageExpression", detail)
            if reason is not None and reason not in REASONS:
                self._causes.unsupported(f"{keyword_path}.reason", reason, REASONS)
            if field and not field.strip():
                detail = "must be non-empty if specified"
                self._causes.invalid(f"{keyword_path}.fieldPath", field, detail)
            if _has_lines(field):
                self._causes.invalid(
                    f"{keyword_path}.fieldPath", field, "must not contain line breaks"
                )
            if field and not _is_path(field, schema):
                self._causes.invalid(f"{keyword_path}.fieldPath", field, "must be a valid path")


def _is_path(text: str, schema: Schema) -> bool:
    try:
        field_path(text, schema)
    except FieldPathError:
        return False
    return True


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text
