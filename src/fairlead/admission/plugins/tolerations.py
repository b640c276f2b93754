"""Taints and tolerations: ExtendedResourceToleration, TaintNodesByCondition, and comparing and
merging tolerations for other plugins.

A client may send thousands of tolerations, so lookups replace the comparison of all pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import Object, PluginBase, written_pod_spec
from fairlead.base.dialect import Dialect
from fairlead.resources.core.pods import NO_EXECUTE, NO_SCHEDULE
from fairlead.resources.core.pods.resources import is_extended

_EXISTS = "Exists"
_Slot = tuple[str, str, str | None]  # key, effect, and the value (None: any)


class TolerationSet:
    """A set of tolerations that answers whether it covers another toleration."""

    def __init__(self, tolerations: Iterable[Object]) -> None:
        listed = list(tolerations)
        self._identical = set(map(identity, listed))
        self._wide = _LongestTolerations()
        for toleration in listed:
            self._wide.add(toleration)

    def covers(self, toleration: Object) -> bool:
        return self._wide.covers(toleration) or identity(toleration) in self._identical


class _LongestTolerations:
    """The longest toleration of each taint, in seconds. `covers` may be False for a toleration that
    was added: one without an operator is added with its value, but looked up without it."""

    def __init__(self) -> None:
        self._longest: dict[_Slot, float] = {}

    def add(self, toleration: Object) -> None:
        operator = toleration.get("operator", "")
        if operator in (_EXISTS, "Equal", ""):
            value = None if operator == _EXISTS else toleration.get("value", "")
            slot = (*taint_of(toleration), value)
            self._longest[slot] = max(self._longest.get(slot, -inf), _seconds(toleration))

    def covers(self, toleration: Object) -> bool:
        key, effect = taint_of(toleration)
        value = toleration.get("value", "") if toleration.get("operator") == "Equal" else None
        needed, longest = _seconds(toleration), self._longest
        for wide in (effect, "") if effect else ("",):
            minimum = needed if wide == NO_EXECUTE else -inf
            for slot in ((key, wide, value), (key, wide, None), ("", wide, None)):
                if slot in longest and longest[slot] >= minimum:
                    return True
        return False


def merged(first: list[Object], second: list[Object]) -> list[Object]:
    """Both lists in order, without tolerations that another one covers."""
    every: dict[Any, Object] = {}
    for toleration in first + second:
        every.setdefault(identity(toleration), toleration)
    later, needed = _LongestTolerations(), []
    for toleration in reversed(every.values()):
        if not later.covers(toleration):
            needed.append(toleration)
        later.add(toleration)
    earlier, result = _LongestTolerations(), []
    for toleration in reversed(needed):
        if not earlier.covers(toleration):
            earlier.add(toleration)
            result.append(toleration)
    return result


def identity(toleration: Object) -> tuple[tuple[str, Any], ...]:
    """A hashable key, equal for equal tolerations."""
    return tuple(sorted(toleration.items()))


def taint_of(toleration: Object) -> tuple[str, str]:
    """The key and effect of the tolerated taints."""
    return toleration.get("key", ""), toleration.get("effect", "")


def _seconds(toleration: Object) -> float:
    seconds = toleration.get("tolerationSeconds")
    return inf if seconds is None else seconds


class ExtendedResourceToleration(PluginBase):
    """Adds tolerations for the taints of nodes dedicated to the extended resources that a pod
    requests."""

    name = "ExtendedResourceToleration"

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def admit(self, attributes: Attributes) -> None:
        spec = written_pod_spec(attributes, (CREATE, UPDATE))
        if spec is None:
            return
        asked_for = self._extended_resources(spec)
        if asked_for:
            tolerations = spec.get("tolerations") or []
            tolerated = {
                taint_of(toleration)
                for toleration in tolerations
                if toleration.get("operator", "") == "Exists"
            }
            added = [
                {"key": name, "operator": "Exists", "effect": NO_SCHEDULE}
                for name in sorted(asked_for)
                if (name, NO_SCHEDULE) not in tolerated
            ]
            spec["tolerations"] = [*tolerations, *added]

    def _extended_resources(self, spec: Object) -> set[str]:
        """The extended resources that containers request."""
        return {
            name
            for containers in ("containers", "initContainers")
            for container in spec.get(containers) or ()
            for name in (container.get("resources") or {}).get("requests") or ()
            if is_extended(name, self._dialect)
        }


class TaintNodesByCondition(PluginBase):
    """Taints a new node as not ready, until it is known to be ready."""

    name = "TaintNodesByCondition"
    concerns: frozenset[str] | None = frozenset({"core/v1/nodes"})

    def __init__(self, dialect: Dialect) -> None:
        self._key = dialect.label("node.@/not-ready")

    def admit(self, attributes: Attributes) -> None:
        value = attributes.value
        if attributes.resource.key != "core/v1/nodes" or attributes.operation != CREATE:
            return
        assert value is not None
        spec = value.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(
            taint["key"] == self._key and taint["effect"] == NO_SCHEDULE for taint in taints
        ):
            spec["taints"] = [*taints, {"key": self._key, "effect": NO_SCHEDULE}]
