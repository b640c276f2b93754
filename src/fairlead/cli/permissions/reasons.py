"""Finds the rules that allow an action, the rules that nearly do, and roles to bind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes
from fairlead.auth.authorization.bindings import Binding, Scope
from fairlead.auth.authorization.rules import (
    ALL,
    CompiledRules,
    Rule,
    RuleQuery,
    question,
    without_partial_wildcards,
)
from fairlead.base.dialect import Dialect
from fairlead.cli.permissions import questions
from fairlead.cli.permissions.identity import Identity
from fairlead.cli.permissions.policy import Policy

Object = Mapping[str, Any]
_MANY = 1000  # weight of a wildcard


@dataclass(frozen=True, slots=True)
class Grant:
    """A rule of the user, and the binding that grants it."""

    binding: Binding
    subject: str
    rule: Rule
    origin: str = ""  # the ClusterRole from which an aggregated role gets the rule
    missing: str = ""  # why the rule does not allow the action

    @property
    def breadth(self) -> tuple[bool, int]:
        return not self.binding.namespace, breadth(self.rule)


class Reasons:
    """Evaluates the roles and bindings of a policy for one question of one user."""

    def __init__(
        self, policy: Policy, dialect: Dialect, who: Identity, question: questions.Question
    ) -> None:
        self._policy = policy
        self._whole_steps = dialect.path_wildcard_steps_only
        self._user = User(who.user, who.uid, who.groups)
        self._roles = policy.roles
        self._request = _question(self._user, question)

    def grants(self) -> list[Grant]:
        """The grants that allow the action, narrowest first."""
        grants = [grant for grant in self._own_grants() if self._allows(grant.rule)]
        return sorted(grants, key=lambda grant: grant.breadth)

    def near_misses(self) -> list[Grant]:
        """Rules of the user that fail in exactly one respect, narrowest first."""
        misses = []
        for grant in self._own_grants():
            missing = what_is_missing(grant.rule, self._request, self._allows)
            if missing:
                misses.append(Grant(grant.binding, grant.subject, grant.rule, missing=missing))
        return sorted(misses, key=lambda grant: grant.breadth)

    def roles_that_allow(self) -> list[Object]:
        """Roles that would allow the action if bound, narrowest first. Roles named `system:` and
        roles that allow nearly everything come last."""
        roles = [
            role
            for role in self._roles.values()
            if any(self._allows(rule) for rule in role.get("rules") or ())
        ]
        return sorted(roles, key=_role_order)

    def _own_grants(self) -> Iterator[Grant]:
        """All rules that bindings grant to the user."""
        scopes: dict[str, Scope] = {}
        for value in self._policy.bindings:
            namespace = value["metadata"].get("namespace") or ""
            scopes.setdefault(namespace, Scope()).put(
                Binding(namespace, value["metadata"]["name"], dict(value))
            )
        bound = {
            (binding.namespace, binding.name): binding
            for scope in scopes.values()
            for grants in scope.grants(self._user)
            for bindings in grants.values()
            for binding in bindings.values()
        }
        for binding in bound.values():
            role = self._roles.get(binding.role) or {}
            for rule in role.get("rules") or ():
                subject = subject_of(binding, self._user)
                yield Grant(binding, subject, rule, self._origin(role, rule))

    def _allows(self, rule: Rule) -> bool:
        rules = without_partial_wildcards([rule]) if self._whole_steps else [rule]
        return CompiledRules(rules).allow(self._request)

    def _origin(self, role: Object, rule: Rule) -> str:
        """The ClusterRole from which an aggregated role gets the rule; empty if none."""
        selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
        for other in self._policy.objects.get("ClusterRole", ()):
            labels = other["metadata"].get("labels") or {}
            fits = any(_selects(selector, labels) for selector in selectors)
            if fits and rule in (other.get("rules") or ()):
                return str(other["metadata"]["name"])
        return ""


def _question(user: User, query: questions.Question) -> RuleQuery:
    return question(
        Attributes(
            user,
            query.verb,
            query.group,
            resource=query.resource,
            subresource=query.subresource,
            namespace=query.namespace,
            name=query.name,
            path=query.path,
            is_resource=not query.path,
        )
    )


def subject_of(binding: Binding, user: User) -> str:
    """The first subject of the binding that is the user or one of the user's groups."""
    for subject in binding.subjects:
        if subject["kind"] == "Group" and subject["name"] in user.groups:
            return f"Group {subject['name']}"
        if binding.user_of(subject) == user.name:
            return f"{subject['kind']} {subject['name']}"
    return ""


def what_is_missing(rule: Rule, question: RuleQuery, allows: Callable[[Rule], bool]) -> str:
    """The single reason why the rule does not allow the question; empty if there are several."""
    if allows(rule):
        return ""
    if allows({**rule, "verbs": [ALL]}):
        return f"it does not have the verb {question.verb}"
    if not question.is_resource:
        return ""
    if allows({**rule, "resourceNames": []}):
        return "it is for other names" if question.name else "it is for single names only"
    if allows({**rule, "apiGroups": [ALL]}):
        return f'it is for other groups than "{question.group}"'
    resource, slash, part = question.resources[0].partition("/")
    resources = rule.get("resources") or ()
    if slash and resource in resources and allows({**rule, "resources": [question.resources[0]]}):
        return f"it does not have the subresource {part}"
    return ""


def _selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether the selector matches. Supports matchLabels only, as aggregation uses it."""
    if selector.get("matchExpressions"):
        return False
    match_labels = selector.get("matchLabels") or {}
    return all(labels.get(name) == value for name, value in match_labels.items())


def breadth(rule: Rule) -> int:
    """An estimate of how much the rule allows, to sort narrow rules before wide ones."""
    size = 1
    for part in ("verbs", "apiGroups", "resources", "nonResourceURLs"):
        values: Sequence[str] = rule.get(part) or ()
        size *= _MANY if any(ALL in value for value in values) else max(1, len(values))
    return size if rule.get("resourceNames") else size * 10


def _role_order(role: Object) -> tuple[bool, int, str]:
    metadata = role["metadata"]
    total = sum(breadth(rule) for rule in role.get("rules") or ())
    is_special = metadata["name"].startswith("system:") or total >= _MANY**2
    return is_special, total, metadata["name"]
