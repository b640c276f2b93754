"""Nobody can grant permissions that they do not have."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.authorization import GROUP, World, paths, rule, subject, user

from fairlead.auth.authorization.escalation import EscalationGuard
from fairlead.auth.authorization.rbac import CLUSTER_ROLES, ROLES
from fairlead.base.errors import ResourceRef, StatusError

Object = dict[str, Any]

ALICE = user("alice", "dev", "system:authenticated")
HEAD = (
    'user "alice" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions'
    " not currently held:\n"
)


class Guarded(World):
    def __init__(self) -> None:
        super().__init__()
        self.guard = EscalationGuard(self.authorizer, self.rbac)
        self.role("own", rule("core", "pods", "get list"), rule("core", "secrets", "get", "a b"),
                  paths("/x/*", "get"))  # fmt: skip
        self.bind("own", "own", "user:alice", namespace="ns", kind="ClusterRole")

    def write_role(self, *rules: Object, old: Object | None = None, **parts: Any) -> str:
        value = {"metadata": {"name": "new"}, "rules": list(rules), **parts}
        ref = ResourceRef(GROUP, "roles", "new")
        return self._refused(self.guard.check_role(ALICE, ref, "ns", value, old))

    def write_binding(
        self, kind: str, name: str, who: Any = ALICE, old: Object | None = None, where: str = "ns"
    ) -> str:
        role = {"apiGroup": GROUP, "kind": kind, "name": name}
        value = {"metadata": {"name": "new"}, "roleRef": role, "subjects": [subject("user:bob")]}
        ref = ResourceRef(GROUP, "rolebindings", "new")

        def find(key: tuple[str, str]) -> Object | None:
            return self.objects.find(ROLES if key[0] else CLUSTER_ROLES, *key)

        return self._refused(self.guard.check_binding(who, ref, where, value, old, find))

    def _refused(self, check: Any) -> str:
        try:
            asyncio.run(check)
        except StatusError as error:
            return error.message
        return ""


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()


def refused(resource: str, missing: str) -> str:
    return f'{resource}.{GROUP} "new" is forbidden: {HEAD}{missing}'


@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        (rule("core", "pods", "get"), ""),
        (rule("core", "pods", "get list"), ""),
        (rule("core", "pods", "get", "x"), ""),
        (rule("core", "secrets", "get", "a"), ""),
        (rule("core", "secrets", "get", "a c"),
         '{APIGroups:[""], Resources:["secrets"], ResourceNames:["c"], Verbs:["get"]}'),
        (rule("core", "secrets", "get"), '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'),
        (rule("core", "pods", "get delete create"),
         '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "create"]}'),
        (rule("core apps", "pods pods/log", "get"),
         '{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}\n'
         '{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}\n'
         '{APIGroups:["apps"], Resources:["pods/log"], Verbs:["get"]}'),
        (rule("*", "*", "*"), '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}'),
        (paths("/x", "get"), '{NonResourceURLs:["/x"], Verbs:["get"]}'),
        (paths("*", "get"), '{NonResourceURLs:["*"], Verbs:["get"]}'),
    ],
)  # fmt: skip
def test_roles(guarded: Guarded, wanted: Object, missing: str) -> None:
    expected = refused("roles", missing) if missing else ""
    assert guarded.write_role(wanted) == expected


def test_the_verb_escalate(guarded: Guarded) -> None:
    guarded.role("esc", rule(GROUP, "roles", "escalate"), namespace="ns")
    guarded.bind("esc", "esc", "user:alice", namespace="ns")
    assert guarded.write_role(rule("*", "*", "*")) == ""
    guarded.role("esc", rule(GROUP, "roles", "escalate", "new"), namespace="ns")
    assert guarded.write_role(rule("*", "*", "*")) != ""
    old = {"metadata": {"name": "new"}, "rules": None}
    assert guarded.write_role(rule("*", "*", "*"), old=old) == ""


def test_aggregation_needs_everything(guarded: Guarded) -> None:
    aggregation = {"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}
    expected = (
        f'roles.{GROUP} "new" is forbidden: must have cluster-admin privileges to use the'
        " aggregationRule"
    )
    assert guarded.write_role(aggregationRule=aggregation) == expected
    old = {"metadata": {"name": "new"}, "rules": [], "aggregationRule": aggregation}
    assert guarded.write_role(old=old) == expected
    guarded.role("all", rule("*", "*", "*"), paths("*", "*"))
    guarded.bind("all", "all", "user:alice")
    assert guarded.write_role(aggregationRule=aggregation) == ""


def test_what_the_garbage_collector_changes_is_no_escalation(guarded: Guarded) -> None:
    metadata: Object = {"name": "new", "finalizers": ["x/y"]}
    old = {"metadata": metadata, "rules": [rule("*", "*", "*")]}
    assert guarded.write_role(rule("*", "*", "*"), old=old) == ""
    metadata["labels"] = {"a": "b"}
    assert guarded.write_role(rule("*", "*", "*"), old=old) != ""


def test_bindings(guarded: Guarded) -> None:
    guarded.role("small", rule("core", "pods", "get"), namespace="ns")
    guarded.role("big", rule("core", "pods", "get delete"), namespace="ns")
    assert guarded.write_binding("Role", "small") == ""
    missing = '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}'
    assert guarded.write_binding("Role", "big") == refused("rolebindings", missing)
    assert guarded.write_binding("Role", "none") == f'roles.{GROUP} "none" not found'
    assert guarded.write_binding("ClusterRole", "none") == f'clusterroles.{GROUP} "none" not found'
    masters = user("root", "system:masters")
    assert guarded.write_binding("Role", "big", masters) == ""
    assert guarded.write_binding("Role", "none", masters) == ""


def test_a_role_that_cannot_be_looked_for(guarded: Guarded) -> None:
    guarded.role("big", rule("*", "*", "*"))
    text = guarded.write_binding("Role", "big", where="")
    assert text == "Namespace parameter required."
    assert guarded.write_binding("ClusterRole", "") == "Name parameter required."


def test_the_verb_bind(guarded: Guarded) -> None:
    guarded.role("big", rule("*", "*", "*"))
    guarded.role("other", rule("*", "*", "*"))
    guarded.role("binder", rule(GROUP, "clusterroles", "bind", "big gone"), namespace="ns")
    guarded.bind("binder", "binder", "user:alice", namespace="ns")
    assert guarded.write_binding("ClusterRole", "big") == ""
    assert guarded.write_binding("ClusterRole", "gone") == ""
    assert guarded.write_binding("ClusterRole", "other") != ""
    guarded.role("big", rule("*", "*", "*"), namespace="ns")
    assert guarded.write_binding("Role", "big") != ""


def test_missing_roles_of_the_user_are_told(guarded: Guarded) -> None:
    guarded.bind("lost", "lost", "user:alice")
    text = guarded.write_role(rule("core", "nodes", "get"))
    assert text.endswith(f'; resolution errors: [clusterroles.{GROUP} "lost" not found]')


def test_a_rule_too_large_to_compare_is_refused(guarded: Guarded) -> None:
    many = " ".join(f"x{number}" for number in range(400))
    assert "too many permissions" in guarded.write_role(rule(many, many, many))
