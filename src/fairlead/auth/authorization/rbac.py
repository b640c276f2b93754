"""RBAC: roles, and bindings that grant them to users, groups and service accounts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import (
    NO_OPINION,
    Attributes,
    Decision,
    UserRules,
    joined_errors,
)
from fairlead.auth.authorization.bindings import Binding, Follow, Grants, RoleKey, Scope
from fairlead.auth.authorization.chain import Epoch, ImmediateMode
from fairlead.auth.authorization.rules import (
    CompiledRules,
    Rule,
    question,
    without_partial_wildcards,
)
from fairlead.base.dialect import Dialect
from fairlead.resources.causes import quote
from fairlead.storage.version import Change

ROLES = "rbac/v1/roles"
CLUSTER_ROLES = "rbac/v1/clusterroles"
ROLE_BINDINGS = "rbac/v1/rolebindings"
CLUSTER_ROLE_BINDINGS = "rbac/v1/clusterrolebindings"

_ROLE_RESOURCES = {"Role": "role", "ClusterRole": "clusterrole"}


_MAX_HELD = 10_000  # rules of one user that are listed or compared


class HeldRules(NamedTuple):
    """The rules of a user, and the bindings whose role is missing."""

    rules: list[Rule]
    dangling: list[Binding]
    is_complete: bool = True


class Rbac(ImmediateMode):
    """The compiled roles and indexed bindings, updated with each change."""

    def __init__(self, dialect: Dialect, epoch: Epoch) -> None:
        self._group = dialect.group_name("rbac.authorization.@")
        self._whole_steps = dialect.path_wildcard_steps_only
        self._epoch = epoch
        self._roles: dict[RoleKey, CompiledRules] = {}
        self._scopes: dict[str, Scope] = {"": Scope()}

    def follow(self, follow: Follow) -> None:
        for key in (ROLES, CLUSTER_ROLES):
            follow(key, self._role_changed)
        for key in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
            follow(key, self._binding_changed)

    def _role_changed(self, change: Change) -> None:
        key = (change.namespace, change.name)
        if change.after is None:
            self._roles.pop(key, None)
        else:
            rules = change.after.object().get("rules") or ()
            if self._whole_steps:
                rules = without_partial_wildcards(rules)
            self._roles[key] = CompiledRules(rules)
        self._epoch.advance()

    def _binding_changed(self, change: Change) -> None:
        namespace = change.namespace
        scope = self._scopes.setdefault(namespace, Scope())
        if change.after is None:
            scope.remove(change.name)
        else:
            scope.put(Binding(namespace, change.name, change.after.object()))
        if namespace and not scope.bindings:
            del self._scopes[namespace]
        self._epoch.advance()

    def decide(self, attributes: Attributes) -> Decision:
        query = question(attributes)
        roles = self._roles
        missing: list[str] = []
        for grants in self._grants(attributes.user, attributes.namespace):
            for key, bindings in grants.items():
                rules = roles.get(key)
                if rules is None:
                    missing += [self._missing(binding) for binding in bindings.values()]
                elif rules.allow(query):
                    binding = bindings[min(bindings)]
                    reason = f"RBAC: allowed by {binding.explain(attributes.user)}"
                    return Decision(allowed=True, reason=reason)
        return Decision(reason=f"RBAC: {joined_errors(missing)}") if missing else NO_OPINION

    def _grants(self, user: User, namespace: str) -> Iterator[Grants]:
        yield from self._scopes[""].grants(user)
        if namespace:
            scope = self._scopes.get(namespace)
            if scope is not None:
                yield from scope.grants(user)

    def _missing(self, binding: Binding, resources: dict[str, str] = _ROLE_RESOURCES) -> str:
        resource = resources.get(binding.role_kind)
        if resource is None:
            return f"unsupported role reference kind: {quote(binding.role_kind)}"
        return f"{resource}.{self._group} {quote(binding.role[1])} not found"

    def held_rules(self, user: User, namespace: str, *, once: bool = False) -> HeldRules:
        """The rules that bindings grant a user in a namespace and cluster-wide, ordered by binding
        name; at most 10,000. A role that is bound several times is repeated unless `once`."""
        rules: list[Rule] = []
        dangling: list[Binding] = []
        seen: set[RoleKey] = set()
        for scope_name in ("", namespace) if namespace else ("",):
            scope = self._scopes.get(scope_name)
            if scope is None:
                continue
            bound: dict[str, Binding] = {}
            for grants in scope.grants(user):
                for bindings in grants.values():
                    bound |= bindings
            for _, binding in sorted(bound.items()):
                if once and binding.role in seen:
                    continue
                seen.add(binding.role)
                role = self._roles.get(binding.role)
                if role is None:
                    dangling.append(binding)
                elif len(rules) + len(role.rules) > _MAX_HELD:
                    return HeldRules(rules, dangling, is_complete=False)
                else:
                    rules += role.rules
        return HeldRules(rules, dangling)

    def rules_for(self, user: User, namespace: str) -> UserRules:
        held_rules = self.held_rules(user, namespace)
        errors = [self._missing(binding) for binding in held_rules.dangling]
        if not held_rules.is_complete:
            errors.append(f"there are more than {_MAX_HELD} rules")
        return UserRules(
            [_part(rule, _RESOURCE_PARTS) for rule in held_rules.rules if rule.get("resources")],
            [_part(rule, _PATH_PARTS) for rule in held_rules.rules if rule.get("nonResourceURLs")],
            incomplete=not held_rules.is_complete,
            errors=errors,
        )

    def dangling_errors(self, bindings: list[Binding]) -> str:
        """The message about missing roles, with plural resource names as in a lookup in the
        store."""
        plural = {kind: f"{resource}s" for kind, resource in _ROLE_RESOURCES.items()}
        return joined_errors([self._missing(binding, plural) for binding in bindings])


_RESOURCE_PARTS = ("verbs", "apiGroups", "resources", "resourceNames")
_PATH_PARTS = ("verbs", "nonResourceURLs")


def _part(rule: Rule, names: tuple[str, ...]) -> Rule:
    return {name: rule[name] for name in names if rule.get(name)}
