"""Evaluates expressions in tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.codec.cel.compile import compile_expression
from fairlead.codec.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    ListType,
    MapType,
    ObjectType,
    Type,
)

BUDGET = 1_000_000
ENTRY = ObjectType("Entry", {"k": STRING, "v": STRING, "v2": STRING, "when": TIMESTAMP})
THING = ObjectType(
    "Thing",
    {
        "flag": BOOL,
        "count": INT,
        "other": INT,
        "ratio": DOUBLE,
        "name": STRING,
        "data": BYTES,
        "time": TIMESTAMP,
        "day": TIMESTAMP,
        "wait": DURATION,
        "any": DYN,
        "numbers": ListType(INT),
        "ratios": ListType(DOUBLE),
        "times": ListType(TIMESTAMP),
        "words": ListType(STRING, 1000),
        "set": ListType(STRING, keys=()),
        "byKey": ListType(ENTRY, keys=("k",)),
        "entries": ListType(ENTRY),
        "labels": MapType(STRING, STRING, 1000),
        "sizes": MapType(STRING, INT),
        "inner": ObjectType("Inner", {"x": INT, "deep": ObjectType("Deep", {"y": INT})}),
        "__in__": STRING,
    },
    properties={"__in__": "in"},
)
EXAMPLE: dict[str, Any] = {
    "flag": True,
    "count": 5,
    "other": 7,
    "ratio": 2,
    "name": "Rook takes 👑",
    "data": "QUI=",
    "time": "2011-08-18T19:03:37.01+01:00",
    "day": "1997-07-16",
    "wait": "1h2m3s4ms",
    "any": "25%",
    "numbers": [1, 1, 2, 2, 3, 3, 4, 5],
    "ratios": [1, 2.5],
    "times": ["2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00"],
    "words": ["b", "a"],
    "set": ["a", "b", "c"],
    "byKey": [{"k": "a", "v": "1"}, {"k": "b", "v": "2"}],
    "entries": [
        {"k": "a1", "v": "b1", "when": "2020-01-01T00:00:00Z"},
        {"k": "a2", "v": "b2"},
        {"k": "a3", "v": "b3", "v2": "z"},
    ],
    "labels": {"k1": "a", "k2": "b"},
    "sizes": {"b": 1, "d": 2},
    "inner": {"x": 3, "deep": None},
    "in": "reserved",
}


def evaluate(
    text: str, variables: Mapping[str, tuple[Type, Any]] | None = None, budget: int = BUDGET
) -> tuple[Any, int]:
    """Return the result and cost of an expression over these variables; by default, the example."""
    given = variables if variables is not None else {"self": (THING, EXAMPLE)}
    program = compile_expression(text, {name: type_ for name, (type_, _) in given.items()})
    return program.evaluate({name: value for name, (_, value) in given.items()}, budget)


def result(text: str) -> Any:
    return evaluate(text)[0]
