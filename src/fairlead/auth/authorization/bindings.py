"""Bindings by subject: which roles a user has, found without a walk over all bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fairlead.auth.authentication.user import User, account_user_name
from fairlead.resources.causes import quote
from fairlead.storage.change import Change

# A ClusterRole has no namespace: ("", name).
RoleKey = tuple[str, str]
Subject = dict[str, Any]

_NOWHERE = "/"  # no namespace has this name


class Binding:
    """A RoleBinding, or with no namespace a ClusterRoleBinding."""

    __slots__ = ("name", "namespace", "role", "role_kind", "subjects")

    def __init__(self, namespace: str, name: str, value: dict[str, Any]) -> None:
        self.namespace = namespace
        self.name = name
        role = value["roleRef"]
        self.role_kind: str = role["kind"]
        self.role: RoleKey = (_role_namespace(self.role_kind, namespace), role["name"])
        self.subjects: list[Subject] = value.get("subjects") or []

    def user_of(self, subject: Subject) -> str | None:
        """The user name that a User or ServiceAccount subject stands for."""
        if subject["kind"] == "User":
            return str(subject["name"])
        if subject["kind"] == "ServiceAccount":
            namespace = subject.get("namespace") or self.namespace
            return account_user_name(namespace, subject["name"]) if namespace else None
        return None

    def explain(self, user: User) -> str:
        """Why it gives the user its role: itself, the role and the first subject that fits."""
        for subject in self.subjects:
            if self._fits(subject, user):
                shown = f"{subject['kind']} {quote(self._subject_name(subject))}"
                break
        else:
            shown = ""
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        return f"{kind} {quote(name)} of {self.role_kind} {quote(self.role[1])} to {shown}"

    def _fits(self, subject: Subject, user: User) -> bool:
        if subject["kind"] == "Group":
            return subject["name"] in user.groups
        return self.user_of(subject) == user.name

    def _subject_name(self, subject: Subject) -> str:
        name = str(subject["name"])
        if subject["kind"] != "ServiceAccount":
            return name
        return f"{name}/{subject.get('namespace') or self.namespace}"


def _role_namespace(kind: str, namespace: str) -> str:
    """Where the role is; a reference that can lead nowhere must not lead to a ClusterRole."""
    if kind == "ClusterRole":
        return ""
    return namespace if kind == "Role" and namespace else _NOWHERE


# The bindings that give a role to a subject, by their names.
Grants = dict[RoleKey, dict[str, Binding]]


class Scope:
    """The bindings of one namespace, or those of the whole cluster."""

    __slots__ = ("_groups", "_users", "bindings")

    def __init__(self) -> None:
        self.bindings: dict[str, Binding] = {}
        self._users: dict[str, Grants] = {}
        self._groups: dict[str, Grants] = {}

    def put(self, binding: Binding) -> None:
        self.remove(binding.name)
        self.bindings[binding.name] = binding
        for table, subject in self._places(binding):
            roles = table.setdefault(subject, {})
            roles.setdefault(binding.role, {})[binding.name] = binding

    def remove(self, name: str) -> None:
        binding = self.bindings.pop(name, None)
        if binding is None:
            return
        for table, subject in self._places(binding):
            roles = table.get(subject, {})
            named = roles.get(binding.role, {})
            named.pop(name, None)
            if not named:
                roles.pop(binding.role, None)
            if not roles:
                table.pop(subject, None)

    def _places(self, binding: Binding) -> Iterator[tuple[dict[str, Grants], str]]:
        for subject in binding.subjects:
            if subject["kind"] == "Group":
                yield self._groups, subject["name"]
                continue
            user = binding.user_of(subject)
            if user is not None:
                yield self._users, user

    def grants(self, user: User) -> list[Grants]:
        """What the user has by its name and by each of its groups."""
        groups = self._groups
        found = [self._users[user.name]] if user.name in self._users else []
        found += [groups[group] for group in user.groups if group in groups]
        return found


# How authorization learns of the objects it depends on.

Listener = Callable[[Change], None]

# Calls a listener with every object of a resource (our name for it, `rbac/v1/roles`) that exists,
# and then after each commit, before the write is answered. A resource that is not served has none.
Follow = Callable[[str, Listener], None]
