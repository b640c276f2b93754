"""Kinds of the rbac group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.rbac.bindings import RoleBindingBehaviour
from fairlead.kinds.rbac.roles import RoleBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "rbac/v1/clusterrolebindings": RoleBindingBehaviour,
    "rbac/v1/clusterroles": RoleBehaviour,
    "rbac/v1/rolebindings": RoleBindingBehaviour,
    "rbac/v1/roles": RoleBehaviour,
}
