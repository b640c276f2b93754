"""Kinds of the rbac group."""

BEHAVIOURS: dict[str, str] = {
    "rbac/v1/clusterrolebindings": "bindings.RoleBindingBehaviour",
    "rbac/v1/clusterroles": "roles.RoleBehaviour",
    "rbac/v1/rolebindings": "bindings.RoleBindingBehaviour",
    "rbac/v1/roles": "roles.RoleBehaviour",
}
