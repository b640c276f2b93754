"""NodeRestriction: what node agents may write."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Any

import pytest
from support.admission import PODS, World, pod, refused
from support.signing_requests import request_pem

from fairlead.admission.plugins.node_restriction import (
    ACCOUNTS,
    CSI_NODES,
    LEASES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    NodeLabels,
    NodeRestriction,
)
from fairlead.auth.authentication.user import User
from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.base.errors import StatusError
from fairlead.base.release import V1_25, V1_36, Release

NODE = User("system:node:node1", groups=("system:nodes", "system:authenticated"))
NAMELESS = User("system:node:", groups=("system:nodes",))
MIRROR = "kubernetes.io/config.mirror"
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "node1", "uid": "u", "controller": True}
STATUS, EVICTION, TOKEN = f"{PODS}/status", f"{PODS}/eviction", f"{ACCOUNTS}/token"


def _plugin(release: Release = V1_25) -> tuple[World, NodeRestriction]:
    world = World(release=release)
    world.put(NODES, {"metadata": {"name": "node1", "uid": "u"}})
    for name, node in (("mine", "node1"), ("theirs", "node2")):
        world.put(PODS, {**pod(nodeName=node), "metadata": {"name": name, "uid": f"u-{name}"}})
    return world, NodeRestriction(world.dialect, world.decide)


def _mirror(*owners: dict[str, Any], node: str = "node1", **spec: Any) -> dict[str, Any]:
    metadata = {"annotations": {MIRROR: "x"}, "ownerReferences": list(owners)}
    return {**pod(nodeName=node, **spec), "metadata": metadata}


ONLY = 'node "node1" can only create pods with'
REFERENCE = 'node "node1" can not create pods that reference'
SECRET = {"name": "v", "secret": {"secretName": "s"}}
CONFIG = {"name": "v", "configMap": {"name": "s"}}
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "s"}}
EPHEMERAL = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (_mirror(OWNER), ""),
        (
            pod(nodeName="node1"),
            f'pod does not have "{MIRROR}" annotation, node "node1" can only create mirror pods',
        ),
        (_mirror(OWNER, node="node2"), f"{ONLY} spec.nodeName set to itself"),
        (_mirror(OWNER, OWNER), f"{ONLY} a single owner reference set to itself"),
        (_mirror(), f"{ONLY} an owner reference set to itself"),
        (_mirror({**OWNER, "name": "node2"}), f"{ONLY} an owner reference set to itself"),
        (_mirror({**OWNER, "kind": "Pod"}), f"{ONLY} an owner reference set to itself"),
        (
            _mirror({**OWNER, "controller": False}),
            f"{ONLY} a controller owner reference set to itself",
        ),
        (
            _mirror({**OWNER, "blockOwnerDeletion": True}),
            'node "node1" must not set blockOwnerDeletion on an owner reference',
        ),
        (_mirror({**OWNER, "uid": "x"}), "node node1 UID mismatch: expected x got u"),
        (_mirror(OWNER, serviceAccountName="sa"), f"{REFERENCE} a service account"),
        (_mirror(OWNER, volumes=[SECRET]), f"{REFERENCE} secrets"),
        (_mirror(OWNER, volumes=[CONFIG]), f"{REFERENCE} configmaps"),
        (_mirror(OWNER, volumes=[CLAIM]), f"{REFERENCE} persistentvolumeclaims"),
        (_mirror(OWNER, volumes=[EPHEMERAL]), f"{REFERENCE} persistentvolumeclaims"),
    ],
)
def test_new_pods(value: dict[str, Any], why: str) -> None:
    world, plugin = _plugin()
    if not why:
        world.create(plugin, PODS, value, NODE)
        return
    with refused(f'pods "a" is forbidden: {why}'):
        world.create(plugin, PODS, value, NODE)


def test_a_pod_of_a_node_that_is_not_there() -> None:
    with refused('node "node1" not found', 404):
        World().create(NodeRestriction(KUBERNETES, World().decide), PODS, _mirror(OWNER), NODE)


def test_other_users_are_not_looked_at() -> None:
    world, plugin = _plugin()
    world.create(plugin, PODS, pod())
    world.create(plugin, NODES, {"metadata": {"name": "x"}})


def test_a_node_without_a_name() -> None:
    world, plugin = _plugin()
    with refused('pods "a" is forbidden: could not determine node from user "system:node:"'):
        world.create(plugin, PODS, pod(), NAMELESS)


def test_pods_are_not_updated() -> None:
    world, plugin = _plugin()
    why = 'unexpected operation "UPDATE", node "node1" can only create and delete mirror pods'
    with refused(f'pods "a" is forbidden: {why}'):
        world.update(plugin, PODS, pod(nodeName="node1"), pod(nodeName="node1"), NODE)


def test_deleting_pods() -> None:
    world, plugin = _plugin()
    world.delete(plugin, PODS, pod(nodeName="node1"), NODE)
    for other in (pod(nodeName="node2"), pod()):
        with refused(
            'pods "a" is forbidden: node "node1" can only delete pods with spec.nodeName set to'
            " itself"
        ):
            world.delete(plugin, PODS, other, NODE)


def test_pod_status() -> None:
    world, plugin = _plugin()
    mine = pod(nodeName="node1")
    world.update(plugin, STATUS, mine, {**mine, "status": {"phase": "Running"}}, NODE)
    with refused(
        'pods "a" is forbidden: node "node1" can only update pod status for pods with'
        " spec.nodeName set to itself"
    ):
        world.update(plugin, STATUS, pod(nodeName="node2"), mine, NODE)
    with refused('pods "a" is forbidden: node "node1" cannot update labels through pod status'):
        world.update(plugin, STATUS, mine, {**mine, "metadata": {"labels": {"a": "b"}}}, NODE)


def test_other_pod_subresources() -> None:
    world, plugin = _plugin()
    why = (
        "unexpected pod subresource \"ephemeralcontainers\", only 'status' and 'eviction' are"
        " allowed"
    )
    with refused(f'pods "a" is forbidden: {why}'):
        world.update(plugin, f"{PODS}/ephemeralcontainers", pod(), pod(), NODE)


def test_evictions() -> None:
    world, plugin = _plugin()
    world.create(plugin, EVICTION, {"metadata": {"name": "mine"}}, NODE)
    with refused(
        'pods "theirs" is forbidden: node node1 can only evict pods with spec.nodeName set to'
        " itself"
    ):
        world.create(plugin, EVICTION, {"metadata": {"name": "theirs"}}, NODE)
    with refused('pod "gone" not found', 404):
        world.create(plugin, EVICTION, {"metadata": {"name": "gone"}}, NODE)


def _node(name: str = "node1", labels: Any = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def _owned_node(*owners: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "node1", "ownerReferences": list(owners)}, "spec": {}}


GONE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}
TAINTS = [{"key": "a", "effect": "NoSchedule"}]
OWN_LABELS = {"kubernetes.io/hostname": "x", "node.kubernetes.io/a": "x", "mine": "x"}
FOREIGN = {"node-restriction.kubernetes.io/a": "x", "kubernetes.io/role": "x", "b": "x"}
FOREIGN_NAMES = "kubernetes.io/role, node-restriction.kubernetes.io/a"
SOURCE = {"configMap": {"name": "n", "namespace": "ns", "kubeletConfigKey": "k"}}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (_node(), ""),
        (_node(labels=OWN_LABELS, taints=TAINTS), ""),
        (_node("x"), 'node "node1" is not allowed to modify node "x"'),
        (
            _node(labels=FOREIGN),
            f'node "node1" is not allowed to set the following labels: {FOREIGN_NAMES}',
        ),
        (
            _node(configSource=SOURCE),
            'node "node1" is not allowed to create pods with a non-nil configSource',
        ),
        (_owned_node(), ""),
        (_owned_node(GONE), 'node "node1" is not allowed to set ownerReferences'),
    ],
)
def test_new_nodes(value: dict[str, Any], why: str) -> None:
    world, plugin = _plugin()
    if not why:
        world.create(plugin, NODES, value, NODE)
        return
    with refused(f'nodes "{value["metadata"]["name"]}" is forbidden: {why}'):
        world.create(plugin, NODES, value, NODE)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (_node(taints=TAINTS, labels=FOREIGN), _node(taints=TAINTS, labels=FOREIGN), ""),
        (_node(), _node(labels=OWN_LABELS), ""),
        (_node(taints=TAINTS), _node(), 'node "node1" is not allowed to modify taints'),
        (_node(), _node(labels=FOREIGN), f"is not allowed to modify labels: {FOREIGN_NAMES}"),
        (_node(labels=FOREIGN), _node(), f"is not allowed to modify labels: {FOREIGN_NAMES}"),
        (
            _node(),
            _node(configSource=SOURCE),
            'node "node1" is not allowed to update configSource to a new non-nil configSource',
        ),
        (_node("x"), _node("x"), 'node "node1" is not allowed to modify node "x"'),
        (_owned_node(GONE), _owned_node(GONE), ""),
        (_node(), _owned_node(), ""),
        (_node(), _owned_node(GONE), 'node "node1" is not allowed to modify ownerReferences'),
        (_owned_node(GONE), _node(), 'node "node1" is not allowed to modify ownerReferences'),
    ],
)
@pytest.mark.parametrize("resource", [NODES, f"{NODES}/status"])
def test_changed_nodes(resource: str, old: dict[str, Any], new: dict[str, Any], why: str) -> None:
    world, plugin = _plugin()
    if not why:
        world.update(plugin, resource, old, new, NODE)
        return
    with refused(f'nodes "{new["metadata"]["name"]}" is forbidden: {why}'):
        world.update(plugin, resource, old, new, NODE)


def test_labels_in_words_of_the_dialect() -> None:
    names = ["cluster.io/hostname", "kubelet.cluster.io/a", "kubernetes.io/x", "cluster.io/x"]
    assert NodeLabels(CLUSTER).forbidden(names) == ["cluster.io/x"]


def test_claims() -> None:
    world, plugin = _plugin()
    old: dict[str, Any] = {"metadata": {}, "spec": {}, "status": {"phase": "Bound"}}
    head = 'persistentvolumeclaims "a" is forbidden:'
    with refused(f"{head} may only update PVC status"):
        world.update(plugin, PERSISTENT_VOLUME_CLAIMS, old, old, NODE)
    grown = {**old, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    world.update(plugin, f"{PERSISTENT_VOLUME_CLAIMS}/status", old, grown, NODE)
    with refused(
        f'{head} node "node1" is not allowed to update fields other than status.capacity and'
        " status.conditions"
    ):
        world.update(
            plugin,
            f"{PERSISTENT_VOLUME_CLAIMS}/status",
            old,
            {**old, "status": {"phase": "Lost"}},
            NODE,
        )


def _bound(**reference: Any) -> dict[str, Any]:
    return {"metadata": {"name": "sa"}, "spec": {"audiences": [], "boundObjectRef": reference}}


MINE = {"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": "u-mine"}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (_bound(**MINE), ""),
        (_bound(), "node requested token not bound to a pod"),
        (_bound(**{**MINE, "kind": "Secret"}), "node requested token not bound to a pod"),
        (
            _bound(**{**MINE, "uid": ""}),
            "node requested token with a pod binding without a uid",
        ),
        (
            _bound(**{**MINE, "uid": "x"}),
            "the UID in the bound object reference (x) does not match the UID in record. The object"
            " might have been deleted and then recreated",
        ),
        (
            _bound(**{**MINE, "name": "theirs", "uid": "u-theirs"}),
            "node requested token bound to a pod scheduled on a different node",
        ),
    ],
)
def test_tokens(value: dict[str, Any], why: str) -> None:
    world, plugin = _plugin()
    if not why:
        world.create(plugin, TOKEN, value, NODE)
        return
    with refused(f'serviceaccounts "sa" is forbidden: {why}'):
        world.create(plugin, TOKEN, value, NODE)


def test_leases() -> None:
    world, plugin = _plugin()
    lease = {"metadata": {"name": "node1", "namespace": "kube-node-lease"}, "spec": {}}
    world.create(plugin, LEASES, lease, NODE)
    with refused(
        'leases.coordination.k8s.io "node1" is forbidden: can only access leases in the'
        ' "kube-node-lease" system namespace'
    ):
        world.create(plugin, LEASES, {"metadata": {"name": "node1"}, "spec": {}}, NODE)
    with refused(
        'leases.coordination.k8s.io "x" is forbidden: can only access node lease with the same'
        " name as the requesting node"
    ):
        other = {"metadata": {"name": "x", "namespace": "kube-node-lease"}, "spec": {}}
        world.create(plugin, LEASES, other, NODE)


def test_a_node_does_not_delete_itself_as_specified() -> None:
    node = {"metadata": {"name": "node1"}}
    World(KUBERNETES).delete(NodeRestriction(KUBERNETES, World().decide), NODES, node, NODE)
    with refused('nodes "node1" is forbidden: node "node1" is not allowed to delete itself'):
        World(CLUSTER).delete(NodeRestriction(CLUSTER, World().decide), NODES, node, NODE)


def test_csi_nodes() -> None:
    world, plugin = _plugin()
    world.create(plugin, CSI_NODES, {"metadata": {"name": "node1"}, "spec": {"drivers": []}}, NODE)
    with refused(
        'csinodes.storage.k8s.io "x" is forbidden: can only access CSINode with the same name as'
        " the requesting node"
    ):
        world.create(plugin, CSI_NODES, {"metadata": {"name": "x"}, "spec": {"drivers": []}}, NODE)


# Release 1.36

AUDIENCE = 'audience "vault" not found in pod spec volume, system:node:node1 is not authorized'
DRIVER = {"name": "v", "csi": {"driver": "d"}}
PROJECTED = {
    "name": "v",
    "projected": {"sources": [{"serviceAccountToken": {"audience": "vault"}}]},
}


@pytest.mark.parametrize(
    ("volumes", "audiences", "why"),
    [
        ([PROJECTED], ["vault"], ""),
        ([PROJECTED], ["vault", "other"], "node may only request 0 or 1 audiences"),
        ([DRIVER], ["vault"], ""),
        ([], ["vault"], AUDIENCE),
        ([{"name": "v", "csi": {"driver": "x"}}], ["vault"], 'error validating audience "vault"'),
        ([CLAIM], ["vault"], 'error validating audience "vault": persistentvolumeclaim "s" not'),
        ([PROJECTED], [], 'audience "" not found in pod spec volume'),
    ],
)
def test_a_token_is_for_an_audience_of_the_pod(
    volumes: list[Any], audiences: list[str], why: str
) -> None:
    world, plugin = _plugin(V1_36)
    spec = pod(nodeName="node1", volumes=volumes)
    world.put(PODS, {**spec, "metadata": {"name": "mine", "uid": "u-mine"}})
    driver = {"metadata": {"name": "d"}, "spec": {"tokenRequests": [{"audience": "vault"}]}}
    world.put("storage/v1/csidrivers", driver)
    value = _bound(**MINE)
    value["spec"]["audiences"] = audiences
    if not why:
        world.create(plugin, TOKEN, value, NODE)
        return
    with pytest.raises(StatusError, match=re.escape(why)):
        world.create(plugin, TOKEN, value, NODE)


def test_a_role_allows_more_audiences() -> None:
    world, plugin = _plugin(V1_36)
    value = _bound(**MINE)
    value["spec"]["audiences"] = ["vault"]
    world.rights.add(("request-serviceaccounts-token-audience", "sa"))
    world.create(plugin, TOKEN, value, NODE)


def test_a_node_creates_its_own_resource_slices() -> None:
    world, plugin = _plugin(V1_36)
    slices = "resource/v1/resourceslices"
    world.create(plugin, slices, {"metadata": {}, "spec": {"nodeName": "node1"}}, NODE)
    with pytest.raises(
        StatusError,
        match=re.escape(
            "can only create ResourceSlice with the same NodeName as the requesting node"
        ),
    ):
        world.create(plugin, slices, {"metadata": {}, "spec": {"nodeName": "node2"}}, NODE)
    with pytest.raises(StatusError, match="can only delete ResourceSlice with the same NodeName"):
        world.delete(plugin, slices, {"metadata": {}, "spec": {"allNodes": True}}, NODE)


SERVING, CLIENT = "kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"


@pytest.mark.parametrize(
    ("signer", "name", "why"),
    [
        (SERVING, "system:node:node1", ""),
        (CLIENT, "system:node:node2", "can only create a node CSR with CN=system:node:node1"),
        (SERVING, None, "unable to parse csr: PEM block type must be CERTIFICATE REQUEST"),
        ("example.com/other", "anybody", ""),
    ],
)
def test_a_node_requests_certificates_in_its_own_name(
    signer: str, name: str | None, why: str
) -> None:
    world, plugin = _plugin(V1_36)
    request = b"" if name is None else request_pem(name)
    spec = {"signerName": signer, "request": b64encode(request).decode(), "usages": []}
    value = {"metadata": {}, "spec": spec}
    key = "certificates/v1/certificatesigningrequests"
    if not why:
        world.create(plugin, key, value, NODE)
        return
    with pytest.raises(StatusError, match=re.escape(why)):
        world.create(plugin, key, value, NODE)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"serviceAccountName": "a"}, "serviceaccounts"),
        ({"resourceClaims": [{"name": "a"}]}, "resourceclaims"),
        ({"volumes": [EPHEMERAL]}, "persistentvolumeclaims (via ephemeral volumes)"),
        ({"volumes": [DRIVER]}, "csidrivers (via CSI volumes)"),
        ({"volumes": [PROJECTED]}, "serviceaccounts (via projected volumes)"),
        ({"volumes": [CLAIM]}, "persistentvolumeclaims"),
        ({"containers": [{"name": "c", "envFrom": [{"secretRef": {"name": "s"}}]}]}, "secrets"),
        (
            {"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "s"}}]}]},
            "configmaps",
        ),
    ],
)
def test_mirror_pods_refer_to_nothing(spec: dict[str, Any], shown: str) -> None:
    world, plugin = _plugin(V1_36)
    with pytest.raises(StatusError, match=re.escape(f"{REFERENCE} {shown}")):
        world.create(plugin, PODS, _mirror(OWNER, **spec), NODE)


def test_a_node_does_not_change_resource_claims_of_pods() -> None:
    world, plugin = _plugin(V1_36)
    old = pod(nodeName="node1")
    new = {**old, "status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "b"}]}}
    with pytest.raises(StatusError, match="cannot update resource claim statues"):
        world.update(plugin, STATUS, new, old, NODE)
