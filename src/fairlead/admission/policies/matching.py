"""Which writes the policies and bindings match: rules, excluded rules, names, selectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fairlead.admission.plugin import Attributes
from fairlead.admission.plugins.version_facts import FindNamespace
from fairlead.admission.webhooks.hooks import ANY, Rule, parse_rule, parse_selector
from fairlead.admission.webhooks.match import rule_matches, selects
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resource


class NamedRule(NamedTuple):
    """A rule that may be limited to objects of some names."""

    rule: Rule
    names: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """The parsed `matchConstraints` of a policy or `matchResources` of a binding. Without rules
    all resources match. A selector is None if it selects everything."""

    named_rules: tuple[NamedRule, ...]
    excluded: tuple[NamedRule, ...]
    is_exact: bool
    namespaces: Object | None
    objects: Object | None

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(named.rule for named in self.named_rules)

    def index_keys(self) -> set[tuple[str, str]]:
        """What the rules name: the resources, as `("*", name)`, or the groups, as `(group, "*")`,
        of a rule for all their resources. `("*", "*")` matches every resource."""
        keys: set[tuple[str, str]] = set()
        for rule in self.rules:
            names = {name for name, _ in rule.resources}
            if ANY in names:
                keys |= {(group, ANY) for group in rule.groups}
            else:
                keys |= {(ANY, name) for name in names}
        return keys if self.named_rules else {(ANY, ANY)}


def parse_constraints(match: Object) -> Constraints:
    return Constraints(
        _named_rules(match.get("resourceRules")),
        _named_rules(match.get("excludeResourceRules")),
        match.get("matchPolicy") == "Exact",
        parse_selector(match.get("namespaceSelector")),
        parse_selector(match.get("objectSelector")),
    )


def _named_rules(rules: Sequence[Object] | None) -> tuple[NamedRule, ...]:
    return tuple(
        NamedRule(parse_rule(rule), frozenset(rule.get("resourceNames") or ()))
        for rule in rules or ()
    )


class Candidate(NamedTuple):
    """A resource that a rule matches: the written one or an equivalent one. Without names it
    matches objects of all names."""

    resource: Resource
    names: frozenset[str]

    def has(self, name: str) -> bool:
        return not self.names or name in self.names


class Match:
    """Constraints for one operation on a resource, with the rules that match it."""

    __slots__ = ("_constraints", "_excluded", "_included")

    def __init__(
        self,
        constraints: Constraints,
        resource: Resource,
        others: Sequence[Resource],
        operation: str,
    ) -> None:
        """`others` are the equivalents of the resource."""
        if constraints.is_exact:
            others = ()
        self._constraints = constraints
        self._excluded = _candidates(constraints.excluded, resource, others, operation)
        self._included: Sequence[Candidate] = (Candidate(resource, frozenset()),)
        if constraints.named_rules:
            self._included = _candidates(constraints.named_rules, resource, others, operation)

    def resource_for(self, attributes: Attributes, find: FindNamespace) -> Resource | None:
        """The resource in whose version a write matches, None if it does not. Raises NotFound if
        its namespace is missing."""
        name = attributes.name
        if any(candidate.has(name) for candidate in self._excluded):
            return None
        for candidate in self._included:
            if candidate.has(name):
                matches = selects(self._constraints, attributes, find)
                return candidate.resource if matches else None
        return None


def _candidates(
    rules: Sequence[NamedRule], resource: Resource, others: Sequence[Resource], operation: str
) -> list[Candidate]:
    """In the order in which they are tried: the rules for the resource itself, then those for its
    equivalents."""
    own = [
        Candidate(resource, names)
        for rule, names in rules
        if rule_matches(rule, operation, resource)
    ]
    return own + [
        Candidate(other, names)
        for rule, names in rules
        for other in others
        if rule_matches(rule, operation, other)
    ]
