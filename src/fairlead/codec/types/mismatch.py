"""Errors for values that do not fit their type: the value, the type and the place."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Any

import orjson

from fairlead.codec.types.builtin import type_name_of
from fairlead.codec.types.model import ListOf, MapOf, Scalar, Struct, Type


class DecodeError(ValueError):
    """A value that does not fit its type. `fields` and `struct` give the place, once known."""

    def __init__(self, message: str, *, wants_place: bool = False, home: str = "") -> None:
        """`home` is the group-version that defines the expected type, if one does."""
        super().__init__(message)
        self._message = message
        self._wants_place = wants_place
        self.fields: list[str] = []
        self.struct = ""
        self._struct = ""
        self._whole_path: list[str] = []  # beyond alternatives, with the names of embedded structs
        self._in_alternative = False
        self._wants_struct = True
        self.value: Any = None  # the value, if its form is wrong
        self.form = ""
        self._home = home

    def name_by(self, group_version: str) -> None:
        """Name the expected type by the version that was decoded, which may share the types of
        another version of its group."""
        group, _, version = group_version.partition("/")
        home_group, _, home_version = self._home.partition("/")
        if self._home and group == home_group:
            actual, of_type, expected = self._message.partition(" of type ")
            expected = expected.replace(f"{home_version}.", f"{version}.")
            self._message = f"{actual}{of_type}{expected}"

    def at(self, struct: Struct, field: str) -> None:
        """Add a step of the path to the value, innermost first. The first step is the field itself,
        whose type may have a name of its own."""
        if not self._whole_path and not self._in_alternative:
            self.struct = struct.name
            self._name_type(struct, field)
        if self._wants_struct:
            self._struct, self._wants_struct = struct.name, False
        self._whole_path.append(_path_in(struct, field))
        if not self._in_alternative:
            self.fields.append(field)

    def leave_alternative(self) -> None:
        """End `fields` at a value that has one of several types. The last step has no name in
        JSON."""
        self._whole_path.pop()
        self._wants_struct = True  # the message names the outermost struct
        if self._in_alternative:
            return
        self._in_alternative = True
        self.fields.pop()
        if not self.fields:
            self.struct = ""

    def _name_type(self, struct: Struct, field: str) -> None:
        actual, _, expected = self._message.partition(" of type ")
        if not self._wants_place:
            return
        named = type_name_of(struct, field) or type_name_of(_owner(struct, field), field)
        if named is None:
            return
        node = struct.fields[field].type
        if isinstance(node, (ListOf, MapOf)) and expected != type_name(node):
            prefix = "[]" if isinstance(node, ListOf) else f"{named.partition(']')[0]}]"
            if not named.startswith(prefix) or expected != type_name(node.element):
                return  # the name is that of the container, but the value is an element
            named = named.removeprefix(prefix)
        version = struct.group_version.partition("/")[2]
        self._home = struct.group_version if named.startswith(f"{version}.") else ""
        self._message = f"{actual} of type {named}"

    @property
    def wanted(self) -> str:
        """The name of the expected type."""
        return self._message.partition(" of type ")[2]

    def __str__(self) -> str:
        return self._text(self.struct, self.fields)

    @property
    def with_whole_path(self) -> str:
        """The message with the path from the object on, embedded structs included."""
        return self._text(self._struct, self._whole_path)

    def _text(self, struct: str, steps: list[str]) -> str:
        if not self._wants_place:
            return self._message
        actual, _, expected = self._message.partition(" of type ")
        target = f"Go struct field {struct}.{'.'.join(reversed(steps))}"
        if not struct:
            return f"json: cannot unmarshal {actual} into Go value of type {expected}"
        return f"json: cannot unmarshal {actual} into {target} of type {expected}"


def _owner(struct: Struct, field: str) -> Struct:
    """The struct that declares a field: this one, or one that it embeds."""
    for part in struct.embedded.values():
        if field in part.struct.fields:
            return _owner(part.struct, field)
    return struct


def _path_in(struct: Struct, field: str) -> str:
    """The path of a field in Go: a field of an embedded struct lies below that struct's name."""
    for part in struct.embedded.values():
        if field in part.struct.fields:
            return f"{part.struct.name}.{_path_in(part.struct, field)}"
    return field


class Number(float):
    """A float with the text of its JSON literal, which error messages quote."""

    text: str

    def __new__(cls, text: str) -> Number:
        result = super().__new__(cls, text)
        result.text = text
        return result


