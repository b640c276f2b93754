"""A library of functions: declarations, implementations, costs and estimates, each a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from fairlead.codec.cel.arithmetic import Implementations
from fairlead.codec.cel.costs import PER_CHARACTER, Cost
from fairlead.codec.cel.ranges import Estimate, Sizes
from fairlead.codec.cel.syntax import Call
from fairlead.codec.cel.types import ObjectType, Overload, Type

# The estimated cost of a call without its arguments, and the size of its result if it is known.
EstimateRule = Callable[[Call, Sizes], tuple[Estimate, Estimate | None]]
Signature = tuple[str, tuple[Type, ...], Type]


class Messages(NamedTuple):
    """The message types whose values expressions may construct. `find` returns the type of a name,
    `construct` makes a value from the name of its type and its fields; it may raise
    EvaluationError."""

    find: Callable[[str], ObjectType | None]
    construct: Callable[[str, dict[str, Any]], Any]


class Library(NamedTuple):
    """`functions` has the overloads by name, `implementations` the functions by the classes of
    their arguments, `costs` what depends on sizes, `estimates` the same for sizes of types,
    `identifiers` the names of types. Functions in `comparing` also take the frame, to count their
    work."""

    functions: Mapping[str, tuple[Overload, ...]]
    implementations: Implementations
    costs: Mapping[str, Cost | dict[type, Cost]] = {}
    estimates: Mapping[str, EstimateRule] = {}
    identifiers: Mapping[str, Type] = {}
    comparing: Implementations = {}
    messages: Messages | None = None


def declared(
    functions: Iterable[Signature] = (), methods: Iterable[Signature] = ()
) -> dict[str, tuple[Overload, ...]]:
    """The overloads by name of functions and methods; the first type of a method is its target."""
    table: dict[str, list[Overload]] = {}
    for signatures, is_method in ((functions, False), (methods, True)):
        for name, types, result in signatures:
            table.setdefault(name, []).append(Overload(types, result, is_method))
    return {name: tuple(overloads) for name, overloads in table.items()}


def scanned(times: int) -> EstimateRule:
    """The estimate of a function that reads the characters of its first argument so many times."""

    def estimate(_: Call, sizes: Sizes) -> tuple[Estimate, Estimate | None]:
        return sizes[0].scaled(times * PER_CHARACTER), None

    return estimate
