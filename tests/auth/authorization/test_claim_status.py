"""Changes of a claim's status need permissions besides that for the status."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import MERGE_PATCH, Answer
from support.namespaces import Space, random_word

Object = dict[str, Any]
GROUP, RBAC = "resource.k8s.io", "rbac.authorization.k8s.io"
STATUS = {"resources": ["resourceclaims/status"], "verbs": ["patch"]}
BINDING = {"resources": ["resourceclaims/binding"], "verbs": ["patch"]}
ON_NODE = [{"key": "metadata.name", "operator": "In", "values": ["n"]}]
ALLOCATION = {
    "devices": {
        "results": [
            {"request": "r", "driver": driver, "pool": "p", "device": "d"}
            for driver in ("a.com", "b.com")
        ]
    },
    "nodeSelector": {"nodeSelectorTerms": [{"matchFields": ON_NODE}]},
}


def reporting(*drivers: str) -> Object:
    return {"devices": [{"driver": each, "pool": "p", "device": "d"} for each in drivers]}


def driver_rule(*verbs: str, **fields: Any) -> Object:
    return {"resources": ["resourceclaims/driver"], "verbs": list(verbs), **fields}


class Claim:
    """A claim, and users with roles."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._collection = space.collection("resourceclaims", GROUP)
        request = {"name": "r", "exactly": {"deviceClassName": "k"}}
        self._collection.create("c", spec={"devices": {"requests": [request]}})

    def grant(self, user: str, *rules: Object) -> str:
        """Give rights to a user with this beginning of a name; returns the name."""
        name = f"{user}{random_word()}"
        role = name.replace(":", ".")
        granted = [{"apiGroups": [GROUP], **rule} for rule in rules]
        self._space.everywhere("clusterroles", RBAC).create(role, rules=granted)
        self._space.everywhere("clusterrolebindings", RBAC).create(
            role,
            roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            subjects=[{"apiGroup": RBAC, "kind": "User", "name": name}],
        )
        return name

    def patch(self, user: str, status: Object, node: str = "") -> Answer:
        headers = {"Impersonate-User": user, "Content-Type": MERGE_PATCH}
        if node:
            headers["Impersonate-Extra-authentication.kubernetes.io%2Fnode-name"] = node
        path = self._collection.item("c", "status")
        return self._space.client.request("PATCH", path, {"status": status}, headers=headers)


@pytest.fixture
def claim(space_1_36: Space) -> Claim:
    return Claim(space_1_36)


def test_an_allocation_needs_the_right_to_bind_in_all_namespaces(claim: Claim) -> None:
    plain, binder = claim.grant("plain", STATUS), claim.grant("binder", STATUS, BINDING)
    refused = claim.patch(plain, {"allocation": ALLOCATION})
    assert refused.status == 422
    ((field, _, text),) = refused.causes
    assert (field, text) == (
        "status.allocation",
        "Forbidden: changing status.allocation or status.reservedFor requires"
        ' resource="resourceclaims/binding", verb="patch" permission:'
        f' resourceclaims.resource.k8s.io is forbidden: User "{plain}" cannot patch resource'
        ' "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope',
    )
    assert claim.patch(binder, {"allocation": ALLOCATION}).status == 200
    consumer = {"resource": "pods", "name": "p", "uid": "u"}
    assert claim.patch(plain, {"reservedFor": [consumer]}).status == 422
    assert claim.patch(binder, {"reservedFor": [consumer]}).status == 200


def test_the_state_of_a_device_needs_a_right_to_its_driver(claim: Claim) -> None:
    binder = claim.grant("binder", STATUS, BINDING)
    of_driver = driver_rule("arbitrary-node:patch", resourceNames=["a.com"])
    driver = claim.grant("driver", STATUS, of_driver)
    assert claim.patch(binder, {"allocation": ALLOCATION}).status == 200
    assert claim.patch(driver, reporting("a.com")).status == 200
    refused = claim.patch(driver, reporting("a.com", "b.com"))
    assert 'verb="[arbitrary-node:patch]" permission' in refused.message
    assert '"b.com" is forbidden' in refused.message
    assert claim.patch(binder, {"devices": None}).status == 422
    assert claim.patch(binder, {"allocation": None}).status == 200


def test_an_agent_reports_on_devices_of_its_own_node(claim: Claim) -> None:
    binder = claim.grant("binder", STATUS, BINDING)
    assert claim.patch(binder, {"allocation": ALLOCATION}).status == 200
    rule = driver_rule("associated-node:patch")
    agent = claim.grant("system:serviceaccount:default:", STATUS, rule)
    assert claim.patch(agent, reporting("a.com")).status == 422
    assert claim.patch(agent, reporting("a.com"), node="other").status == 422
    assert claim.patch(agent, reporting("a.com"), node="n").status == 200
    same = claim.grant("user", STATUS, rule)
    assert claim.patch(same, reporting("b.com"), node="n").status == 422
