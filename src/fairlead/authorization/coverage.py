"""Whether the rules that somebody has cover the rules that somebody wants to give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod

from fairlead.authorization.rules import CompiledRules, Rule
from fairlead.kinds.causes import quote

_MOST_ATOMS = 100_000
_PARTS = (
    ("apiGroups", "APIGroups"),
    ("resources", "Resources"),
    ("nonResourceURLs", "NonResourceURLs"),
    ("resourceNames", "ResourceNames"),
    ("verbs", "Verbs"),
)


class TooManyRules(Exception):
    """A rule grants more single permissions than can be compared one by one."""


def atoms(rule: Rule) -> Iterator[Rule]:
    """A rule taken apart: one verb on one resource of one group (and one name), or on one path."""
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    verbs, names = rule.get("verbs") or (), rule.get("resourceNames") or ()
    if prod((len(groups), len(resources), len(verbs), len(names) or 1)) > _MOST_ATOMS:
        raise TooManyRules
    for group, resource, verb in product(groups, resources, verbs):
        atom = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        if not names:
            yield atom
        for name in names:
            yield {**atom, "resourceNames": [name]}
    for path, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield {"nonResourceURLs": [path], "verbs": [verb]}


def missing_atoms(owned: Iterable[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The atoms of the wanted rules that no owned rule covers; raises TooManyRules."""
    compiled = CompiledRules(owned)
    return [atom for rule in wanted for atom in atoms(rule) if not compiled.covers(atom)]


def compact(rules: Sequence[Rule]) -> list[Rule]:
    """Atoms put together again where they differ in the verb only."""
    kept: list[Rule] = []
    merged: dict[tuple[str, ...], Rule] = {}
    for rule in rules:
        if rule.get("nonResourceURLs"):
            kept.append(rule)
            continue
        key = (*rule["apiGroups"], *rule["resources"], *rule.get("resourceNames", ()))
        if key in merged:
            merged[key]["verbs"] += rule["verbs"]
        else:
            merged[key] = {**rule, "verbs": list(rule["verbs"])}
    return kept + list(merged.values())


def described(rule: Rule) -> str:
    """A rule as messages show it."""
    parts = (f"{shown}:{quoted_list(rule[name])}" for name, shown in _PARTS if rule.get(name))
    return "{" + ", ".join(parts) + "}"


def quoted_list(values: Iterable[str]) -> str:
    return f"[{' '.join(quote(value) for value in values)}]"
