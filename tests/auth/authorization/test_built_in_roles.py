"""What the built-in roles view, edit, admin and cluster-admin allow, cell by cell."""

from __future__ import annotations

import asyncio

import pytest
from support.authorization import GROUP, World, aggregate, ask, user

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.reconciliation import reconcile_bootstrap_objects
from fairlead.base.dialect import KUBERNETES

READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete", "deletecollection")
ROLES = ("view", "edit", "admin", "cluster-admin")

# What is asked, the verbs, and from which of the four roles on it is allowed.
MATRIX = [
    ("pods", READ, "view"),
    ("pods", WRITE, "edit"),
    ("pods/log", ("get",), "view"),
    ("pods/status", ("get",), "view"),
    ("pods/status", ("update", "patch"), "cluster-admin"),
    ("pods/exec", ("get", "create"), "edit"),
    ("pods/attach", ("get", "create"), "edit"),
    ("pods/portforward", ("create",), "edit"),
    ("pods/proxy", ("get", "create"), "edit"),
    ("pods/eviction", ("create",), "edit"),
    ("pods/binding", ("create",), "cluster-admin"),
    ("pods/ephemeralcontainers", ("patch",), "cluster-admin"),
    ("configmaps", READ, "view"),
    ("configmaps", WRITE, "edit"),
    ("secrets", READ, "edit"),
    ("secrets", WRITE, "edit"),
    ("serviceaccounts", READ, "view"),
    ("serviceaccounts", (*WRITE, "impersonate"), "edit"),
    ("serviceaccounts/token", ("create",), "edit"),
    ("services", READ, "view"),
    ("services", WRITE, "edit"),
    ("services/proxy", ("get", "update"), "edit"),
    ("services/status", ("get",), "view"),
    ("services/status", ("update",), "cluster-admin"),
    ("endpoints", READ, "view"),
    ("endpoints", WRITE, "cluster-admin"),
    ("events", READ, "view"),
    ("events", WRITE, "edit"),
    ("limitranges", READ, "view"),
    ("limitranges", WRITE, "cluster-admin"),
    ("resourcequotas", READ, "view"),
    ("resourcequotas", WRITE, "cluster-admin"),
    ("namespaces", ("get",), "view"),
    ("namespaces", ("update", "delete"), "cluster-admin"),
    ("nodes", READ, "cluster-admin"),
    ("persistentvolumeclaims", READ, "view"),
    ("persistentvolumeclaims", WRITE, "edit"),
    ("persistentvolumes", READ, "cluster-admin"),
    ("apps:deployments", READ, "view"),
    ("apps:deployments", WRITE, "edit"),
    ("apps:deployments/scale", ("get",), "view"),
    ("apps:deployments/scale", ("update", "patch"), "edit"),
    ("apps:controllerrevisions", READ, "view"),
    ("apps:controllerrevisions", WRITE, "cluster-admin"),
    ("batch:jobs", READ, "view"),
    ("batch:jobs", WRITE, "edit"),
    ("batch:jobs/status", ("update",), "cluster-admin"),
    ("autoscaling:horizontalpodautoscalers", WRITE, "edit"),
    ("policy:poddisruptionbudgets", READ, "view"),
    ("policy:poddisruptionbudgets", WRITE, "edit"),
    ("networking.k8s.io:ingresses", WRITE, "edit"),
    ("networking.k8s.io:networkpolicies", READ, "view"),
    ("discovery.k8s.io:endpointslices", READ, "view"),
    ("discovery.k8s.io:endpointslices", WRITE, "cluster-admin"),
    ("coordination.k8s.io:leases", READ, "edit"),
    ("coordination.k8s.io:leases", WRITE, "edit"),
    (f"{GROUP}:roles", READ, "admin"),
    (f"{GROUP}:roles", WRITE, "admin"),
    (f"{GROUP}:rolebindings", WRITE, "admin"),
    (f"{GROUP}:roles", ("escalate", "bind"), "cluster-admin"),
    ("authorization.k8s.io:localsubjectaccessreviews", ("create",), "admin"),
    ("example.com:widgets", READ, "cluster-admin"),
]


@pytest.fixture(scope="module")
def world() -> World:
    world = World()
    asyncio.run(reconcile_bootstrap_objects(KUBERNETES, world.objects))
    aggregate(world.objects)
    for role in ROLES:
        world.bind(f"as-{role}", role, f"user:{role}", namespace="ns", kind="ClusterRole")
    return world


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("what", "verbs", "minimum"), MATRIX)
def test_built_in_role(
    world: World, role: str, what: str, verbs: tuple[str, ...], minimum: str
) -> None:
    allowed = ROLES.index(role) >= ROLES.index(minimum)
    for verb in verbs:
        decision = world.rbac.decide(ask(user(role), verb, what, "ns", "x"))
        assert decision.allowed is allowed, verb
        elsewhere = world.rbac.decide(ask(user(role), verb, what, "other", "x"))
        assert not elsewhere.allowed, verb


AUTHENTICATED = user("somebody", "system:authenticated")
ANONYMOUS = user("system:anonymous", "system:unauthenticated")
MONITOR = user("scraper", "system:authenticated", "system:monitoring")
SCHEDULER = user("system:kube-scheduler", "system:authenticated")


@pytest.mark.parametrize(
    ("who", "verb", "what", "allowed"),
    [
        (ANONYMOUS, "get", "/healthz", True),
        (ANONYMOUS, "get", "/livez", True),
        (ANONYMOUS, "get", "/readyz", True),
        (ANONYMOUS, "get", "/version", True),
        (ANONYMOUS, "get", "/healthz/ping", False),
        (ANONYMOUS, "get", "/api", False),
        (ANONYMOUS, "get", "/metrics", False),
        (ANONYMOUS, "post", "/healthz", False),
        (ANONYMOUS, "create", "authorization.k8s.io:selfsubjectaccessreviews", False),
        (AUTHENTICATED, "get", "/api/v1", True),
        (AUTHENTICATED, "get", "/apis/apps", True),
        (AUTHENTICATED, "get", "/openapi/v2", True),
        (AUTHENTICATED, "get", "/metrics", False),
        (AUTHENTICATED, "create", "authorization.k8s.io:selfsubjectaccessreviews", True),
        (AUTHENTICATED, "create", "authorization.k8s.io:subjectaccessreviews", False),
        (AUTHENTICATED, "list", "namespaces", False),
        (MONITOR, "get", "/metrics", True),
        (MONITOR, "get", "/livez/etcd", True),
        (SCHEDULER, "create", "pods/binding", True),
        (SCHEDULER, "create", "pods", False),
        (user("system:serviceaccount:kube-system:job-controller"), "patch", "batch:jobs", True),
        (user("system:serviceaccount:default:job-controller"), "patch", "batch:jobs", False),
        (user("system:node:n", "system:nodes"), "get", "pods", False),
    ],
)
def test_bootstrap_bindings(world: World, who: User, verb: str, what: str, allowed: bool) -> None:
    assert world.rbac.decide(ask(who, verb, what)).allowed is allowed
