"""Escalation prevention: users cannot write a role or binding that grants rights they do not have.

This is not a plugin that can be disabled. It runs as the last mutating step, on the final object,
and before validation, which fixes the order of its errors.
"""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, UPDATE, Attributes, PluginBase
from fairlead.auth.authorization.bindings import RoleKey
from fairlead.auth.authorization.escalation import EscalationGuard, Object
from fairlead.auth.authorization.rbac import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
)


class RbacEscalation(PluginBase):
    name = "RbacEscalation"
    depends_on_other_state: tuple[str, ...] = (
        ROLES,
        CLUSTER_ROLES,
        ROLE_BINDINGS,
        CLUSTER_ROLE_BINDINGS,
    )
    concerns: frozenset[str] | None = frozenset(depends_on_other_state)

    def __init__(self, guard: EscalationGuard) -> None:
        self._guard = guard

    async def admit(self, attributes: Attributes) -> None:
        value = attributes.value
        if value is None or attributes.operation not in (CREATE, UPDATE):
            return
        key = attributes.resource.key
        ref = attributes.resource.ref(attributes.name)
        user, namespace, old = attributes.user, attributes.namespace, attributes.old
        if key in (ROLES, CLUSTER_ROLES):
            await self._guard.check_role(user, ref, namespace, value, old)
        elif key in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
            lookup = attributes.context.lookup

            def find_role(role: RoleKey) -> Object | None:
                return lookup(ROLES if role[0] else CLUSTER_ROLES, *role)

            await self._guard.check_binding(user, ref, namespace, value, old, find_role)
