"""Policy rules, compiled into lookup tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fairlead.auth.authorization.attributes import Attributes

Rule = dict[str, Any]
ALL = "*"


class ResourceRule(NamedTuple):
    """A rule for one resource; None means any."""

    verbs: frozenset[str] | None
    groups: frozenset[str] | None
    names: frozenset[str] | None


class _PathRule(NamedTuple):
    verbs: frozenset[str] | None
    paths: frozenset[str]
    prefixes: tuple[str, ...]


class RuleQuery(NamedTuple):
    """Attributes in the form that rules match; computed once for all roles of a user.

    `resources` are the spellings by which a rule can match the resource. `pods/*` is not among
    them: it matches nothing.
    """

    verb: str
    group: str
    resources: tuple[str, ...]
    name: str
    path: str
    is_resource: bool


def question(attributes: Attributes) -> RuleQuery:
    resources: tuple[str, ...]
    if attributes.subresource:
        resources = (attributes.full_resource, ALL, f"*/{attributes.subresource}")
    else:
        resources = (attributes.resource, ALL)
    return RuleQuery(
        attributes.verb,
        attributes.group,
        resources,
        attributes.name,
        attributes.path,
        attributes.is_resource,
    )


class CompiledRules:
    """The rules of one role, indexed by resource. `rules` keeps the originals."""

    __slots__ = ("_by_resource", "_paths", "rules")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = list(rules)
        self._by_resource: dict[str, list[ResourceRule]] = {}
        self._paths: list[_PathRule] = []
        for rule in self.rules:
            self._add(rule)

    def _add(self, rule: Rule) -> None:
        verbs = _any_or_set(rule.get("verbs"))
        resources = rule.get("resources")
        if resources:
            names = rule.get("resourceNames")
            compiled = ResourceRule(
                verbs, _any_or_set(rule.get("apiGroups")), frozenset(names) if names else None
            )
            for resource in dict.fromkeys(resources):
                self._by_resource.setdefault(resource, []).append(compiled)
        paths = rule.get("nonResourceURLs")
        if paths:
            prefixes = tuple(path.rstrip(ALL) for path in paths if path.endswith(ALL))
            self._paths.append(_PathRule(verbs, frozenset(paths), prefixes))

    def allow(self, query: RuleQuery) -> bool:
        if not query.is_resource:
            return self.allow_path(query.verb, query.path)
        by_resource = self._by_resource
        verb, group, resources, name = query[:4]
        for resource in resources:
            rules = by_resource.get(resource)
            if rules is not None:
                for verbs, groups, names in rules:
                    if (
                        (verbs is None or verb in verbs)
                        and (groups is None or group in groups)
                        and (names is None or name in names)
                    ):
                        return True
        return False

    def allow_path(self, verb: str, path: str) -> bool:
        for verbs, paths, prefixes in self._paths:
            if verbs is not None and verb not in verbs:
                continue
            if path in paths or (prefixes and path.startswith(prefixes)):
                return True
        return False

    def rules_on(self, resource: str) -> list[ResourceRule]:
        """The rules that match a resource in rule notation, such as `pods/log` or `*`, wildcards
        included."""
        _, slash, subresource = resource.partition("/")
        ways = dict.fromkeys((resource, ALL, f"*/{subresource}") if slash else (resource, ALL))
        return [rule for spelling in ways for rule in self._by_resource.get(spelling, ())]

    @property
    def path_count(self) -> int:
        """The maximum number of comparisons for a path."""
        return sum(1 + len(rule.prefixes) for rule in self._paths)


def without_partial_wildcards(rules: Iterable[Rule]) -> list[Rule]:
    """Drop paths such as `/met*`: a wildcard may only replace the whole last segment."""
    result = []
    for rule in rules:
        paths = rule.get("nonResourceURLs") or ()
        whole_paths = [path for path in paths if not _is_partial(path)]
        if len(whole_paths) < len(paths):
            rule = {name: item for name, item in rule.items() if name != "nonResourceURLs"}
            if whole_paths:
                rule["nonResourceURLs"] = whole_paths
        result.append(rule)
    return result


def _is_partial(path: str) -> bool:
    return path.endswith(ALL) and path != ALL and not path.endswith("/" + ALL)


def _any_or_set(values: list[str] | None) -> frozenset[str] | None:
    """None if the values contain the wildcard, else a set."""
    names = frozenset(values or ())
    return None if ALL in names else names
