"""Compares rules: finds the parts of wanted rules that owned rules do not cover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.auth.authorization.rules import CompiledRules, ResourceRule, Rule
from fairlead.resources.causes import quote

_MAX_STEPS = 200_000
_MAX_REPORTED = 1000
_PARTS = (
    ("apiGroups", "APIGroups"),
    ("resources", "Resources"),
    ("nonResourceURLs", "NonResourceURLs"),
    ("resourceNames", "ResourceNames"),
    ("verbs", "Verbs"),
)


class TooManyRules(Exception):
    """The rules have too many combinations to compare."""


class _Comparison:
    """Compares a user's rules with wanted rules. Verbs are compared as sets; the remaining
    combinations of groups, resources and names are limited to _MAX_STEPS."""

    def __init__(self, owned: Iterable[Rule]) -> None:
        self._owned = CompiledRules(owned)
        self._left = _MAX_STEPS
        self.missing: list[Rule] = []

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooManyRules

    def add_missing(self, rule: Rule) -> None:
        """Add to `missing` the parts of a wanted rule that no owned rule covers: verbs on one
        resource of one group (and one name), or on one path."""
        verbs = list(dict.fromkeys(rule.get("verbs") or ()))
        groups = dict.fromkeys(rule.get("apiGroups") or ())
        names = dict.fromkeys(rule.get("resourceNames") or (None,))
        for resource in dict.fromkeys(rule.get("resources") or ()):
            owned = self._owned.rules_on(resource)
            for group in groups:
                self._spend(1 + len(owned))
                fitting = [rule for rule in owned if rule.groups is None or group in rule.groups]
                for name in names:
                    self._spend(1 + len(fitting))
                    left = _uncovered(verbs, fitting, name)
                    if left:
                        part: Rule = {"apiGroups": [group], "resources": [resource], "verbs": left}
                        self._add(part if name is None else {**part, "resourceNames": [name]})
        for path in dict.fromkeys(rule.get("nonResourceURLs") or ()):
            self._spend(len(verbs) * self._owned.path_count)
            for verb in verbs:
                if not self._owned.allow_path(verb, path):
                    self._add({"nonResourceURLs": [path], "verbs": [verb]})

    def _add(self, part: Rule) -> None:
        if len(self.missing) < _MAX_REPORTED:
            self.missing.append(part)


def _uncovered(verbs: list[str], owned: list[ResourceRule], name: str | None) -> list[str]:
    """The verbs that none of the rules grants on a name, or on all names if it is None."""
    for rule in owned:
        if rule.names is None or (name is not None and name in rule.names):
            if rule.verbs is None:
                return []
            verbs = [verb for verb in verbs if verb not in rule.verbs]
            if not verbs:
                return []
    return verbs


def missing_rules(owned: Iterable[Rule], wanted_rules: Iterable[Rule]) -> list[Rule]:
    """The first 1000 parts of the wanted rules that no owned rule covers; raises TooManyRules."""
    comparison = _Comparison(owned)
    for rule in wanted_rules:
        comparison.add_missing(rule)
    return comparison.missing


def single_verb_rules(rules: Iterable[Rule]) -> list[Rule]:
    """Split rules into rules of one verb each."""
    return [{**rule, "verbs": [verb]} for rule in rules for verb in rule["verbs"]]


def compact(rules: Sequence[Rule]) -> list[Rule]:
    """Merge rules that differ only in the verbs."""
    compacted: list[Rule] = []
    merged: dict[tuple[str, ...], Rule] = {}
    for rule in rules:
        if rule.get("nonResourceURLs"):
            compacted.append(rule)
            continue
        key = (*rule["apiGroups"], *rule["resources"], *rule.get("resourceNames", ()))
        if key in merged:
            merged[key]["verbs"] += rule["verbs"]
        else:
            merged[key] = {**rule, "verbs": list(rule["verbs"])}
    return compacted + list(merged.values())


def rule_text(rule: Rule) -> str:
    """A rule as shown in messages."""
    parts = (f"{shown}:{quoted_list(rule[name])}" for name, shown in _PARTS if rule.get(name))
    return "{" + ", ".join(parts) + "}"


def quoted_list(values: Iterable[str]) -> str:
    return f"[{' '.join(quote(value) for value in values)}]"
