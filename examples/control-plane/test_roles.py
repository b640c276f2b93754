"""The permissions of the roles."""

from __future__ import annotations

import pytest
from platform_support import Platform

from fairlead.client.errors import Forbidden
from fairlead.testing import Cluster, User

GROUP = "rbac.authorization.k8s.io"


def test_members_of_a_namespace_order_and_others_do_not(
    cluster: Cluster, platform: Platform
) -> None:
    bind(cluster, platform.namespace, "edit", "ann")
    bind(cluster, platform.namespace, "view", "vera")
    ann, vera, olaf = (cluster.as_user(name) for name in ("ann", "vera", "olaf"))
    order = platform.database()
    ann.client.resource("databases").create(order, platform.namespace)
    assert vera.client.resource("databases").get("orders", platform.namespace)
    for user in (vera, olaf):
        with pytest.raises(Forbidden):
            user.client.resource("databases").delete("orders", platform.namespace)
    with pytest.raises(Forbidden):
        ann.client.resource("databases").create(order, "default")
    with pytest.raises(Forbidden):
        olaf.client.resource("databases").list(platform.namespace)


def test_plans_and_statuses_are_read_only_for_members(cluster: Cluster, platform: Platform) -> None:
    bind(cluster, platform.namespace, "edit", "ann")
    ann = cluster.as_user("ann").client
    platform.order()
    assert ann.resource("plans").get(platform.namespace)["spec"]["maxStorage"] == 20
    with pytest.raises(Forbidden):
        ann.resource("plans").delete(platform.namespace)
    mine = {"status": {"endpoint": "elsewhere"}}
    with pytest.raises(Forbidden):
        ann.resource("databases").patch("orders", mine, platform.namespace, subresource="status")
    patched = ann.resource("databases").patch("orders", mine, platform.namespace)
    assert "elsewhere" not in str(patched.get("status"))


def test_the_provisioner_may_do_no_more_than_it_has_to(account: User, namespace: str) -> None:
    for word in ("databases", "plans", "secrets"):
        with pytest.raises(Forbidden):
            account.client.resource(word).delete("orders", namespace)
    with pytest.raises(Forbidden):
        account.client.resource("leases").list(namespace)


def bind(cluster: Cluster, namespace: str, role: str, user: str) -> None:
    binding = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{user}-{role}"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
    }
    cluster.apply(binding, namespace)
