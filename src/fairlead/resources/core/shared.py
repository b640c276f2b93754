"""Rules and messages that several kinds of the core group share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import orjson

from fairlead.codec import json_syntax
from fairlead.codec.types.mismatch import json_kind
from fairlead.codec.types.quantity import quantity, quantity_digits
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, go_composite, quote
from fairlead.resources.rules import ABOVE_ZERO, NON_NEGATIVE

NOT_AN_INTEGER = "must be an integer"

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def go_structs(
    name: str,
    values: Iterable[dict[str, Any]] | None,
    fields: Callable[[dict[str, Any]], Mapping[str, str]],
) -> GoValue:
    """A list of structs; None is nil."""
    if values is None:
        return GoValue(f"[]{name}(nil)")
    return go_composite(f"[]{name}", (go_composite(name, fields(value)) for value in values))


def go_text_fields(name: str, value: Mapping[str, Any], fields: Mapping[str, str]) -> GoValue:
    """A struct of strings; `fields` maps our names to the names in messages."""
    return go_composite(name, {shown: quote(value.get(key, "")) for key, shown in fields.items()})


def go_quantity(text: str, *, pointed: bool = False) -> GoValue:
    """A quantity as messages print its struct, which keeps the text if that was canonical.
    `pointed`: a fraction was probably written with a decimal point."""
    amount, scale, form = _amount(text)
    remembered = text
    if pointed and scale < 0 and (amount % 10 == 0 or abs(amount) < 1000):
        remembered = ""
        while amount % 10 == 0:
            amount, scale = amount // 10, scale + 1
    return GoValue(
        f"resource.Quantity{{i:resource.int64Amount{{value:{amount}, scale:{scale}}},"
        " d:resource.infDecAmount{Dec:(*inf.Dec)(nil)},"
        f' s:{quote(remembered)}, Format:"{form}"}}',
        json=text,
    )


_FORMATS = {"binary": "BinarySI", "decimal": "DecimalSI", "exponent": "DecimalExponent"}


def _amount(text: str) -> tuple[int, int, str]:
    """Digits, power of ten and format of a stored quantity."""
    digits, power, kind = quantity_digits(text)
    if kind == "binary":
        return int(quantity(text)), 0, _FORMATS[kind]
    return int(digits) * (-1 if text[0] == "-" else 1), power, _FORMATS[kind]


def go_quantities(values: Mapping[str, str] | None) -> GoValue:
    if values is None:
        return GoValue("core.ResourceList(nil)")
    inner = ", ".join(f"{quote(key)}:{go_quantity(values[key])}" for key in sorted(values))
    return GoValue(f"core.ResourceList{{{inner}}}")


def go_date(text: str | None) -> GoValue:
    """A time as messages print it in a struct that points to it."""
    if text is None:
        return GoValue("<nil>")
    moment = datetime.fromisoformat(text)
    return GoValue(
        f"time.Date({moment.year}, time.{_MONTHS[moment.month - 1]}, {moment.day}, {moment.hour},"
        f" {moment.minute}, {moment.second}, {moment.microsecond * 1000}, time.Local)"
    )


def duplicate(path: str, value: GoValue, detail: str, causes: Causes) -> None:
    """Add a cause for a duplicate value, with an explanation."""
    causes.add("FieldValueDuplicate", path, f"Duplicate value: {causes.show(value)}", detail)


def whole_quantity(text: str) -> int:
    """A quantity as a whole number, rounded away from zero."""
    number = quantity(text)
    integer = int(number)
    return integer if number == integer else integer + (1 if number > 0 else -1)


def non_negative_quantity(text: str, path: str, causes: Causes) -> None:
    if quantity(text) < 0:
        causes.invalid(path, text, NON_NEGATIVE)


def positive_quantity(text: str, path: str, causes: Causes) -> None:
    if quantity(text) <= 0:
        causes.invalid(path, text, ABOVE_ZERO)


def basic_quantity(text: str, path: str, causes: Causes) -> None:
    if quantity(text) < 0:
        causes.invalid(path, whole_quantity(text), "must be a valid resource quantity")


def same_quantities(values: Mapping[str, str] | None, others: Mapping[str, str] | None) -> bool:
    """Whether two maps hold the same amounts, in any notation."""

    def amounts(quantities: Mapping[str, str] | None) -> dict[str, Decimal]:
        return {key: quantity(text) for key, text in (quantities or {}).items()}

    return amounts(values) == amounts(others)


# Lists of objects that are JSON in an annotation, from before they had a field


def read_list(text: str, kind: str, types: dict[str, str]) -> tuple[list[Object], str]:
    """The objects in an annotation, or the error; `types` maps the fields of the kind to their
    types."""
    try:
        content: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return [], json_syntax.describe_json_error(text.encode())
    error = _list_error(content, kind, types)
    if error:
        return [], f"json: cannot unmarshal {error}"
    return [_without_nulls(item or {}) for item in content or ()], ""


def _without_nulls(item: Object) -> Object:
    return {name: value for name, value in item.items() if value is not None}


def _list_error(content: Any, kind: str, types: dict[str, str]) -> str:
    if content is not None and not isinstance(content, list):
        return f"{json_kind(content)} into Go value of type []core.{kind}"
    for item in content or ():
        if item is None:
            continue
        if not isinstance(item, dict):
            return f"{json_kind(item)} into Go value of type core.{kind}"
        for name, type_name in types.items():
            value = item.get(name)
            if value is not None and type(value) is not (int if type_name == "int64" else str):
                field = f"{kind}.{name[0].upper()}{name[1:]}"
                return f"{json_kind(value)} into Go struct field {field} of type {type_name}"
    return ""
