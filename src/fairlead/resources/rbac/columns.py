"""Columns of role bindings; roles have the default columns."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import items, mapping
from fairlead.resources.columns.model import AGE, NAME, Object, Value, table, text


def _role(binding: Object) -> str:
    role = mapping(binding, "roleRef")
    return f"{role.get('kind') or ''}/{role.get('name') or ''}"


def _subject(subject: Object) -> str:
    name = subject.get("name") or ""
    if subject.get("kind") != "ServiceAccount":
        return str(name)
    return f"{subject.get('namespace') or ''}/{name}"


def _subjects(kind: str) -> Value:
    return lambda binding: ", ".join(
        _subject(one) for one in items(binding, "subjects") if one.get("kind") == kind
    )


_BINDING = table(
    NAME,
    text("Role", _role, "Role that is granted"),
    AGE,
    text("Users", _subjects("User"), "Users it is granted to", wide=True),
    text("Groups", _subjects("Group"), "Groups it is granted to", wide=True),
    text(
        "ServiceAccounts",
        _subjects("ServiceAccount"),
        "Service accounts it is granted to",
        wide=True,
    ),
)

PRINTERS = {
    "rbac/v1/rolebindings": _BINDING,
    "rbac/v1/clusterrolebindings": _BINDING,
}
