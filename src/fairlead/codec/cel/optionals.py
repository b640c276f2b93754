"""Optional values: `optional.of`, fields and items that may be absent, and their alternatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.codec.cel.code import Code, Run, charge
from fairlead.codec.cel.data import reader
from fairlead.codec.cel.errors import EvaluationError, no_such_overload
from fairlead.codec.cel.library import Library, declared
from fairlead.codec.cel.types import (
    BOOL,
    DYN,
    INT,
    ListType,
    MapType,
    ObjectType,
    OptionalType,
    Type,
    Unknown,
)
from fairlead.codec.cel.values import (
    BUDGET,
    NONE,
    Duration,
    Frame,
    Optional,
    Timestamp,
    UInt,
    data_item,
    optional_item,
    shown,
)

_K, _V = Unknown("K"), Unknown("V")
_OPTIONAL, _LIST, _MAP = OptionalType(_V), ListType(_V), MapType(_K, _V)
_ZEROS = (bool, int, UInt, float, str, bytes, list, dict, Duration)
_ZERO_TIME = -62135596800 * 1_000_000_000  # the first instant of the year 1


def _of_non_zero(value: Any) -> Optional:
    is_zero = (
        value is None
        or (type(value) in _ZEROS and not value)
        or (type(value) is Timestamp and value == _ZERO_TIME)
        or value is NONE
    )
    return NONE if is_zero else Optional(value)


def _value(optional: Optional) -> Any:
    if optional is NONE:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _first(items: list[Any]) -> Optional:
    return Optional(items[0]) if items else NONE


def _last(items: list[Any]) -> Optional:
    return Optional(items[-1]) if items else NONE


def _unwrap(items: list[Any]) -> list[Any]:
    for item in items:
        if type(item) is not Optional:
            raise EvaluationError(f"value {shown(item)} is not optional")
    return [item.value for item in items if item is not NONE]


# Code of the syntax around optionals


def not_optional(noun: str, value: Any) -> EvaluationError:
    return EvaluationError(
        f"cannot initialize optional {noun} '{shown(value)}' from non-optional value"
    )


def optional_field(type_: Type, operand: Run, name: str) -> Run:
    """A field as an optional; absent or null fields of objects are NONE. Only a field that is
    present has a cost."""
    holder_type = type_.of if isinstance(type_, OptionalType) else type_
    key, kind = name, None
    read: Callable[[Any], Any] = _same
    is_object = isinstance(holder_type, ObjectType)
    if isinstance(holder_type, ObjectType):
        key = holder_type.properties.get(name, name)
        kind, read = reader(holder_type.fields[name])

    def get(frame: Frame) -> Optional:
        holder = operand(frame)
        if type(holder) is Optional:
            if holder is NONE:
                return NONE
            holder = holder.value
        if type(holder) is list:
            raise EvaluationError("unsupported index type 'string' in list")
        value = holder.get(key, NONE) if type(holder) is dict else NONE
        if value is NONE or (value is None and is_object):
            return NONE
        charge(frame, 1)
        return Optional(value if kind is None or type(value) is kind else read(value))

    return get


def _same(value: Any) -> Any:
    return value


def charged_if_present(run: Run) -> Run:
    """An index whose item has a cost only if it is present."""

    def get(frame: Frame) -> Any:
        value = run(frame)
        if value is not NONE:
            charge(frame, 1)
        return value

    return get


def alternative(function: str, optional: Run, other: Run) -> Run:
    """`or` and `orValue`, which evaluate the other operand only if there is no value."""
    is_or = function == "or"

    def choose(frame: Frame) -> Any:
        value = optional(frame)
        if type(value) is not Optional:
            return value
        if value is NONE:
            return other(frame)
        return value if is_or else value.value

    return choose


def present_items(runs: list[Run], optional: frozenset[int]) -> Run:
    """A list without the optional items that have no value."""

    def gather(frame: Frame) -> list[Any]:
        items: list[Any] = []
        for index, run in enumerate(runs):
            value = run(frame)
            if index in optional:
                if type(value) is not Optional:
                    raise not_optional("list element", value)
                if value is NONE:
                    continue
                value = value.value
            items.append(value)
        return items

    return gather


def optional_map(target: Code, slot: int, body: Code, *, is_flat: bool, is_read: bool) -> Run:
    """`optMap` and `optFlatMap`. The reference evaluates the target once for `hasValue` and again
    if the variable is read; we evaluate it once and charge it twice."""
    own = body.cost + (0 if is_flat else 1)
    again = own + target.cost + 1

    def transform(frame: Frame) -> Any:
        before = frame[BUDGET]
        value = target.run(frame)
        if type(value) is not Optional:
            raise no_such_overload()
        if value is NONE:
            charge(frame, 1)
            return NONE
        charge(frame, before - frame[BUDGET] + again if is_read else own)
        frame[slot] = value.value
        result = body.run(frame)
        return result if is_flat else Optional(result)

    return transform


LIBRARY = Library(
    declared(
        [
            ("optional.of", (_V,), _OPTIONAL),
            ("optional.ofNonZeroValue", (_V,), _OPTIONAL),
            ("optional.none", (), _OPTIONAL),
            ("optional.unwrap", (ListType(_OPTIONAL),), _LIST),
            ("_[?_]", (_LIST, INT), _OPTIONAL),
            ("_[?_]", (OptionalType(_LIST), INT), _OPTIONAL),
            ("_[?_]", (_MAP, _K), _OPTIONAL),
            ("_[?_]", (OptionalType(_MAP), _K), _OPTIONAL),
            ("_[_]", (OptionalType(_LIST), INT), _OPTIONAL),
            ("_[_]", (OptionalType(_MAP), _K), _OPTIONAL),
        ],
        [
            ("value", (_OPTIONAL,), _V),
            ("hasValue", (_OPTIONAL,), BOOL),
            ("or", (_OPTIONAL, _OPTIONAL), _OPTIONAL),
            ("orValue", (_OPTIONAL, _V), _V),
            ("first", (_LIST,), _OPTIONAL),
            ("last", (_LIST,), _OPTIONAL),
            ("unwrapOpt", (ListType(_OPTIONAL),), _LIST),
        ],
    ),
    {
        "optional.of": {(object,): Optional},
        "optional.ofNonZeroValue": {(object,): _of_non_zero},
        "optional.none": {(): lambda: NONE},
        "optional.unwrap": {(list,): _unwrap},
        "unwrapOpt": {(list,): _unwrap},
        "value": {(Optional,): _value},
        "hasValue": {(Optional,): lambda optional: optional is not NONE},
        "first": {(list,): _first},
        "last": {(list,): _last},
        "_[?_]": {(object, object): optional_item},
        "_[_]": {(list, int): data_item},  # one message for every list since then
    },
    identifiers={"optional_type": OptionalType(DYN)},
)
