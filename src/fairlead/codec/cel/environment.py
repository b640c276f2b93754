"""The environment of an expression: the functions and rules that a release has.

`libraries.table` says which libraries and rules exist in which release. The environment is chosen
when an expression is compiled; nothing asks for a release during an evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module

from fairlead.base.files import text_beside
from fairlead.base.release import V1_25, Release
from fairlead.codec.cel.costs import COSTS, Costs
from fairlead.codec.cel.declarations import FUNCTIONS, RULES, TYPE_IDENTIFIERS, unknowns_in
from fairlead.codec.cel.functions import Functions
from fairlead.codec.cel.library import Library
from fairlead.codec.cel.types import ObjectType, Overload, Scalar, Type


class Environment:
    """`rules` are the names of the rules that hold; `functions` has the overloads of each function,
    `calls` their implementations and `costs` their costs."""

    def __init__(self, rules: frozenset[str], libraries: Sequence[Library]) -> None:
        self.rules = rules
        self.libraries = tuple(libraries)
        self.is_revised = "revised" in rules
        added = [overloads for rule, overloads in RULES.items() if rule in rules]
        self.functions = _merged([*added, *(library.functions for library in libraries)])
        self.exact = _exact(self.functions)
        self.open_types = _open_types(self.functions)
        self.identifiers: dict[str, Type] = {**TYPE_IDENTIFIERS}
        costs = {**COSTS}
        for library in libraries:
            self.identifiers.update(library.identifiers)
            costs.update(library.costs)
        self.costs = Costs(costs)
        self.estimates = {
            name: rule for library in libraries for name, rule in library.estimates.items()
        }
        self.messages = next(
            (library.messages for library in libraries if library.messages is not None), None
        )
        self.calls = Functions(
            [library.implementations for library in libraries],
            [library.comparing for library in libraries],
        )

    def message_type(self, name: str) -> ObjectType | None:
        """The type of this name whose values expressions construct."""
        return None if self.messages is None else self.messages.find(name)

    def extended(self, *libraries: Library) -> Environment:
        """The environment with more libraries."""
        return Environment(self.rules, (*self.libraries, *libraries))


@cache
def environment(release: Release = V1_25) -> Environment:
    """The environment of a release."""
    rules: set[str] = set()
    libraries: list[Library] = []
    for line in release.select(text_beside(__file__, "libraries.table")).splitlines():
        kind, _, name = line.partition(" ")
        if kind in ("rule", "library"):
            rules.add(name.strip())
        if kind == "library":
            module = import_module(f"fairlead.codec.cel.{name.strip()}")
            libraries.append(module.LIBRARY)
    return Environment(frozenset(rules), libraries)


def _merged(
    tables: Sequence[Mapping[str, tuple[Overload, ...]]],
) -> dict[str, tuple[Overload, ...]]:
    """The functions of all releases and those of the tables."""
    functions = dict(FUNCTIONS)
    for table in tables:
        for name, overloads in table.items():
            functions[name] = (*functions.get(name, ()), *overloads)
    return functions


def _exact(
    functions: Mapping[str, tuple[Overload, ...]],
) -> dict[tuple[str, bool, tuple[Type, ...]], Overload]:
    """The overloads without type parameters."""
    return {
        (name, overload.method, overload.types): overload
        for name, overloads in functions.items()
        for overload in overloads
        if all(isinstance(type_, Scalar) for type_ in overload.types)
    }


def _open_types(functions: Mapping[str, tuple[Overload, ...]]) -> dict[tuple[str, bool], int]:
    """The number of type parameters in all overloads of a function."""
    numbers: dict[tuple[str, bool], int] = {}
    for name, overloads in functions.items():
        for overload in overloads:
            key = name, overload.method
            numbers[key] = numbers.get(key, 0) + len(
                unknowns_in((*overload.types, overload.result))
            )
    return numbers
