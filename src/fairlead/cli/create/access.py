"""Builders of service accounts, roles and bindings."""

from __future__ import annotations

from functools import partial

from fairlead.cli.create.form import Flag, Form, Making, Object, pairs
from fairlead.cli.errors import CommandError

_GROUP = "rbac.authorization.@"
_PATH_VERBS = ("get", "post", "put", "delete", "patch", "head", "options", "*")


async def _service_account(at: Making) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": at.name}}


def _of_group(at: Making, kind: str, **fields: object) -> Object:
    version = at.dialect.group_name(f"{_GROUP}/v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": at.name}, **fields}


def _verbs(at: Making) -> list[str]:
    found = list(dict.fromkeys(at.values("verb")))
    return ["*"] if "*" in found else found


async def _resource_rules(at: Making, verbs: list[str]) -> list[Object]:
    """One rule per API group of the resources."""
    by_group: dict[str, list[str]] = {}
    for text in dict.fromkeys(at.values("resource")):
        word, slash, sub = text.partition("/")
        if word == "*":
            group, name = "", "*"
        else:
            type = await at.client.discovery.find(word)
            group, name = type.group, type.name
        by_group.setdefault(group, []).append(name + slash + sub)
    names = list(dict.fromkeys(at.values("resource_name")))
    return [
        {
            "apiGroups": [group],
            "resources": resources,
            **({"resourceNames": names} if names else {}),
            "verbs": verbs,
        }
        for group, resources in sorted(by_group.items())
    ]


async def _role(at: Making) -> Object:
    verbs = _verbs(at)
    if not verbs:
        raise CommandError("verbs are missing: --verb=get,list")
    if not at.values("resource"):
        raise CommandError("resources are missing: --resource=pods")
    return _of_group(at, "Role", rules=await _resource_rules(at, verbs))


async def _cluster_role(at: Making) -> Object:
    verbs, resources = _verbs(at), at.values("resource")
    paths, aggregated = at.values("non_resource_url"), at.values("aggregation_rule")
    if aggregated:
        if verbs or resources or paths or at.values("resource_name"):
            raise CommandError(
                "--aggregation-rule takes the rules of other roles: leave out verbs, resources"
                " and paths"
            )
        labels = pairs(aggregated, "{} is not a label with its value")
        return _of_group(
            at,
            "ClusterRole",
            rules=[],
            aggregationRule={"clusterRoleSelectors": [{"matchLabels": labels}]},
        )
    if not verbs:
        raise CommandError("verbs are missing: --verb=get,list")
    if not resources and not paths:
        raise CommandError("give --resource or --non-resource-url")
    rules = await _resource_rules(at, verbs)
    if paths:
        for verb in verbs:
            if verb not in _PATH_VERBS:
                raise CommandError(f"paths do not have the verb {verb}")
        rules.append({"nonResourceURLs": paths, "verbs": verbs})
    return _of_group(at, "ClusterRole", rules=rules)


def _subjects(at: Making) -> list[Object]:
    group = at.dialect.group_name(_GROUP)
    found: list[Object] = [
        {"apiGroup": group, "kind": kind, "name": name}
        for kind, flag in (("User", "user"), ("Group", "group"))
        for name in at.values(flag)
    ]
    for text in at.values("serviceaccount"):
        namespace, colon, name = text.partition(":")
        if not colon or not namespace or not name or ":" in name:
            raise CommandError("serviceaccount must be <namespace>:<name>")
        found.append({"kind": "ServiceAccount", "name": name, "namespace": namespace})
    return found


async def _binding(at: Making, kind: str) -> Object:
    role = at.text("role") if kind == "RoleBinding" else ""
    cluster_role = at.text("clusterrole")
    if kind == "ClusterRoleBinding":
        at.required("clusterrole")
    elif bool(role) == bool(cluster_role):
        raise CommandError("give one role: --clusterrole or --role")
    reference = {
        "apiGroup": at.dialect.group_name(_GROUP),
        "kind": "Role" if role else "ClusterRole",
        "name": role or cluster_role,
    }
    subjects = _subjects(at)
    return _of_group(at, kind, roleRef=reference, **({"subjects": subjects} if subjects else {}))


_RULES = (
    Flag("verb", "allowed verbs", "VERB", many=True),
    Flag("resource", "resources of the rule", "KIND[.GROUP][/SUBRESOURCE]", many=True),
    Flag("resource_name", "only objects of these names", "NAME", many=True),
)
_SUBJECTS = (
    Flag("clusterrole", "cluster role to bind", "NAME"),
    Flag("user", "bind to this user", "NAME", many=True),
    Flag("group", "bind to this group", "NAME", many=True),
    Flag("serviceaccount", "bind to this service account", "NAMESPACE:NAME", many=True),
)
FORMS = {
    "serviceaccount": Form(
        "a service account", _service_account, (), "failed to create serviceaccount: "
    ),
    "role": Form("a role", _role, _RULES),
    "clusterrole": Form(
        "a cluster role",
        _cluster_role,
        (
            *_RULES,
            Flag("non_resource_url", "non-resource URLs", "PATH", many=True),
            Flag(
                "aggregation_rule",
                "aggregate the rules of roles with these labels",
                "KEY=VALUE",
                many=True,
            ),
        ),
    ),
    "rolebinding": Form(
        "a role binding",
        partial(_binding, kind="RoleBinding"),
        (Flag("role", "role to bind", "NAME"), *_SUBJECTS),
        "failed to create rolebinding: ",
    ),
    "clusterrolebinding": Form(
        "a cluster role binding",
        partial(_binding, kind="ClusterRoleBinding"),
        _SUBJECTS,
        "failed to create clusterrolebinding: ",
    ),
}