def mismatch(value: Any, expected: str | Type, form: str = "scalar") -> DecodeError:
    """The error for a value that has not the expected `form`: scalar, text (for types that are
    parsed from text), slice, map or struct."""
    home, name = ("", expected) if isinstance(expected, str) else _home_and_name(expected)
    error = DecodeError(f"{json_kind(value)} of type {name}", wants_place=True, home=home)
    error.value, error.form = value, form
    return error


def _home_and_name(node: Type) -> tuple[str, str]:
    innermost = node
    while isinstance(innermost, (ListOf, MapOf)):
        innermost = innermost.element
    home = innermost.group_version if isinstance(innermost, Struct) else ""
    return home, type_name(node)


def conversion_error(error: DecodeError) -> str:
    """The message for the same error if the value comes from a merge instead of from text."""
    kind = _VALUE_KINDS.get(type(error.value), "float64")
    actual, _, expected = error.args[0].partition(" of type ")
    match error.form:
        case "map" | "slice":
            return f"cannot restore {error.form} from {kind}"
        case "struct":
            return f"cannot restore struct from: {kind}"
        case "scalar":
            if (kind, expected) in _CONVERTIBLE:
                return f"cannot convert {kind} to {error.wanted}"
            return f"unrecognized type: {expected}"
        case "text":
            return f"json: cannot unmarshal {actual} into Go value of type {expected}"
    return str(error)


# Conversions that Go allows and JSON decoding does not.
_CONVERTIBLE = {("int64", "string"), ("float64", "int32"), ("float64", "int64")}
_VALUE_KINDS = {str: "string", bool: "bool", int: "int64", list: "slice", dict: "map"}


def json_kind(value: Any) -> str:
    """The name of a JSON value's kind in messages."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case None:
            return "null"
        case _:
            return "number"


def type_name(node: Type) -> str:
    """The name of a type in messages."""
    match node:
        case Scalar(name="bytes"):
            return "[]uint8"
        case Scalar(name="double"):
            return "float64"
        case Scalar(name="Time" | "MicroTime" as name):
            return "v1." + name
        case Scalar(name="Quantity"):
            return "resource.Quantity"
        case Scalar(name="IntOrString"):
            return "intstr.IntOrString"
        case Scalar(name="raw"):
            return "runtime.RawExtension"
        case Scalar(name=name):
            return name
        case ListOf(element=element):
            return "[]" + type_name(element)
        case MapOf(element=element):
            return "map[string]" + type_name(element)
        case Struct(name=name, group_version=group_version):
            return f"{group_version.rpartition('/')[2]}.{name}"


# Values and types as the reference prints them in its messages.


def plain_text(value: Any) -> str:
    """A value in the reference's plain format (Go's `%v`): `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        inner = " ".join(f"{name}:{plain_text(item)}" for name, item in sorted(value.items()))
        return f"map[{inner}]"
    if isinstance(value, list):
        return f"[{' '.join(map(plain_text, value))}]"
    return _word(value, str)


def source_text(value: Any) -> str:
    """A value in the reference's source format (Go's `%#v`): `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        inner = ", ".join(f"{quoted(k)}:{source_text(v)}" for k, v in sorted(value.items()))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(source_text, value))}}}"
    return _word(value, quoted)


def type_text(value: Any) -> str:
    """The Go type of a value that is not a number."""
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    return "bool" if isinstance(value, bool) else "string"


def any_type_text(value: Any) -> str:
    """The Go type of any value decoded from JSON."""
    if value is None:
        return "<nil>"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "int64" if isinstance(value, int) else "float64"
    return type_text(value)


def shown(value: Any) -> str:
    """A value as printed in messages about it: in the source format, null as a string."""
    return quoted("null") if value is None else source_text(value)


def quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def number_text(value: float) -> str:
    """Format a number as the reference does: floats, and integers beyond 64 bits, are written in
    scientific notation from 1e6 on and below 1e-4."""
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return str(value)
    try:
        double = float(value)
    except OverflowError:
        return str(value)
    if not isfinite(double) or double == 0 or 1e-4 <= abs(double) < 1e6:
        return repr(double).removesuffix(".0")
    # The shortest exact digits, in scientific notation with at least two digits of exponent.
    _, digits, _ = Decimal(repr(double)).as_tuple()
    shown = "".join(map(str, digits)).rstrip("0")
    return f"{double:.{len(shown) - 1}e}"


def _word(value: Any, text: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else number_text(value)
