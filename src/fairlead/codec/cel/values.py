"""Values at evaluation: plain Python values, and four kinds that Python or JSON lacks."""

from __future__ import annotations

import math
from typing import Any, Protocol

from fairlead.base import meter
from fairlead.codec.cel.errors import CostExceeded, EvaluationError, no_such_overload

Frame = list[Any]
BUDGET, WORK, READ, FIRST_SLOT = 0, 1, 2, 3
INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class UInt(int):
    """An unsigned integer of 64 bits."""

    __slots__ = ()


class Timestamp(int):
    """A time in nanoseconds since 1970; formatted with the offset it was parsed with."""

    offset = 0  # minutes


class Duration(int):
    """A time span in nanoseconds."""

    __slots__ = ()


class TypeName(str):
    """A type as a value."""

    __slots__ = ()


class Optional:
    """A value that may be absent; NONE is the one without a value."""

    type_name, class_name = "optional_type", "*types.Optional"
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


NONE = Optional(None)


class LazyObject(Protocol):
    """An object of a `LazyType`."""

    def read(self, name: str) -> Any:
        """The value of a field; raises EvaluationError."""


_NAMES = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    TypeName: "type",
}
_CLASSES = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    TypeName: "*types.TypeValue",
}
NUMBERS = frozenset((int, UInt, float))
TYPE_NAMES = {name: TypeName(name) for name in _NAMES.values()}


def type_name(value: Any) -> TypeName:
    name = _NAMES.get(type(value))
    return TYPE_NAMES[name] if name else TypeName(value.type_name)


def class_name(value: Any) -> str:
    """The class of a value in the reference, as some of its messages name it."""
    return _CLASSES.get(type(value)) or str(getattr(value, "class_name", "model.URL"))


def equal(left: Any, right: Any, frame: Frame) -> bool:
    """Equality across types: numbers by value, everything else only within its type."""
    kind, other = type(left), type(right)
    if kind is not other:
        return kind in NUMBERS and other in NUMBERS and equal_numbers(left, right)
    if kind is list:
        if len(left) != len(right):
            return False
        work(frame, len(left))
        for item, counterpart in zip(left, right, strict=True):
            if not equal(item, counterpart, frame):
                return False
        return True
    if kind is dict:
        if len(left) != len(right):
            return False
        work(frame, len(left))
        for key, value in left.items():
            if key not in right or not equal(value, right[key], frame):
                return False
        return True
    if kind is Optional and left is not NONE and right is not NONE:
        return equal(left.value, right.value, frame)
    return bool(left == right)


def equal_numbers(left: float, right: float) -> bool:
    """Compares an integer with a double as the nearest double."""
    if type(left) is float or type(right) is float:
        return float(left) == float(right)
    return left == right


def work(frame: Frame, amount: int) -> None:
    """Count operations that have little cost in the reference's terms but no bound."""
    frame[WORK] -= amount
    if frame[WORK] < 0:
        raise CostExceeded
    meter.spend(amount)


def lookup(container: Any, index: Any) -> Any:
    """`container[index]` of any list or map."""
    if type(container) is list:
        return item(container, index)
    if type(container) is dict:
        return entry(container, index)
    if type(container) is Optional:
        return optional_item(container, index)
    raise EvaluationError(f"no such key: {shown(index)}")


def optional_item(holder: Any, index: Any) -> Optional:
    """`holder[?index]`; an absent holder has no items."""
    if type(holder) is Optional:
        if holder is NONE:
            return NONE
        holder = holder.value
    if type(holder) is dict:
        return Optional(holder[index]) if has_key(holder, index) else NONE
    if type(holder) is not list:
        raise no_such_overload()
    if type(index) is float and index.is_integer():
        index = int(index)
    if type(index) not in (int, UInt):
        raise no_such_overload()
    return Optional(holder[index]) if 0 <= index < len(holder) else NONE


def item(items: list[Any], index: Any) -> Any:
    """An item of a list that an expression constructed."""
    if type(index) is not int:
        if type(index) not in NUMBERS:
            raise EvaluationError(f"unsupported index type '{type_name(index)}' in list")
        if not math.isfinite(index) or index != int(index):
            raise EvaluationError(f"unsupported index value {index} in list")
        index = int(index)
    if 0 <= index < len(items):
        return items[index]
    raise EvaluationError(f"index '{index}' out of range in list size '{len(items)}'")


def data_item(items: list[Any], index: Any) -> Any:
    """An item of a list in the data."""
    if items is None:
        raise EvaluationError(f"no such key: {shown(index)}")
    if type(index) is not int:
        raise EvaluationError(f"unsupported index: {shown(index)}")
    if 0 <= index < len(items):
        return items[index]
    raise EvaluationError(f"index out of bounds: {index}")


def data_entry(entries: dict[Any, Any], key: Any) -> Any:
    """An entry of a map in the data, whose keys are strings."""
    if type(key) is not str:
        raise no_such_overload()
    if entries is None or key not in entries:
        raise EvaluationError(f"no such key: {key}")
    return entries[key]


def entry(entries: dict[Any, Any], key: Any) -> Any:
    if has_key(entries, key):
        return entries[key]
    raise EvaluationError(f"no such key: {shown(key)}")


def has_key(entries: dict[Any, Any], key: Any) -> bool:
    if type(key) in (list, dict):
        raise EvaluationError(f"unsupported key type: {type_name(key)}")
    if key not in entries:
        return False
    if type(key) is str:
        return True
    # In Python true equals 1; in CEL it does not. No map has keys of both kinds.
    is_bool = type(key) is bool
    others = (other for other in entries if type(other) is not str)
    return (type(next(others, key)) is bool) is is_bool


def shown(value: Any) -> str:
    if type(value) is bool:
        return "true" if value else "false"
    return str(value)
