"""The audit policy: the level of events per request. The first matching rule decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.requests import Target
from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Object

NONE, METADATA, REQUEST, REQUEST_RESPONSE = range(4)
LEVELS = ("None", "Metadata", "Request", "RequestResponse")
RECEIVED, STARTED, COMPLETE, PANIC = (
    "RequestReceived",
    "ResponseStarted",
    "ResponseComplete",
    "Panic",
)
STAGES = (RECEIVED, STARTED, COMPLETE, PANIC)


class Verdict(NamedTuple):
    """The policy's decision on a request."""

    level: int
    omitted: frozenset[str] = frozenset()  # stages
    omits_managed_fields: bool = False


SILENCE = Verdict(NONE)


class Policy:
    """The rules of a validated policy; see `policy_file`."""

    def __init__(self, value: Object) -> None:
        self._rules = tuple(_Rule(rule, value) for rule in value["rules"])
        first_rule = self._rules[0]
        self._always = first_rule.verdict if first_rule.is_general else None

    def verdict(self, user: User | None, target: Target, name: str) -> Verdict:
        """The verdict on a request. `user` is the authenticated user (before impersonation), None
        if unknown. `name` is the name of the requested object."""
        if self._always is not None:
            return self._always
        for rule in self._rules:
            if rule.is_general or rule.matches(user, target, name):
                return rule.verdict
        return SILENCE


class _Rule:
    __slots__ = (
        "_groups",
        "_namespaces",
        "_paths",
        "_resources",
        "_users",
        "_verbs",
        "is_general",
        "verdict",
    )

    def __init__(self, rule: Object, policy: Object) -> None:
        self._users = frozenset(rule.get("users") or ())
        self._groups = frozenset(rule.get("userGroups") or ())
        self._verbs = frozenset(rule.get("verbs") or ())
        self._namespaces = frozenset(rule.get("namespaces") or ())
        self._resources = tuple(map(_Resources, rule.get("resources") or ()))
        self._paths = tuple(rule.get("nonResourceURLs") or ())
        self.is_general = not (
            self._users
            or self._groups
            or self._verbs
            or self._namespaces
            or self._resources
            or self._paths
        )
        omitted = {*(policy.get("omitStages") or ()), *(rule.get("omitStages") or ())}
        own_setting = rule.get("omitManagedFields")
        self.verdict = Verdict(
            LEVELS.index(rule["level"]),
            frozenset(omitted),
            bool(policy.get("omitManagedFields")) if own_setting is None else own_setting,
        )

    def matches(self, user: User | None, target: Target, name: str) -> bool:
        if self._users and (user is None or user.name not in self._users):
            return False
        if self._groups and (user is None or self._groups.isdisjoint(user.groups)):
            return False
        if self._verbs and target.verb not in self._verbs:
            return False
        if self._namespaces or self._resources:
            return self._matches_resource(target, name)
        if self._paths:
            return not target.is_resource and _is_path_of(self._paths, target.path)
        return True

    def _matches_resource(self, target: Target, name: str) -> bool:
        if not target.is_resource:
            return False
        if self._namespaces and target.namespace not in self._namespaces:
            return False
        if not self._resources:
            return True
        return any(resources.hold(target, name) for resources in self._resources)


class _Resources:
    """A resource selector of a group: `pods`, `pods/log`, `pods/*`, `*/scale`, `*`; matches all if
    empty."""

    __slots__ = ("_group", "_names", "_resources")

    def __init__(self, value: Object) -> None:
        self._group: str = value.get("group") or ""
        self._resources = frozenset(value.get("resources") or ())
        self._names = frozenset(value.get("resourceNames") or ())

    def hold(self, target: Target, name: str) -> bool:
        if target.group != self._group:
            return False
        patterns = self._resources
        if not patterns:
            return True
        if self._names and name not in self._names:
            return False
        if "*" in patterns:
            return True
        resource, subresource = target.resource_name, target.subresource
        if f"{resource}/*" in patterns:
            return True
        if not subresource:
            return resource in patterns
        return f"{resource}/{subresource}" in patterns or f"*/{subresource}" in patterns


def _is_path_of(patterns: Sequence[str], path: str) -> bool:
    return any(
        pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))
        for pattern in patterns
    )


# Settings from the command line


class Limits(NamedTuple):
    """From `--audit-…-truncate-…`, in bytes."""

    event: int
    batch: int


class Batching(NamedTuple):
    """From `--audit-…-batch-…`. `qps` is 0 if throttling is off."""

    buffer_size: int
    max_size: int
    max_wait: float
    qps: float
    burst: int


def api_version(dialect: Dialect) -> str:
    """The version of policies and events; there is only one."""
    return dialect.group_name("audit.@/v1")
