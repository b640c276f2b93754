"""Compiles a schema to closures that check values.

A schema becomes a table of checks by JSON class; None if there is nothing to check. The order of
checks, and so of problems, is the reference's: type, junctors, string or number or list, enum,
object.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from fairlead.base import meter
from fairlead.codec.types.json_numbers import is_integer
from fairlead.codec.types.mismatch import quoted
from fairlead.codec.types.string_formats import is_known_format
from fairlead.resources.custom.schema import junctors
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema
from fairlead.resources.custom.schema.problems import (
    INVALID,
    MAX_PROBLEMS,
    REQUIRED,
    TOO_MANY,
    TYPE,
    Check,
    Problem,
    at,
)
from fairlead.resources.custom.schema.single_values import (
    bad,
    enum_check,
    has_number_range,
    identity,
    number_checks,
    string_checks,
)

Table = dict[type, Check | None]

CLASS_NAMES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
_CLASSES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
# Keywords without a check, or checked elsewhere.
_UNCHECKED_KEYWORDS = {
    "type",
    "nullable",
    "description",
    "title",
    "default",
    "example",
    "externalDocs",
}


class ValueChecks:
    """Makes the tables of one schema. With `int_or_string_is_any`, as in defaults, the type of an
    int-or-string is not checked."""

    def __init__(self, markers: Markers, int_or_string_is_any: bool = False) -> None:
        self._markers = markers
        self._int_or_string = () if int_or_string_is_any else ("integer", "string")
        self._by_type: dict[tuple[tuple[str, ...], bool, str], Table] = {}

    def table(self, schema: Schema) -> Table:
        types = self._types(schema)
        plain = self._of_type(types, bool(schema.get("nullable")), self._format(schema, types))
        if schema.keys() <= _UNCHECKED_KEYWORDS and not (
            self._markers.is_later and has_number_range(schema)
        ):
            return plain
        table = dict(plain)
        conditions = junctors.checks(schema, self.table)
        for value_class in (
            CLASS_NAMES if conditions or schema.get("enum") else _checked_classes(types)
        ):
            mismatch = plain[value_class]
            checks = [mismatch] if mismatch is not None else []
            if value_class is not type(None):
                checks += conditions
            table[value_class] = _all(checks + self._own(schema, value_class))
        return table

    def _of_type(self, types: tuple[str, ...], nullable: bool, form: str) -> Table:
        """The type checks by class; cached, because many schemas have the same type."""
        checks = self._by_type.get((types, nullable, form))
        if checks is None:
            checks = {
                value_class: _type_check(types, value_class, nullable, form)
                for value_class in CLASS_NAMES
            }
            self._by_type[types, nullable, form] = checks
        return checks

    def _format(self, schema: Schema, types: tuple[str, ...]) -> str:
        """The format of the values if it is a known one."""
        form = schema.get("format")
        if not isinstance(form, str) or len(types) != 1:
            return ""
        if types != ("string",) and not self._markers.is_later:
            return ""  # early releases know no formats of numbers
        return form if is_known_format(types[0], form, self._markers.is_later) else ""

    def _types(self, schema: Schema) -> tuple[str, ...]:
        if schema.get(self._markers.int_or_string):
            return self._int_or_string
        return (schema["type"],) if schema.get("type") else ()

    def _own(self, schema: Schema, value_class: type) -> list[Check]:
        """The checks for values of a class, without `allOf`, `anyOf`, `oneOf` and `not`."""
        checks: list[Check] = []
        if value_class is str:
            checks = string_checks(schema, self._markers.is_later)
        elif value_class in (int, float):
            checks = number_checks(schema, self._markers.is_later)
        elif value_class is list:
            checks = self._list_checks(schema)
        if schema.get("enum"):
            is_text, is_later = value_class is str, self._markers.is_later
            checks.append(enum_check(schema["enum"], is_text, is_later))
        return checks + self._object_checks(schema) if value_class is dict else checks

    def _list_checks(self, schema: Schema) -> list[Check]:
        checks: list[Check] = []
        items = items_schema(schema)
        if items is not None:
            table = self.table(items)
            if any(table.values()):
                checks.append(_items(table))
        minimum, maximum = schema.get("minItems"), schema.get("maxItems")
        if minimum:
            checks.append(_minimum(minimum, "items"))
        if maximum is not None:
            checks.append(_maximum(maximum, self._markers.is_later))
        if schema.get("uniqueItems"):
            checks.append(_unique)
        return checks

    def _object_checks(self, schema: Schema) -> list[Check]:
        properties = schema.get("properties") or {}
        tables = {name: self.table(inner) for name, inner in properties.items()}
        tables = {name: table for name, table in tables.items() if any(table.values())}
        values = values_schema(schema)
        others = self.table(values) if values is not None else None
        required = tuple(schema.get("required") or ())
        checks: list[Check] = []
        if schema.get("additionalProperties") is False:
            checks.append(_closed(properties.keys()))
        elif others is not None and any(others.values()):
            checks.append(_values(others, properties.keys()))
        if tables:
            checks.append(_properties(tables))
        if required:
            checks.append(_required(required))
        check_all = _all(checks)
        minimum, maximum = schema.get("minProperties"), schema.get("maxProperties")
        if minimum or maximum is not None:
            return [_sized(minimum or 0, maximum, check_all, self._markers.is_later)]
        return checks


def _checked_classes(types: tuple[str, ...]) -> tuple[type, ...]:
    """The classes of values that have checks besides that of the type."""
    if types in (("integer",), ("number",)):
        return (int, float)
    return _CLASSES.get(types[0], ()) if len(types) == 1 else tuple(CLASS_NAMES)


def _all(checks: list[Check]) -> Check | None:
    if len(checks) <= 1:
        return checks[0] if checks else None

    def check(value: Any) -> list[Problem] | None:
        result: list[Problem] | None = None
        for single_check in checks:
            problems = single_check(value)
            if problems:
                result = [*result, *problems] if result else problems
        return result

    return check


# The formats of values in messages about values whose schema has a known format.
_VALUE_FORMATS = {int: "int64", float: "float64", bool: "", dict: ""}


def _type_check(
    types: tuple[str, ...], value_class: type, nullable: bool, form: str
) -> Check | None:
    """The check that a value of class `value_class` has one of the types; None if it always has."""
    if not types or any(value_class in _CLASSES.get(name, ()) for name in types):
        return None
    name, expected = CLASS_NAMES[value_class], ",".join(types)
    if name == "null" and nullable:
        return None

    is_fraction = value_class is float and "integer" in types
    if form and value_class in _VALUE_FORMATS:
        name, expected = _VALUE_FORMATS[value_class], form

    def text(path: str) -> str:
        return f'Invalid value: "{name}": {path} in body must be of type {expected}: "{name}"'

    if is_fraction:
        return lambda value: None if is_integer(value) else [Problem(TYPE, text)]
    return lambda _: [Problem(TYPE, text)]


def _items(table: Table) -> Check:
    def check(value: list[Any]) -> list[Problem] | None:
        result: list[Problem] = []
        meter.spend(len(value))
        for index, item in enumerate(value):
            item_check = table.get(item.__class__)
            if item_check is not None and (problems := item_check(item)):
                result += at(problems, f"[{index}]")
                if len(result) >= MAX_PROBLEMS:
                    break
        return result

    return check


def _minimum(minimum: int, noun: str) -> Check:
    def check(value: Any) -> list[Problem] | None:
        if len(value) >= minimum:
            return None
        return [bad(len(value), f"should have at least {minimum} {noun}")]

    return check


def _maximum(maximum: int, is_later: bool) -> Check:
    return lambda value: (
        None if len(value) <= maximum else [_too_many(len(value), maximum, is_later)]
    )


def _too_many(count: int, maximum: int, is_later: bool) -> Problem:
    noun = "item" if is_later and maximum == 1 else "items"
    text = f"Too many: {count}: must have at most {maximum} {noun}"
    return Problem(TOO_MANY, lambda _: text)


def _unique(value: list[Any]) -> list[Problem] | None:
    if len({identity(item) for item in value}) == len(value):
        return None
    return [
        Problem(
            INVALID, lambda path: f'Invalid value: "": {path} in body shouldn\'t contain duplicates'
        )
    ]


def _sized(minimum: int, maximum: int | None, rest: Check | None, is_later: bool) -> Check:
    """Before the later release, an object with a wrong number of properties is not checked any
    further."""

    def check(value: dict[str, Any]) -> list[Problem] | None:
        problems: list[Problem] = []
        if len(value) < minimum:
            problems.append(bad(len(value), f"should have at least {minimum} properties"))
        elif maximum is not None and len(value) > maximum:
            problems.append(_too_many(len(value), maximum, is_later))
        if problems and not is_later:
            return problems
        return problems + (rest(value) or []) if rest is not None else problems

    return check


def _closed(names: Any) -> Check:
    def check(value: dict[str, Any]) -> list[Problem] | None:
        return [
            _forbidden(key) for key in islice((k for k in value if k not in names), MAX_PROBLEMS)
        ]

    return check


def _forbidden(key: str) -> Problem:
    return Problem(
        INVALID,
        lambda path: f"Invalid value: {quoted(key)}: {path}.{key} in body is a forbidden property",
    )


def _values(table: Table, names: Any) -> Check:
    def check(value: dict[str, Any]) -> list[Problem] | None:
        result: list[Problem] = []
        meter.spend(len(value))
        for key, item in value.items():
            item_check = table.get(item.__class__)
            if item_check is not None and key not in names and (problems := item_check(item)):
                result += at(problems, f".{key}")
                if len(result) >= MAX_PROBLEMS:
                    break
        return result

    return check


def _properties(tables: dict[str, Table]) -> Check:
    get = tables.get
    none: Table = {}

    def check(value: dict[str, Any]) -> list[Problem] | None:
        result: list[Problem] | None = None
        meter.spend(len(value))
        for key, item in value.items():
            item_check = get(key, none).get(item.__class__)
            if item_check is not None and (problems := item_check(item)):
                result = (result or []) + at(problems, f".{key}")
                if len(result) >= MAX_PROBLEMS:
                    break
        return result

    return check


def _required(names: tuple[str, ...]) -> Check:
    required = dict.fromkeys(names).keys()

    def check(value: dict[str, Any]) -> list[Problem] | None:
        if required <= value.keys():
            return None
        missing = islice((name for name in names if name not in value), MAX_PROBLEMS)
        return [at([Problem(REQUIRED, _required_text)], f".{name}")[0] for name in missing]

    return check


def _required_text(_: str) -> str:
    return "Required value"
