"""Builders of service accounts, roles and bindings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fairlead.base.dialect import Dialect
from fairlead.cli.create.form import Flag, Form, FormArguments, Object, pairs
from fairlead.cli.errors import CommandError

_GROUP = "rbac.authorization.@"
_PATH_VERBS = ("get", "post", "put", "delete", "patch", "head", "options", "*")


async def _service_account(arguments: FormArguments) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": arguments.name}}


def _of_group(arguments: FormArguments, kind: str, **fields: object) -> Object:
    version = arguments.dialect.group_name(f"{_GROUP}/v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": arguments.name}, **fields}


def _verbs(arguments: FormArguments) -> list[str]:
    verbs = list(dict.fromkeys(arguments.values("verb")))
    return ["*"] if "*" in verbs else verbs


async def _resource_rules(arguments: FormArguments, verbs: list[str]) -> list[Object]:
    """One rule per API group of the resources."""
    by_group: dict[str, list[str]] = {}
    for text in dict.fromkeys(arguments.values("resource")):
        word, slash, sub = text.partition("/")
        if word == "*":
            group, name = "", "*"
        else:
            type = await arguments.client.discovery.find(word)
            group, name = type.group, type.name
        by_group.setdefault(group, []).append(name + slash + sub)
    names = list(dict.fromkeys(arguments.values("resource_name")))
    return [
        {
            "apiGroups": [group],
            "resources": resources,
            **({"resourceNames": names} if names else {}),
            "verbs": verbs,
        }
        for group, resources in sorted(by_group.items())
    ]


async def _role(arguments: FormArguments) -> Object:
    verbs = _verbs(arguments)
    if not verbs:
        raise CommandError("verbs are missing: --verb=get,list")
    if not arguments.values("resource"):
        raise CommandError("resources are missing: --resource=pods")
    return _of_group(arguments, "Role", rules=await _resource_rules(arguments, verbs))


async def _cluster_role(arguments: FormArguments) -> Object:
    verbs, resources = _verbs(arguments), arguments.values("resource")
    paths, aggregated = arguments.values("non_resource_url"), arguments.values("aggregation_rule")
    if aggregated:
        if verbs or resources or paths or arguments.values("resource_name"):
            raise CommandError(
                "--aggregation-rule takes the rules of other roles: leave out verbs, resources"
                " and paths"
            )
        labels = pairs(aggregated, "{} is not a label with its value")
        return _of_group(
            arguments,
            "ClusterRole",
            rules=[],
            aggregationRule={"clusterRoleSelectors": [{"matchLabels": labels}]},
        )
    if not verbs:
        raise CommandError("verbs are missing: --verb=get,list")
    if not resources and not paths:
        raise CommandError("give --resource or --non-resource-url")
    rules = await _resource_rules(arguments, verbs)
    if paths:
        for verb in verbs:
            if verb not in _PATH_VERBS:
                raise CommandError(f"paths do not have the verb {verb}")
        rules.append({"nonResourceURLs": paths, "verbs": verbs})
    return _of_group(arguments, "ClusterRole", rules=rules)


def subjects_of(
    dialect: Dialect, users: Sequence[str], groups: Sequence[str], accounts: Sequence[str]
) -> list[Object]:
    """The subjects of a binding; raises CommandError for an account that is not
    NAMESPACE:NAME."""
    group = dialect.group_name(_GROUP)
    subjects: list[Object] = [
        {"apiGroup": group, "kind": kind, "name": name}
        for kind, names in (("User", users), ("Group", groups))
        for name in names
    ]
    for text in accounts:
        namespace, colon, name = text.partition(":")
        if not colon or not namespace or not name or ":" in name:
            raise CommandError("serviceaccount must be <namespace>:<name>")
        subjects.append({"kind": "ServiceAccount", "name": name, "namespace": namespace})
    return subjects


async def _binding(arguments: FormArguments, kind: str) -> Object:
    role = arguments.text("role") if kind == "RoleBinding" else ""
    cluster_role = arguments.text("clusterrole")
    if kind == "ClusterRoleBinding":
        arguments.required("clusterrole")
    elif bool(role) == bool(cluster_role):
        raise CommandError("give one role: --clusterrole or --role")
    reference = {
        "apiGroup": arguments.dialect.group_name(_GROUP),
        "kind": "Role" if role else "ClusterRole",
        "name": role or cluster_role,
    }
    subjects = subjects_of(
        arguments.dialect, *(arguments.values(kind) for kind in ("user", "group", "serviceaccount"))
    )
    return _of_group(
        arguments, kind, roleRef=reference, **({"subjects": subjects} if subjects else {})
    )


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
