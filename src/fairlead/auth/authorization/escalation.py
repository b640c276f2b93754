"""Escalation prevention: users cannot grant permissions they do not have."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.auth.authentication.user import MASTERS, User
from fairlead.auth.authorization import coverage
from fairlead.auth.authorization.attributes import Attributes
from fairlead.auth.authorization.bindings import RoleKey
from fairlead.auth.authorization.chain import Authorizer
from fairlead.auth.authorization.rbac import Rbac
from fairlead.auth.authorization.rules import Rule
from fairlead.base.errors import ResourceRef, bad_request, forbidden
from fairlead.codec.types.model import Object as Object
from fairlead.resources.causes import absent, quote
from fairlead.resources.gates import Gates

# Returns the newest version of a role, which may be uncommitted.
FindRole = Callable[[RoleKey], Object | None]

FULL_AUTHORITY: list[Rule] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
_ROLE_RESOURCES = {"Role": "roles", "ClusterRole": "clusterroles"}


class EscalationGuard:
    """Checks writes of the four RBAC kinds; raises a 403."""

    def __init__(self, authorizer: Authorizer, rbac: Rbac, gates: Gates | None = None) -> None:
        self._authorizer = authorizer
        self._rbac = rbac
        # A missing role is reported under the resource of the request, which is the binding.
        self._names_binding = (gates or Gates())["MissingRoleNamedAsBinding"]

    async def check_role(
        self, user: User, ref: ResourceRef, namespace: str, value: Object, old: Object | None
    ) -> None:
        """`ref` names the written role. A create by POST names none in its URL, so `escalate` on
        specific role names does not apply there."""
        if MASTERS in user.groups or only_housekeeping(value, old):
            return
        name = ref.name if old is not None else ""
        access = Attributes(user, "escalate", ref.group, "*", ref.resource, "", namespace, name)
        if await self._authorizer.allowed(access):
            return
        missing = self._missing(user, namespace, value.get("rules") or [])
        if missing:
            raise forbidden(ref, missing)
        aggregates = _aggregates(value) or (old is not None and _aggregates(old))
        if aggregates and self._missing(user, namespace, FULL_AUTHORITY):
            raise forbidden(ref, "must have cluster-admin privileges to use the aggregationRule")

    async def check_binding(
        self,
        user: User,
        ref: ResourceRef,
        namespace: str,
        value: Object,
        old: Object | None,
        find_role: FindRole,
    ) -> None:
        if MASTERS in user.groups or only_housekeeping(value, old):
            return
        role = value.get("roleRef") or {}
        resource, name = _ROLE_RESOURCES.get(role.get("kind", "")), role.get("name", "")
        if resource is None:
            return  # validation rejects it
        access = Attributes(user, "bind", role["apiGroup"], "*", resource, "", namespace, name)
        if await self._authorizer.allowed(access):
            return
        if resource == "roles" and not namespace:
            raise bad_request("Namespace parameter required.")
        stored_role = find_role((namespace if resource == "roles" else "", name))
        if stored_role is None:
            kind = ref.resource if self._names_binding else resource
            raise absent(ResourceRef(ref.group, kind, name))
        missing = self._missing(user, namespace, stored_role.get("rules") or [])
        if missing:
            raise forbidden(ref, missing)

    def _missing(self, user: User, namespace: str, wanted_rules: list[Rule]) -> str:
        """The message about wanted rules that the user does not hold; empty if all are held."""
        held_rules = self._rbac.held_rules(user, namespace, once=True)
        if not held_rules.is_complete:
            return f"user {quote(user.name)} has too many rules to compare"
        try:
            missing = coverage.missing_rules(held_rules.rules, wanted_rules)
        except coverage.TooManyRules:
            return "one of the rules grants too many permissions to check each of them"
        if not missing:
            return ""
        listed = "\n".join(sorted({coverage.rule_text(rule) for rule in coverage.compact(missing)}))
        text = (
            f"user {quote(user.name)} (groups={coverage.quoted_list(user.groups)}) is attempting"
            f" to grant RBAC permissions not currently held:\n{listed}"
        )
        if held_rules.dangling:
            text += f"; resolution errors: [{self._rbac.dangling_errors(held_rules.dangling)}]"
        return text


def _aggregates(value: Object) -> bool:
    return bool((value.get("aggregationRule") or {}).get("clusterRoleSelectors"))


_HOUSEKEEPING = ("finalizers", "ownerReferences", "managedFields", "resourceVersion")


def only_housekeeping(value: Object, old: Object | None) -> bool:
    """Whether an update changes only the metadata that the garbage collector writes."""
    if old is None:
        return False
    return _without_housekeeping(value) == _without_housekeeping(old)


def _without_housekeeping(value: Object) -> Object:
    metadata = {k: v for k, v in value["metadata"].items() if k not in _HOUSEKEEPING}
    return {**value, "metadata": metadata}
