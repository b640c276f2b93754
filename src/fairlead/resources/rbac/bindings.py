"""The behaviour of RoleBinding and ClusterRoleBinding: grant a role to subjects. The role is
immutable.
"""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import dns_subdomain, path_segment
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, go_composite, quote
from fairlead.resources.columns.cell_text import items, mapping
from fairlead.resources.columns.model import AGE, NAME, Value, table, text
from fairlead.resources.context import Context
from fairlead.resources.storage.shared import OrderedBehaviour, Step

SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


class RoleBindingBehaviour(OrderedBehaviour):
    name_rule = staticmethod(path_segment)
    update_order = (
        Step.METADATA,
        Step.RULES,
        Step.METADATA,
        Step.RULES,
        Step.METADATA_CHANGE,
        Step.CHANGE,
    )
    once_order = (Step.METADATA, Step.RULES, Step.METADATA_CHANGE, Step.CHANGE)

    def fill_defaults(self, value: Object, context: Context) -> None:
        for subject in value.get("subjects") or ():
            if not subject.get("apiGroup") and subject["kind"] in ("User", "Group"):
                subject["apiGroup"] = _group(context)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        namespaced, group = self.resource.namespaced, _group(context)
        kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
        _check_role(value["roleRef"], kinds, group, causes)
        for index, subject in enumerate(value.get("subjects") or ()):
            _check_subject(subject, namespaced, group, f"subjects[{index}]", causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        role = value["roleRef"]
        if role != old["roleRef"]:
            names = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
            shown = {field: quote(role[name]) for field, name in names.items()}
            causes.invalid("roleRef", go_composite("rbac.RoleRef", shown), "cannot change roleRef")


def _group(context: Context) -> str:
    return context.dialect.group_name("rbac.authorization.@")


def _check_role(role: dict[str, Any], kinds: tuple[str, ...], group: str, causes: Causes) -> None:
    if role["apiGroup"] != group:
        causes.unsupported("roleRef.apiGroup", role["apiGroup"], [group])
    if role["kind"] not in kinds:
        causes.unsupported("roleRef.kind", role["kind"], kinds)
    if not role["name"]:
        causes.required("roleRef.name")
    else:
        causes.invalid_each("roleRef.name", role["name"], path_segment(role["name"]))


def _check_subject(
    subject: dict[str, Any], namespaced: bool, group: str, path: str, causes: Causes
) -> None:
    name, kind, api_group = subject["name"], subject["kind"], subject.get("apiGroup", "")
    if not name:
        causes.required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            causes.invalid_each(f"{path}.name", name, dns_subdomain(name))
        if api_group:
            causes.unsupported(f"{path}.apiGroup", api_group, [""])
        if not namespaced and not subject.get("namespace"):
            causes.required(f"{path}.namespace")
    elif kind in SUBJECT_KINDS:
        if api_group != group:
            causes.unsupported(f"{path}.apiGroup", api_group, [group])
    else:
        causes.unsupported(f"{path}.kind", kind, SUBJECT_KINDS)


# Columns of role bindings; roles have the default columns


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
        _subject(subject) for subject in items(binding, "subjects") if subject.get("kind") == kind
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
