"""Finds the implementation of a call by the classes of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairlead.codec.cel.arithmetic import OPERATORS, Implementations
from fairlead.codec.cel.conversions import CONVERSIONS, unconvertible
from fairlead.codec.cel.errors import EvaluationError, no_such_overload
from fairlead.codec.cel.lists import COMPARING, LISTS
from fairlead.codec.cel.regexes import REGEXES
from fairlead.codec.cel.strings import STRINGS
from fairlead.codec.cel.timestamps import DURATION_PARTS, TIMESTAMP_PARTS
from fairlead.codec.cel.urls import URLS
from fairlead.codec.cel.values import Duration, Frame, Timestamp, UInt, type_name

Implementation = Callable[..., Any]


def _moments() -> Implementations:
    result: Implementations = {}
    for name, part in TIMESTAMP_PARTS.items():
        result[name] = {(Timestamp,): part, (Timestamp, str): part}
    for name, part in DURATION_PARTS.items():
        result.setdefault(name, {})[(Duration,)] = part
    return result


_BASE: tuple[Implementations, ...] = (
    {"_+_": {(list, list): lambda left, right: left + right}},
    *(OPERATORS, CONVERSIONS, STRINGS, LISTS, REGEXES, URLS, _moments()),
)
_NUMBERS = frozenset((int, UInt, float))
_ORDERED = _NUMBERS | {bool, str, bytes, Timestamp, Duration}
# The classes that an operator or function accepts as its first argument.
_FIRST_CLASSES: dict[str, frozenset[type]] = {
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ORDERED),
    "_+_": _ORDERED - {bool} | {list},
    "_-_": _NUMBERS | {Timestamp, Duration},
    "_*_": _NUMBERS,
    "_/_": _NUMBERS,
    "_%_": frozenset((int, UInt)),
    "!_": frozenset((bool, int, float)),
    "-_": frozenset((bool, int, float)),
    "size": frozenset((str, bytes, list, dict)),
    **dict.fromkeys(("contains", "startsWith", "endsWith"), frozenset((str,))),
}
_RECEIVERS = frozenset((str, Timestamp, Duration))
_NAMED_WITH_TYPES = (
    *STRINGS.keys() - _FIRST_CLASSES.keys(),
    *LISTS.keys() - {"_[_]", "@in"},
    *REGEXES.keys() - {"matches"},
    *("indexOf", "lastIndexOf", *URLS, *TIMESTAMP_PARTS, *DURATION_PARTS),
)


class Functions:
    """The implementations of all functions of an environment. A table of a library replaces the
    implementations for the same classes. Those in `comparing` take the frame first."""

    def __init__(
        self,
        libraries: Sequence[Implementations] = (),
        comparing: Sequence[Implementations] = (),
    ) -> None:
        self._functions = _merged((*_BASE, *libraries))
        self._comparing = _merged((COMPARING, *comparing))
        self._named_with_types = frozenset(
            (*_NAMED_WITH_TYPES, *(name for table in (*libraries, *comparing) for name in table))
        ) - {"_[_]", "string", "sort"}
        self._known: dict[tuple[str, tuple[type | None, ...]], Implementation | None] = {}

    def implementation(
        self, function: str, classes: tuple[type | None, ...]
    ) -> Implementation | None:
        """The implementation for arguments of these classes (None: not known yet), if there is
        one."""
        key = function, classes
        if key not in self._known:
            self._known[key] = _matching(self._functions.get(function, {}), classes)
        return self._known[key]

    def dispatch(self, function: str, values: list[Any], frame: Frame) -> Any:
        """Call a function whose argument classes are known only at evaluation."""
        classes = tuple(map(type, values))
        run = self.implementation(function, classes)
        if run is not None:
            return run(*values)
        comparing = _matching(self._comparing.get(function, {}), classes)
        if comparing is None:
            raise self.refusal(function, values)
        return comparing(frame, *values)

    def refusal(self, function: str, values: list[Any]) -> EvaluationError:
        """The error of a call without an implementation for its arguments. The reference's message
        has the function with types, without types, or not at all, depending on how it resolves the
        call."""
        first = type(values[0])
        if function in CONVERSIONS and function != "size":
            return unconvertible(values[0], function)
        if function in self._named_with_types and (function, len(values)) != ("findAll", 3):
            types = ", ".join(map(type_name, values))
            return EvaluationError(f"no such overload: {function}({types})")
        taken = _FIRST_CLASSES.get(function)
        if taken is None or first in taken or first in _RECEIVERS:
            return no_such_overload()
        return EvaluationError(f"no such overload: {function}")


def _merged(tables: Sequence[Implementations]) -> Implementations:
    merged: Implementations = {}
    for table in tables:
        for name, overloads in table.items():
            merged.setdefault(name, {}).update(overloads)
    return merged


def _matching(
    overloads: dict[tuple[type, ...], Implementation], classes: tuple[type | None, ...]
) -> Implementation | None:
    for signature, candidate in overloads.items():
        if len(signature) == len(classes) and all(
            expected is object or expected is actual
            for expected, actual in zip(signature, classes, strict=True)
        ):
            return candidate
    return None
