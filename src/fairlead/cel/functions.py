"""Which implementation a call has, by the classes of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.cel.arithmetic import OPERATORS, Implementations
from fairlead.cel.conversions import CONVERSIONS
from fairlead.cel.errors import no_such_overload
from fairlead.cel.lists import COMPARING, LISTS
from fairlead.cel.moments import DURATION_PARTS, TIMESTAMP_PARTS
from fairlead.cel.regexes import REGEXES
from fairlead.cel.strings import STRINGS
from fairlead.cel.urls import URLS
from fairlead.cel.values import Duration, Frame, Timestamp

Implementation = Callable[..., Any]


def _moments() -> Implementations:
    found: Implementations = {}
    for name, part in TIMESTAMP_PARTS.items():
        found[name] = {(Timestamp,): part, (Timestamp, str): part}
    for name, part in DURATION_PARTS.items():
        found.setdefault(name, {})[(Duration,)] = part
    return found


def _all() -> Implementations:
    found: Implementations = {"_+_": {(list, list): lambda left, right: left + right}}
    for table in (OPERATORS, CONVERSIONS, STRINGS, LISTS, REGEXES, URLS, _moments()):
        for name, overloads in table.items():
            found.setdefault(name, {}).update(overloads)
    return found


_FUNCTIONS = _all()
_known: dict[tuple[str, tuple[type | None, ...]], Implementation | None] = {}


def implementation(function: str, classes: tuple[type | None, ...]) -> Implementation | None:
    """The implementation for arguments of these classes (None: not known yet), if it is one."""
    key = function, classes
    if key not in _known:
        _known[key] = _search(function, classes)
    return _known[key]


def _search(function: str, classes: tuple[type | None, ...]) -> Implementation | None:
    return _matching(_FUNCTIONS.get(function, {}), classes)


def _matching(
    overloads: dict[tuple[type, ...], Implementation], classes: tuple[type | None, ...]
) -> Implementation | None:
    for signature, found in overloads.items():
        if len(signature) == len(classes) and all(
            wanted is object or wanted is given
            for wanted, given in zip(signature, classes, strict=True)
        ):
            return found
    return None


def dispatch(function: str, values: list[Any], frame: Frame) -> Any:
    """A call whose arguments' classes are only known now."""
    classes = tuple(map(type, values))
    found = implementation(function, classes)
    if found is not None:
        return found(*values)
    comparing = _matching(COMPARING.get(function, {}), classes)
    if comparing is None:
        raise no_such_overload()
    return comparing(frame, *values)
