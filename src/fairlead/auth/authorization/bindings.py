"""Bindings indexed by subject: finds a user's roles without scanning all bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fairlead.auth.authentication.user import User, account_user_name
from fairlead.resources.causes import quote
from fairlead.storage.version import Change

# Namespace and name; the namespace of a ClusterRole is empty.
RoleKey = tuple[str, str]
Subject = dict[str, Any]

_NOWHERE = "/"  # not a valid namespace name


class Binding:
    """A RoleBinding, or a ClusterRoleBinding if it has no namespace."""

    __slots__ = ("name", "namespace", "role", "role_kind", "subjects")

    def __init__(self, namespace: str, name: str, value: dict[str, Any]) -> None:
        self.namespace = namespace
        self.name = name
        role = value["roleRef"]
        self.role_kind: str = role["kind"]
        self.role: RoleKey = (_role_namespace(self.role_kind, namespace), role["name"])
        self.subjects: list[Subject] = value.get("subjects") or []

    def user_of(self, subject: Subject) -> str | None:
        """The user name of a User or ServiceAccount subject; None for others."""
        if subject["kind"] == "User":
            return str(subject["name"])
        if subject["kind"] == "ServiceAccount":
            namespace = subject.get("namespace") or self.namespace
            return account_user_name(namespace, subject["name"]) if namespace else None
        return None

    def explain(self, user: User) -> str:
        """The reason for a grant: this binding, its role and the first subject that matches the
        user."""
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
    """The namespace of the role; an invalid reference must not resolve to a ClusterRole."""
    if kind == "ClusterRole":
        return ""
    return namespace if kind == "Role" and namespace else _NOWHERE


# The bindings of a subject, by role and then by binding name.
Grants = dict[RoleKey, dict[str, Binding]]


class Scope:
    """The bindings of one namespace, or the cluster-wide ones, indexed by user and group."""

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
        """The grants of the user's name and of each of its groups."""
        groups = self._groups
        bindings = [self._users[user.name]] if user.name in self._users else []
        bindings += [groups[group] for group in user.groups if group in groups]
        return bindings


# Subscribing authorization to the objects it depends on.

Listener = Callable[[Change], None]

# Calls a listener with every existing object of a resource (internal name, `rbac/v1/roles`), and
# then after each commit, before the client of the write gets the response. A resource that is not
# served has no objects.
Follow = Callable[[str, Listener], None]
