"""Tolerations: which of them tolerate more, and how two lists become one.

A client may send thousands of them, so that none is compared with all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import Any

from fairlead.admission.plugins.base import Object

_EXISTS, _TIMED = "Exists", "NoExecute"
_Slot = tuple[str, str, str | None]  # key, effect, and the value unless any will do


class Covering:
    """A number of tolerations, asked whether one of them tolerates whatever another does."""

    def __init__(self, tolerations: Iterable[Object] = ()) -> None:
        self._identical: set[Any] = set()
        self._longest: dict[_Slot, float] = {}  # seconds
        for toleration in tolerations:
            self.add(toleration)

    def add(self, toleration: Object) -> None:
        self._identical.add(identity(toleration))
        operator, value = toleration.get("operator", ""), toleration.get("value", "")
        if operator in (_EXISTS, "Equal", ""):
            wide = None if operator == _EXISTS else value
            slot = (*taint_of(toleration), wide)
            self._longest[slot] = max(self._longest.get(slot, -inf), _seconds(toleration))

    def covers(self, toleration: Object) -> bool:
        if identity(toleration) in self._identical:
            return True
        needed = _seconds(toleration)
        for slot in _wider(toleration):
            longest = self._longest.get(slot)
            if longest is not None and (slot[1] != _TIMED or longest >= needed):
                return True
        return False


def merged(first: list[Object], second: list[Object]) -> list[Object]:
    """Both lists in their order, without what another one covers."""
    every: dict[Any, Object] = {}
    for toleration in first + second:
        every.setdefault(identity(toleration), toleration)
    later, needed = Covering(), []
    for toleration in reversed(every.values()):
        if not later.covers(toleration):
            needed.append(toleration)
        later.add(toleration)
    kept, result = Covering(), []
    for toleration in reversed(needed):
        if not kept.covers(toleration):
            kept.add(toleration)
            result.append(toleration)
    return result


def identity(toleration: Object) -> tuple[tuple[str, Any], ...]:
    """Equal for tolerations that say the same."""
    return tuple(sorted(toleration.items()))


def taint_of(toleration: Object) -> tuple[str, str]:
    """The key and effect of the taints that are tolerated."""
    return toleration.get("key", ""), toleration.get("effect", "")


def _wider(toleration: Object) -> Iterator[_Slot]:
    """Where those would stand that cover a toleration, if they last long enough."""
    key, own_effect = taint_of(toleration)
    for effect in dict.fromkeys(("", own_effect)):
        yield key, effect, None
        yield "", effect, None
        if toleration.get("operator", "") == "Equal":
            yield key, effect, toleration.get("value", "")


def _seconds(toleration: Object) -> float:
    given = toleration.get("tolerationSeconds")
    return inf if given is None else given
