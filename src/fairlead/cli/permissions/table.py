"""The table of all permissions of a user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

HEAD = ("Resources", "Non-Resource URLs", "Resource Names", "Verbs")


class _Rule(NamedTuple):
    """A resource or path, with its verbs. Field order matches the sort text."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...]
    paths: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sort key."""
        parts = zip(_PARTS, self, strict=True)
        return "".join(f"{name}:{listed(values)}," for name, values in parts)

    @property
    def what(self) -> str:
        if not self.resources:
            return ""
        name, slash, rest = self.resources[0].partition("/")
        group = f".{self.groups[0]}" if self.groups and self.groups[0] else ""
        return f"{name}{group}{slash}{rest}"


_PARTS = ("Verbs", "APIGroups", "Resources", "ResourceNames", "NonResourceURLs")


def listed(values: Sequence[str]) -> str:
    return f"[{' '.join(values)}]"


def rows(status: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Table rows for the status of a SelfSubjectRulesReview."""
    simple = [*_of_resources(status.get("resourceRules") or ())]
    compact = [*_merged(simple), *_of_paths(status.get("nonResourceRules") or ())]
    compact.sort(key=lambda rule: rule.text)
    return [
        (rule.what, listed(rule.paths), listed(rule.names), listed(rule.verbs)) for rule in compact
    ]


def _of_resources(rules: Sequence[Mapping[str, Any]]) -> Iterator[_Rule]:
    for rule in rules:
        named = rule.get("resourceNames")
        names: list[tuple[str, ...]] = [(name,) for name in named] if named else [()]
        parts = (rule.get(part) or () for part in ("apiGroups", "resources", "verbs"))
        for group, resource, verb, name in product(*parts, names):
            yield _Rule((verb,), (group,), (resource,), name, ())


def _of_paths(rules: Sequence[Mapping[str, Any]]) -> Iterator[_Rule]:
    for rule in rules:
        for path, verb in product(rule.get("nonResourceURLs") or (), rule.get("verbs") or ()):
            yield _Rule((verb,), (), (), (), (path,))


def _merged(rules: Sequence[_Rule]) -> list[_Rule]:
    """Merge the verbs of rules that are otherwise equal."""
    verbs: dict[_Rule, dict[str, None]] = {}
    for rule in rules:
        verbs.setdefault(rule._replace(verbs=()), {})[rule.verbs[0]] = None
    return [rule._replace(verbs=tuple(merged_verbs)) for rule, merged_verbs in verbs.items()]
