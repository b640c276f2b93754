"""Matches requests against the rules of flow schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fairlead.api.routing import Target
from fairlead.auth.authentication.user import User, split_account_name

_ALL = "*"

Spec = Mapping[str, Any]
Matches = Callable[[User, Target], bool]


def matcher(rules: Iterable[Spec]) -> Matches:
    """A predicate that tells whether any rule of a schema matches a request."""
    compiled = [
        (
            [_subject(item) for item in rule.get("subjects") or ()],
            [_Resources(item) for item in rule.get("resourceRules") or ()],
            [_Paths(item) for item in rule.get("nonResourceRules") or ()],
        )
        for rule in rules
    ]

    def matches(user: User, target: Target) -> bool:
        for subjects, resources, paths in compiled:
            if any(matches_user(user) for matches_user in subjects):
                rules_of_kind: list[Any] = resources if target.is_resource else paths
                if any(item.matches(target) for item in rules_of_kind):
                    return True
        return False

    return matches


def _subject(subject: Spec) -> Callable[[User], bool]:
    kind = subject.get("kind")
    if kind == "User":
        return _user((subject.get("user") or {}).get("name", ""))
    if kind == "Group":
        return _group((subject.get("group") or {}).get("name", ""))
    account = subject.get("serviceAccount") or {}
    return _account(account.get("namespace", ""), account.get("name", ""))


def _user(name: str) -> Callable[[User], bool]:
    return lambda user: name in (_ALL, user.name)


def _group(name: str) -> Callable[[User], bool]:
    return lambda user: name == _ALL or name in user.groups


def _account(namespace: str, name: str) -> Callable[[User], bool]:
    def matches_user(user: User) -> bool:
        account = split_account_name(user.name)
        return account is not None and account[0] == namespace and name in (_ALL, account[1])

    return matches_user


class _Names:
    """A set of names; `*` contains every name."""

    __slots__ = ("_all", "_names")

    def __init__(self, names: Iterable[str] | None) -> None:
        self._names = frozenset(names or ())
        self._all = _ALL in self._names

    def __contains__(self, name: str) -> bool:
        return self._all or name in self._names


class _Resources:
    def __init__(self, rule: Spec) -> None:
        self._verbs = _Names(rule.get("verbs"))
        self._groups = _Names(rule.get("apiGroups"))
        self._resources = _Names(rule.get("resources"))
        self._namespaces = _Names(rule.get("namespaces"))
        self._cluster_scope = bool(rule.get("clusterScope"))

    def matches(self, target: Target) -> bool:
        if not (
            target.verb in self._verbs
            and target.full_resource_name in self._resources
            and target.group in self._groups
        ):
            return False
        if not target.namespace:
            return self._cluster_scope
        return target.namespace in self._namespaces


class _Paths:
    """Matches exact paths, or path prefixes that end with `*`."""

    def __init__(self, rule: Spec) -> None:
        paths = rule.get("nonResourceURLs") or ()
        self._verbs = _Names(rule.get("verbs"))
        self._paths = frozenset(path for path in paths if not path.endswith(_ALL))
        self._starts = tuple(path.rstrip(_ALL) for path in paths if path.endswith(_ALL))

    def matches(self, target: Target) -> bool:
        path = target.path
        return target.verb in self._verbs and (path in self._paths or path.startswith(self._starts))
