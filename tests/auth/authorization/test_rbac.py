"""RBAC: matching of rules, subjects of bindings, and explanations of decisions."""

from __future__ import annotations

from typing import Any

import pytest
from support.authorization import GROUP, World, ask, paths, rule, user

from fairlead.auth.authorization.rbac import CLUSTER_ROLES, ROLE_BINDINGS

ALICE = user("alice", "dev", "system:authenticated")


@pytest.mark.parametrize(
    ("granted", "verb", "what", "name", "allowed"),
    [
        (rule("core", "pods", "get list"), "get", "pods", "p", True),
        (rule("core", "pods", "get list"), "watch", "pods", "", False),
        (rule("core", "pods", "get"), "get", "apps:pods", "p", False),
        (rule("core", "pods", "get"), "get", "pods/log", "p", False),
        (rule("core", "pods/log", "get"), "get", "pods/log", "p", True),
        (rule("core", "pods/log", "get"), "get", "pods", "p", False),
        (rule("core", "pods/*", "get"), "get", "pods/log", "p", False),
        (rule("core", "pods/*", "get"), "get", "pods", "p", False),
        (rule("core", "*/log", "get"), "get", "pods/log", "p", True),
        (rule("apps", "*/scale", "get"), "get", "apps:deployments/scale", "d", True),
        (rule("apps", "*/scale", "get"), "get", "apps:deployments/status", "d", False),
        (rule("apps", "*/scale", "get"), "get", "apps:deployments", "d", False),
        (rule("core", "*", "get"), "get", "pods/log", "p", True),
        (rule("*", "leases", "list"), "list", "coordination.k8s.io:leases", "", True),
        (rule("core", "configmaps", "*"), "deletecollection", "configmaps", "", True),
        (rule("core", "configmaps", "*"), "", "configmaps", "", True),
        (rule("core", "configmaps", "get", "a b"), "get", "configmaps", "a", True),
        (rule("core", "configmaps", "get", "a b"), "get", "configmaps", "c", False),
        (rule("core", "configmaps", "list", "a b"), "list", "configmaps", "", False),
        (rule("core", "configmaps", "list", "a b"), "list", "configmaps", "b", True),
        (rule("core", "configmaps", "create", "a b"), "create", "configmaps", "", False),
        (
            rule("core", "userextras/a.b/c", "impersonate"),
            "impersonate",
            "userextras/a.b/c",
            "v",
            True,
        ),
        (rule("core", "*", "*"), "get", "/healthz", "", False),
        (paths("/healthz /version/", "get"), "get", "/healthz", "", True),
        (paths("/healthz", "get"), "post", "/healthz", "", False),
        (paths("/healthz", "get"), "get", "/healthz/", "", False),
        (paths("/healthz", "get"), "get", "/healthz/log", "", False),
        (paths("/healthz/*", "get"), "get", "/healthz/log", "", True),
        (paths("/healthz/*", "get"), "get", "/healthz/", "", True),
        (paths("/healthz/*", "get"), "get", "/healthz", "", False),
        (paths("/healthz*", "get"), "get", "/healthz", "", True),
        (paths("/a*b", "get"), "get", "/axb", "", False),
        (paths("*", "*"), "delete", "/anything", "", True),
        (paths("*", "*"), "get", "pods", "", False),
    ],
)
def test_rules(granted: dict[str, object], verb: str, what: str, name: str, allowed: bool) -> None:
    world = World()
    world.role("r", granted)
    world.bind("b", "r", "user:alice")
    assert world.allows(ALICE, verb, what, "ns", name) is allowed


@pytest.mark.parametrize(
    ("bound", "name", "groups", "allowed"),
    [
        ("user:alice", "alice", (), True),
        ("user:alice", "bob", ("alice",), False),
        ("user:*", "alice", (), False),
        ("group:dev", "alice", ("dev",), True),
        ("group:dev", "dev", (), False),
        ("group:system:authenticated", "system:anonymous", ("system:unauthenticated",), False),
        ("account:x/robot", "system:serviceaccount:x:robot", (), True),
        ("account:x/robot", "system:serviceaccount:ns:robot", (), False),
        ("account:robot", "system:serviceaccount:ns:robot", (), True),
        ("account:robot", "robot", (), False),
        ("user:system:serviceaccount:x:robot", "system:serviceaccount:x:robot", (), True),
    ],
)
def test_subjects(bound: str, name: str, groups: tuple[str, ...], allowed: bool) -> None:
    world = World()
    world.role("r", rule("core", "pods", "get"), namespace="ns")
    world.bind("b", "r", bound, namespace="ns")
    assert world.allows(user(name, *groups), "get", "pods", "ns") is allowed


def test_an_account_without_a_namespace_is_nobody_in_a_cluster_binding() -> None:
    world = World()
    world.role("r", rule("*", "*", "*"))
    world.bind("b", "r", "account:robot")
    assert not world.allows(user("system:serviceaccount::robot"), "get", "pods")


