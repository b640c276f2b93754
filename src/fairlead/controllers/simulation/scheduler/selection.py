"""Node selectors and node affinity."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fairlead.controllers.simulation.scheduler.cluster import (
    Cluster,
    Event,
    Filter,
    NodeSummary,
    Refusal,
)
from fairlead.controllers.simulation.scheduler.facts import PendingPod
from fairlead.operations.api import Object
from fairlead.resources.core.pods import PREFERRED, REQUIRED

_NUMBER = re.compile(r"[+-]?\d{1,19}\Z", re.ASCII)
_OTHER_NODE = Refusal(("node(s) didn't match Pod's node affinity/selector",), True, Event.NODE)


def selected(pending: PendingPod, cluster: Cluster) -> Filter | None:
    """Requires both nodeSelector and required node affinity."""
    labels = pending.spec.get("nodeSelector") or {}
    required = _node_affinity(pending.spec).get(REQUIRED)
    if not labels and required is None:
        return None
    return lambda node: None if is_selected(pending.spec, node) else _OTHER_NODE


def is_selected(spec: Object, node: NodeSummary) -> bool:
    for key, value in (spec.get("nodeSelector") or {}).items():
        if node.labels.get(key) != value:
            return False
    required = _node_affinity(spec).get(REQUIRED)
    return required is None or terms_match(required["nodeSelectorTerms"], node.labels, node.name)


def _node_affinity(spec: Object) -> Object:
    affinity: Object = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return affinity


def terms_match(terms: Sequence[Object], labels: Mapping[str, str], name: str) -> bool:
    """Whether at least one node selector term matches."""
    return any(term_matches(term, labels, name) for term in terms)


def term_matches(term: Object, labels: Mapping[str, str], name: str) -> bool:
    """An empty term matches nothing."""
    rules, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not rules and not fields:
        return False
    named = {"metadata.name": name}
    return all(_holds(rule, labels) for rule in rules) and all(
        _holds(rule, named) for rule in fields
    )


def _holds(rule: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(rule["key"]), rule.get("values") or ()
    match rule["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(rule["operator"], value, values)
    return False


def _compares(operator: str, value: str | None, values: Sequence[str]) -> bool:
    if value is None or len(values) != 1:
        return False
    if not _NUMBER.match(value) or not _NUMBER.match(values[0]):
        return False
    number, bound = int(value), int(values[0])
    return number > bound if operator == "Gt" else number < bound


def preference(spec: Object, node: NodeSummary) -> int:
    """The sum of weights of the preferred terms that a node matches."""
    return sum(
        preference_term["weight"]
        for preference_term in _node_affinity(spec).get(PREFERRED) or ()
        if term_matches(preference_term["preference"], node.labels, node.name)
    )


def has_preferences(spec: Object) -> bool:
    return bool(_node_affinity(spec).get(PREFERRED))
