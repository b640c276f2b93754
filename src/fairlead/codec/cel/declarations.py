"""The functions that expressions may call, with the types of their arguments and results."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.codec.cel.timestamps import DURATION_PARTS, TIMESTAMP_PARTS
from fairlead.codec.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    URL,
    ListType,
    MapType,
    OptionalType,
    Overload,
    Type,
    TypeOf,
    Unknown,
)

A, B = Unknown("A"), Unknown("B")
_LIST, _MAP, _STRINGS = ListType(A), MapType(A, B), ListType(STRING)
_NUMBERS = (INT, UINT, DOUBLE)
_ORDERED = (BOOL, *_NUMBERS, STRING, BYTES, TIMESTAMP, DURATION)


# An unknown type is bound by the first overload that accepts it, so overloads are in the order of
# the reference.
def _operators() -> Iterable[tuple[str, tuple[Type, ...], Type]]:
    for name in ("_<_", "_<=_", "_>_", "_>=_"):
        yield from ((name, (type_, type_), BOOL) for type_ in _ORDERED)
    for name in ("_==_", "_!=_"):
        yield name, (A, A), BOOL
    for name in ("_+_", "_-_", "_*_", "_/_"):
        yield from ((name, (type_, type_), type_) for type_ in _NUMBERS)
    yield from (("_%_", (type_, type_), type_) for type_ in (INT, UINT))
    yield from (("_+_", (type_, type_), type_) for type_ in (STRING, BYTES, _LIST))
    yield "_+_", (TIMESTAMP, DURATION), TIMESTAMP
    yield "_+_", (DURATION, TIMESTAMP), TIMESTAMP
    yield "_+_", (DURATION, DURATION), DURATION
    yield "_-_", (TIMESTAMP, TIMESTAMP), DURATION
    yield "_-_", (TIMESTAMP, DURATION), TIMESTAMP
    yield "_-_", (DURATION, DURATION), DURATION
    yield "-_", (INT,), INT
    yield "-_", (DOUBLE,), DOUBLE
    yield "!_", (BOOL,), BOOL
    yield "_[_]", (_LIST, INT), A
    yield "_[_]", (_MAP, A), B
    yield "@in", (A, _LIST), BOOL
    yield "@in", (A, _MAP), BOOL
    yield "_?_:_", (BOOL, A, A), A


_CONVERSIONS: tuple[tuple[str, tuple[Type, ...], Type], ...] = (
    ("int", (INT, UINT, DOUBLE, STRING, TIMESTAMP, DURATION), INT),
    ("uint", (UINT, INT, DOUBLE, STRING), UINT),
    ("double", (DOUBLE, INT, UINT, STRING), DOUBLE),
    ("bool", (BOOL, STRING), BOOL),
    ("string", (STRING, BOOL, INT, UINT, DOUBLE, BYTES, TIMESTAMP, DURATION), STRING),
    ("bytes", (BYTES, STRING), BYTES),
    ("timestamp", (TIMESTAMP, STRING, INT), TIMESTAMP),
    ("duration", (DURATION, STRING, INT), DURATION),
    ("dyn", (A,), DYN),
    ("type", (A,), TypeOf(A)),
    ("size", (STRING, BYTES, _LIST, _MAP), INT),
    ("url", (STRING,), URL),
    ("isURL", (STRING,), BOOL),
)


def _methods() -> Iterable[tuple[str, tuple[Type, ...], Type]]:
    for name in ("contains", "startsWith", "endsWith", "matches"):
        yield name, (STRING, STRING), BOOL
    yield from (("size", (type_,), INT) for type_ in (STRING, BYTES, _LIST, _MAP))
    for name in TIMESTAMP_PARTS:
        yield name, (TIMESTAMP,), INT
        yield name, (TIMESTAMP, STRING), INT
    yield from ((name, (DURATION,), INT) for name in DURATION_PARTS)
    yield "charAt", (STRING, INT), STRING
    for name in ("indexOf", "lastIndexOf"):
        yield name, (STRING, STRING), INT
        yield name, (STRING, STRING, INT), INT
        yield name, (_LIST, A), INT
    yield "join", (_STRINGS,), STRING
    yield "join", (_STRINGS, STRING), STRING
    for name in ("lowerAscii", "upperAscii", "trim"):
        yield name, (STRING,), STRING
    yield "replace", (STRING, STRING, STRING), STRING
    yield "replace", (STRING, STRING, STRING, INT), STRING
    yield "split", (STRING, STRING), _STRINGS
    yield "split", (STRING, STRING, INT), _STRINGS
    yield "substring", (STRING, INT), STRING
    yield "substring", (STRING, INT, INT), STRING
    yield "find", (STRING, STRING), STRING
    yield "findAll", (STRING, STRING), _STRINGS
    yield "findAll", (STRING, STRING, INT), _STRINGS
    for type_ in (*_NUMBERS, BOOL, DURATION, TIMESTAMP, STRING, BYTES):
        yield "isSorted", (ListType(type_),), BOOL
        yield "min", (ListType(type_),), type_
        yield "max", (ListType(type_),), type_
    yield from (("sum", (ListType(type_),), type_) for type_ in (*_NUMBERS, DURATION))
    for name in ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath"):
        yield name, (URL,), STRING
    yield "getQuery", (URL,), MapType(STRING, _STRINGS)


def _table() -> dict[str, tuple[Overload, ...]]:
    table: dict[str, list[Overload]] = {}
    for name, types, result in _operators():
        table.setdefault(name, []).append(Overload(types, result))
    for name, types, result in _CONVERSIONS:
        table.setdefault(name, []).extend(Overload((type_,), result) for type_ in types)
    for name, types, result in _methods():
        table.setdefault(name, []).append(Overload(types, result, method=True))
    return {name: tuple(overloads) for name, overloads in table.items()}


FUNCTIONS = _table()
# The overloads that rules of the language add.
RULES: dict[str, dict[str, tuple[Overload, ...]]] = {
    "revised": {"matches": (Overload((STRING, STRING), BOOL),)},
    "mixed_numbers": {
        name: tuple(
            Overload((left, right), BOOL)
            for left in _NUMBERS
            for right in _NUMBERS
            if left != right
        )
        for name in ("_<_", "_<=_", "_>_", "_>=_")
    },
}


def unknowns_in(types: Iterable[Type]) -> set[Unknown]:
    unknowns: set[Unknown] = set()
    for type_ in types:
        if isinstance(type_, Unknown):
            unknowns.add(type_)
        elif isinstance(type_, ListType):
            unknowns |= unknowns_in((type_.element,))
        elif isinstance(type_, MapType):
            unknowns |= unknowns_in((type_.key, type_.value))
        elif isinstance(type_, OptionalType):
            unknowns |= unknowns_in((type_.of,))
    return unknowns


TYPE_IDENTIFIERS: dict[str, Type] = {
    **{str(type_): type_ for type_ in (BOOL, INT, UINT, DOUBLE, STRING, BYTES)},
    "list": ListType(DYN),
    "map": MapType(DYN, DYN),
    "null_type": NULL,
    "type": TypeOf(DYN),
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": DURATION,
}
