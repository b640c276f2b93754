"""Evaluates label selectors in the client, for objects read from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.cli.errors import CommandError

_WORDS = {"in": "In", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist"}


def _requirements(text: str) -> tuple[Any, ...]:
    from fairlead.storage.selection import SelectorError, parse_labels

    try:
        return parse_labels(text)
    except SelectorError as error:
        raise CommandError(f"unable to parse requirement: {error}") from None


def by_labels(text: str) -> Callable[[Mapping[str, Any]], bool]:
    """A predicate for objects whose labels match the selector; raises Mistake."""
    rules = _requirements(text)

    def matches(value: Mapping[str, Any]) -> bool:
        labels = (value.get("metadata") or {}).get("labels") or {}
        return all(rule.matches(labels) for rule in rules)

    return matches


def as_object(text: str) -> dict[str, Any]:
    """The selector as a LabelSelector object (matchLabels, matchExpressions); raises Mistake."""
    labels: dict[str, str] = {}
    expressions: list[dict[str, Any]] = []
    for rule in _requirements(text):
        if rule.operator not in _WORDS:
            raise CommandError(f'a selector has no operator "{rule.operator}"')
        if rule.operator == "in" and len(rule.values) == 1 and rule.key not in labels:
            labels[rule.key] = next(iter(rule.values))
        else:
            made = {"key": rule.key, "operator": _WORDS[rule.operator]}
            expressions.append({**made, "values": sorted(rule.values)} if rule.values else made)
    found: dict[str, Any] = {"matchLabels": labels} if labels else {}
    return {**found, "matchExpressions": expressions} if expressions else found