def test_scopes() -> None:
    world = World()
    world.role("r", rule("core", "pods nodes", "get"), paths("/x", "get"))
    world.bind("b", "r", "user:alice", namespace="one", kind="ClusterRole")
    assert world.allows(ALICE, "get", "pods", "one")
    assert not world.allows(ALICE, "get", "pods", "two")
    assert not world.allows(ALICE, "get", "pods")
    assert not world.allows(ALICE, "get", "/x")
    world.bind("c", "r", "user:alice")
    assert world.allows(ALICE, "get", "pods", "two")
    assert world.allows(ALICE, "get", "pods")
    assert world.allows(ALICE, "get", "/x")


def test_reasons() -> None:
    world = World()
    world.role("r", rule("core", "pods", "get"))
    world.bind("b", "r", "group:dev", "user:alice")
    expected = 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "dev"'
    assert world.decide(ALICE, "get", "pods").reason == expected
    world.role("local", rule("core", "secrets", "get"), namespace="ns")
    world.bind("c", "local", "account:robot", namespace="ns")
    decision = world.decide(user("system:serviceaccount:ns:robot"), "get", "secrets", "ns")
    assert decision.reason == (
        'RBAC: allowed by RoleBinding "c/ns" of Role "local" to ServiceAccount "robot/ns"'
    )


def test_missing_roles_are_told() -> None:
    world = World()
    world.bind("b", "nowhere", "user:alice")
    reason = world.decide(ALICE, "get", "pods", "ns").reason
    assert reason == f'RBAC: clusterrole.{GROUP} "nowhere" not found'
    world.bind("c", "lost", "user:alice", namespace="ns")
    world.bind("d", "lost", "user:alice", namespace="ns")
    reason = world.decide(ALICE, "get", "pods", "ns").reason
    assert reason == (
        f'RBAC: [clusterrole.{GROUP} "nowhere" not found, role.{GROUP} "lost" not found]'
    )
    world.role("good", rule("core", "pods", "get"))
    world.bind("e", "good", "user:alice")
    assert world.allows(ALICE, "get", "pods", "ns")


def test_a_reference_that_leads_nowhere_does_not_lead_to_a_cluster_role() -> None:
    world = World()
    world.role("r", rule("*", "*", "*"))
    world.bind("b", "r", "user:alice", kind="Role")
    world.bind("c", "r", "user:alice", kind="Deployment")
    assert not world.allows(ALICE, "get", "pods")
    world.bind("d", "r", "user:alice", namespace="ns", kind="Role")
    assert not world.allows(ALICE, "get", "pods", "ns")


async def _ask(world: World, *question: Any) -> bool:
    return await world.authorizer.allowed(ask(*question))


def test_changes_take_effect_at_once() -> None:
    import asyncio

    async def steps() -> None:
        world = World()
        question = (ALICE, "get", "pods", "ns")
        assert not await _ask(world, *question)
        world.role("r", rule("core", "pods", "get"))
        assert not await _ask(world, *question)
        world.bind("b", "r", "user:alice", namespace="ns", kind="ClusterRole")
        assert await _ask(world, *question)
        assert world.authorizer.decide_cached(ask(*question)) is not None
        world.role("r", rule("core", "pods", "list"))
        assert world.authorizer.decide_cached(ask(*question)) is None
        assert not await _ask(world, *question)
        world.role("r", rule("core", "pods", "get"))
        world.bind("b", "r", "user:bob", namespace="ns", kind="ClusterRole")
        assert not await _ask(world, *question)
        world.bind("b", "r", "user:bob", "user:alice", namespace="ns", kind="ClusterRole")
        assert await _ask(world, *question)
        world.objects.remove(ROLE_BINDINGS, "ns", "b")
        assert not await _ask(world, *question)
        world.bind("b", "r", "user:alice", namespace="ns", kind="ClusterRole")
        world.objects.remove(CLUSTER_ROLES, "", "r")
        assert not await _ask(world, *question)

    asyncio.run(steps())


def test_what_exists_before_following_counts() -> None:
    world = World()
    world.role("r", rule("core", "pods", "get"))
    world.bind("b", "r", "user:alice")
    later = World()
    later.objects = world.objects
    later.rbac.follow(world.objects.follow)
    assert later.rbac.decide(ask(ALICE, "get", "pods")).allowed


def test_rules_for_a_user() -> None:
    world = World()
    world.role("r", rule("core", "pods", "get list"), paths("/x", "get"))
    world.role(
        "s", rule("core", "pods", "get"), rule("core", "secrets", "get", "a"), namespace="ns"
    )
    world.bind("b", "r", "user:alice", "group:dev")
    world.bind("c", "s", "group:dev", namespace="ns")
    world.bind("d", "none", "group:dev", namespace="ns")
    user_rules = world.authorizer.rules_for(ALICE, "ns")
    assert user_rules.resource_rules == [
        {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]},
    ]
    assert user_rules.path_rules == [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]
    assert not user_rules.incomplete
    assert user_rules.error == f'role.{GROUP} "none" not found'
    assert world.authorizer.rules_for(user("bob"), "ns").resource_rules == []
