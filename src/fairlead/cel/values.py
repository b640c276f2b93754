"""Values at evaluation: plain Python ones, and the four kinds that Python or JSON does not have."""

from __future__ import annotations

from typing import Any

from fairlead.cel.errors import EvaluationError

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class UInt(int):
    """An unsigned integer of 64 bits."""

    __slots__ = ()


class Timestamp(int):
    """A moment, in nanoseconds since 1970; it is written with the offset it was read with."""

    offset = 0  # minutes


class Duration(int):
    """A time span in nanoseconds."""

    __slots__ = ()


class TypeName(str):
    """A type as a value."""

    __slots__ = ()


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
NUMBERS = frozenset((int, UInt, float))
TYPE_NAMES = {name: TypeName(name) for name in _NAMES.values()}


def type_name(value: Any) -> TypeName:
    name = _NAMES.get(type(value))
    return TYPE_NAMES[name] if name else TypeName(value.type_name)


def equal(left: Any, right: Any) -> bool:
    """Equality across types: numbers by value, everything else only within its type."""
    kind, other = type(left), type(right)
    if kind is not other:
        return kind in NUMBERS and other in NUMBERS and bool(left == right)
    if kind is list:
        return len(left) == len(right) and all(map(equal, left, right))
    if kind is dict:
        if len(left) != len(right):
            return False
        return all(key in right and equal(value, right[key]) for key, value in left.items())
    return bool(left == right)


def contains(items: list[Any], value: Any) -> bool:
    return any(equal(item, value) for item in items)


def lookup(container: Any, index: Any) -> Any:
    """`container[index]` of any list or map."""
    if type(container) is list:
        return item(container, index)
    if type(container) is dict:
        return entry(container, index)
    raise EvaluationError("no such overload")


def item(items: list[Any], index: Any) -> Any:
    if type(index) is not int:
        if type(index) not in NUMBERS or index != int(index):
            raise EvaluationError(f"unsupported index type '{type_name(index)}' in list")
        index = int(index)
    if 0 <= index < len(items):
        return items[index]
    raise EvaluationError(f"index out of bounds: {index}")


def entry(entries: dict[Any, Any], key: Any) -> Any:
    if has_key(entries, key):
        return entries[key]
    raise EvaluationError(f"no such key: {shown(key)}")


def has_key(entries: dict[Any, Any], key: Any) -> bool:
    if type(key) in (list, dict):
        raise EvaluationError(f"unsupported key type: {type_name(key)}")
    if type(key) is bool or (type(key) in NUMBERS and (key == 0 or key == 1)):
        # Python takes true for 1; the language does not.
        return any(equal(known, key) for known in entries)
    return key in entries


def shown(value: Any) -> str:
    if type(value) is bool:
        return "true" if value else "false"
    return str(value)
