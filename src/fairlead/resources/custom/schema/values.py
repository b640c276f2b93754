"""Compiles a schema to closures that check values.

A schema becomes a table of checks by JSON class; None if there is nothing to check. The order of
checks, and so of problems, is the reference's: type, junctors, string or number or list, enum,
object.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from fairlead.base import budget
from fairlead.codec.types.json_numbers import is_integer
from fairlead.codec.types.mismatch import quoted
from fairlead.resources.custom.schema import junctors
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema
from fairlead.resources.custom.schema.problems import (
    INVALID,
    MOST,
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
_SILENT = {"type", "nullable", "description", "title", "default", "example", "externalDocs"}


class ValueChecks:
    """Makes the tables of one schema. With `int_or_string_is_any`, as in defaults, the type of an
    int-or-string is not checked."""

    def __init__(self, markers: Markers, int_or_string_is_any: bool = False) -> None:
        self._markers = markers
        self._int_or_string = () if int_or_string_is_any else ("integer", "string")
        self._by_type: dict[tuple[tuple[str, ...], bool], Table] = {}

    def table(self, schema: Schema) -> Table:
        types = self._types(schema)
        plain = self._of_type(types, bool(schema.get("nullable")))
        if schema.keys() <= _SILENT:
            return plain
        made = dict(plain)
        conditions = junctors.checks(schema, self.table)
        for found in CLASS_NAMES if conditions or schema.get("enum") else _checked(types):
            wrong = plain[found]
            checks = [wrong] if wrong is not None else []
            if found is not type(None):
                checks += conditions
            made[found] = _all(checks + self._own(schema, found))
        return made

    def _of_type(self, types: tuple[str, ...], nullable: bool) -> Table:
        """The type checks by class; cached, because many schemas have the same type."""
        known = self._by_type.get((types, nullable))
        if known is None:
            known = {found: _type_check(types, found, nullable) for found in CLASS_NAMES}
            self._by_type[types, nullable] = known
        return known

    def _types(self, schema: Schema) -> tuple[str, ...]:
        if schema.get(self._markers.int_or_string):
            return self._int_or_string
        return (schema["type"],) if schema.get("type") else ()

    def _own(self, schema: Schema, found: type) -> list[Check]:
        """The checks for values of a class, without `allOf`, `anyOf`, `oneOf` and `not`."""
        made: list[Check] = []
        if found is str:
            made = string_checks(schema)
        elif found in (int, float):
            made = number_checks(schema)
        elif found is list:
            made = self._list_checks(schema)
        if schema.get("enum"):
            made.append(enum_check(schema["enum"], is_text=found is str))
        return made + self._object_checks(schema) if found is dict else made

    def _list_checks(self, schema: Schema) -> list[Check]:
        made: list[Check] = []
        items = items_schema(schema)
        if items is not None:
            table = self.table(items)
            if any(table.values()):
                made.append(_items(table))
        least, most = schema.get("minItems"), schema.get("maxItems")
        if least:
            made.append(_least(least, "items"))
        if most is not None:
            made.append(_most(most))
        if schema.get("uniqueItems"):
            made.append(_unique)
        return made

    def _object_checks(self, schema: Schema) -> list[Check]:
        properties = schema.get("properties") or {}
        tables = {name: self.table(inner) for name, inner in properties.items()}
        tables = {name: table for name, table in tables.items() if any(table.values())}
        values = values_schema(schema)
        others = self.table(values) if values is not None else None
        required = tuple(schema.get("required") or ())
        made: list[Check] = []
        if schema.get("additionalProperties") is False:
            made.append(_closed(properties.keys()))
        elif others is not None and any(others.values()):
            made.append(_values(others, properties.keys()))
        if tables:
            made.append(_properties(tables))
        if required:
            made.append(_required(required))
        whole = _all(made)
        least, most = schema.get("minProperties"), schema.get("maxProperties")
        if least or most is not None:
            return [_sized(least or 0, most, whole)]
        return made


def _checked(types: tuple[str, ...]) -> tuple[type, ...]:
    """The classes of values that have checks besides that of the type."""
    if types in (("integer",), ("number",)):
        return (int, float)
    return _CLASSES.get(types[0], ()) if len(types) == 1 else tuple(CLASS_NAMES)


def _all(checks: list[Check]) -> Check | None:
    if len(checks) <= 1:
        return checks[0] if checks else None

    def check(value: Any) -> list[Problem] | None:
        found: list[Problem] | None = None
        for one in checks:
            problems = one(value)
            if problems:
                found = [*found, *problems] if found else problems
        return found

    return check


def _type_check(types: tuple[str, ...], found: type, nullable: bool) -> Check | None:
    """The check that a value of class `found` has one of the types; None if it always has."""
    if not types or any(found in _CLASSES.get(name, ()) for name in types):
        return None
    name, wanted = CLASS_NAMES[found], ",".join(types)
    if name == "null" and nullable:
        return None

    def text(path: str) -> str:
        return f'Invalid value: "{name}": {path} in body must be of type {wanted}: "{name}"'

    if found is float and "integer" in types:
        return lambda value: None if is_integer(value) else [Problem(TYPE, text)]
    return lambda _: [Problem(TYPE, text)]


def _items(table: Table) -> Check:
    def check(value: list[Any]) -> list[Problem] | None:
        found: list[Problem] = []
        budget.spend(len(value))
        for index, item in enumerate(value):
            one = table.get(item.__class__)
            if one is not None and (problems := one(item)):
                found += at(problems, f"[{index}]")
                if len(found) >= MOST:
                    break
        return found

    return check


def _least(least: int, what: str) -> Check:
    def check(value: Any) -> list[Problem] | None:
        if len(value) >= least:
            return None
        return [bad(len(value), f"should have at least {least} {what}")]

    return check


def _most(most: int) -> Check:
    return lambda value: None if len(value) <= most else [_too_many(len(value), most)]


def _too_many(count: int, most: int) -> Problem:
    text = f"Too many: {count}: must have at most {most} items"
    return Problem(TOO_MANY, lambda _: text)


def _unique(value: list[Any]) -> list[Problem] | None:
    if len({identity(item) for item in value}) == len(value):
        return None
    return [
        Problem(
            INVALID, lambda path: f'Invalid value: "": {path} in body shouldn\'t contain duplicates'
        )
    ]


def _sized(least: int, most: int | None, rest: Check | None) -> Check:
    """An object with a wrong number of properties is not checked any further."""

    def check(value: dict[str, Any]) -> list[Problem] | None:
        if len(value) < least:
            return [bad(len(value), f"should have at least {least} properties")]
        if most is not None and len(value) > most:
            return [_too_many(len(value), most)]
        return rest(value) if rest is not None else None

    return check


def _closed(known: Any) -> Check:
    def check(value: dict[str, Any]) -> list[Problem] | None:
        return [_forbidden(key) for key in islice((k for k in value if k not in known), MOST)]

    return check


def _forbidden(key: str) -> Problem:
    return Problem(
        INVALID,
        lambda path: f"Invalid value: {quoted(key)}: {path}.{key} in body is a forbidden property",
    )


def _values(table: Table, known: Any) -> Check:
    def check(value: dict[str, Any]) -> list[Problem] | None:
        found: list[Problem] = []
        budget.spend(len(value))
        for key, item in value.items():
            one = table.get(item.__class__)
            if one is not None and key not in known and (problems := one(item)):
                found += at(problems, f".{key}")
                if len(found) >= MOST:
                    break
        return found

    return check


def _properties(tables: dict[str, Table]) -> Check:
    get = tables.get
    none: Table = {}

    def check(value: dict[str, Any]) -> list[Problem] | None:
        found: list[Problem] | None = None
        budget.spend(len(value))
        for key, item in value.items():
            one = get(key, none).get(item.__class__)
            if one is not None and (problems := one(item)):
                found = (found or []) + at(problems, f".{key}")
                if len(found) >= MOST:
                    break
        return found

    return check


def _required(names: tuple[str, ...]) -> Check:
    wanted = dict.fromkeys(names).keys()

    def check(value: dict[str, Any]) -> list[Problem] | None:
        if wanted <= value.keys():
            return None
        missing = islice((name for name in names if name not in value), MOST)
        return [at([Problem(REQUIRED, _required_text)], f".{name}")[0] for name in missing]

    return check


def _required_text(_: str) -> str:
    return "Required value"
