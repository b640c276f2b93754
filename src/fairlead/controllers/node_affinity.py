"""Decides which nodes a pod may run on: node selectors, affinity, taints and tolerations."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from fairlead.operations.api import Object
from fairlead.resources.core.pods import REQUIRED

NODE_NAME_FIELD = "metadata.name"

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}\Z", re.ASCII)
_MAX_INT64 = 2**63 - 1


class Taint(NamedTuple):
    key: str
    value: str
    effect: str


class Node:
    """The scheduling-relevant parts of a node. Immutable."""

    __slots__ = ("labels", "name", "taints")

    def __init__(self, value: Object) -> None:
        self.name: str = value["metadata"]["name"]
        self.labels: Mapping[str, str] = value["metadata"].get("labels") or {}
        self.taints = [
            Taint(taint["key"], taint.get("value", ""), taint["effect"])
            for taint in (value.get("spec") or {}).get("taints") or ()
        ]


class Tolerations:
    """The taints that a pod tolerates, as a hash set: lists from a hostile client may be long, so
    comparing every taint with every toleration would be quadratic."""

    def __init__(self, tolerations: Iterable[Object]) -> None:
        self._parsed: set[tuple[str, str | None, str]] = set()
        for toleration in tolerations:
            exists = toleration.get("operator") == "Exists"
            value = None if exists else toleration.get("value", "")
            self._parsed.add((toleration.get("key", ""), value, toleration.get("effect", "")))

    def tolerate(self, taint: Taint) -> bool:
        return any(
            (key, value, effect) in self._parsed
            for key in (taint.key, "")
            for value in (taint.value, None)
            for effect in (taint.effect, "")
        )

    def tolerate_all(self, taints: Iterable[Taint], effects: Collection[str]) -> bool:
        """Whether all taints with one of these effects are tolerated."""
        return all(self.tolerate(taint) for taint in taints if taint.effect in effects)


def selects(spec: Object, node: Node) -> bool:
    """Whether the node selector and the required affinity of a pod spec allow a node."""
    labels = node.labels
    if any(labels.get(name) != value for name, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get(REQUIRED)
    if required is None:
        return True
    return any(_term_matches(term, node) for term in required.get("nodeSelectorTerms") or ())


def _term_matches(term: Object, node: Node) -> bool:
    """Whether a node meets all requirements of a term; no node meets an empty term."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_is_met(expression, node.labels) for expression in expressions) and all(
        _is_met(field, {NODE_NAME_FIELD: node.name}) for field in fields
    )


def _is_met(requirement: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement["key"]), requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(value, operator, values)
    return False


def _compares(value: str | None, operator: str, bound: Any) -> bool:
    left = _integer(value)
    right = _integer(bound[0]) if len(bound) == 1 else None
    if left is None or right is None:
        return False
    return left > right if operator == "Gt" else left < right


def _integer(text: str | None) -> int | None:
    if text is None or not _INTEGER.match(text):
        return None
    number = int(text)
    return number if -_MAX_INT64 - 1 <= number <= _MAX_INT64 else None
