"""The Node mode: permissions of node agents, and the graph of objects that their pods need."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from support.authorization import Objects, ask, user

from fairlead.auth.authorization.node import Node, node_name
from fairlead.auth.authorization.node_graph import (
    PERSISTENT_VOLUMES,
    PODS,
    VOLUME_ATTACHMENTS,
    NodeGraph,
)
from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_25, V1_36, Release
from fairlead.resources.gates import Gates
from fairlead.storage.selection import parse_fields

Object = dict[str, Any]

N1, N2 = user("system:node:n1", "system:nodes"), user("system:node:n2", "system:nodes")
UNRELATED = "no relationship found between node 'n1' and this object"


class Nodes:
    def __init__(self, release: Release = V1_25) -> None:
        gates = Gates(release=release)
        self.objects = Objects()
        self.objects.collection(PODS).select_fields = lambda value: {
            "spec.nodeName": value["spec"].get("nodeName", "")
        }
        self.graph = NodeGraph(KUBERNETES, gates)
        self.graph.follow(self.objects.follow)
        self.mode = Node(KUBERNETES, self.graph, gates)

    def pod(self, name: str, node: str, **spec: Any) -> None:
        annotations = spec.pop("annotations", {})
        metadata = {"name": name, "namespace": "ns", "annotations": annotations}
        self.objects.put(PODS, {"metadata": metadata, "spec": {"nodeName": node, **spec}})

    def volume(self, name: str, claim: str = "", **source: Any) -> None:
        spec = {**source, "claimRef": {"namespace": "ns", "name": claim}} if claim else source
        self.objects.put(PERSISTENT_VOLUMES, {"metadata": {"name": name}, "spec": spec})

    def attachment(self, name: str, node: str) -> None:
        value = {"metadata": {"name": name}, "spec": {"nodeName": node}}
        self.objects.put(VOLUME_ATTACHMENTS, value)

    def allows(self, *question: Any) -> bool:
        return self.mode.decide(ask(*question)).allowed

    def reads(self, who: Any, what: str, name: str, namespace: str = "ns") -> bool:
        return self.allows(who, "get", what, namespace, name)


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


@pytest.mark.parametrize(
    ("name", "groups", "expected"),
    [
        ("system:node:n1", ("system:nodes",), "n1"),
        ("system:node:n1", ("a", "system:nodes"), "n1"),
        ("system:node:n1", (), None),
        ("alice", ("system:nodes",), None),
        ("system:node:", ("system:nodes",), ""),
    ],
)
def test_who_is_a_node(name: str, groups: tuple[str, ...], expected: str | None) -> None:
    assert node_name(user(name, *groups)) == expected


CONTAINER = {
    "env": [
        {"valueFrom": {"secretKeyRef": {"name": "env"}}},
        {"valueFrom": {"configMapKeyRef": {"name": "env"}}},
        {"value": "x"},
    ],
    "envFrom": [{"secretRef": {"name": "from"}}, {"configMapRef": {"name": "from"}}],
}


@pytest.mark.parametrize(
    ("spec", "secrets", "config_maps", "claims"),
    [
        ({"imagePullSecrets": [{"name": "pull"}, {}]}, "pull", "", ""),
        ({"containers": [CONTAINER]}, "env from", "env from", ""),
        ({"initContainers": [CONTAINER]}, "env from", "env from", ""),
        ({"ephemeralContainers": [CONTAINER]}, "env from", "env from", ""),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "s", "", ""),
        ({"volumes": [{"name": "v", "configMap": {"name": "c"}}]}, "", "c", ""),
        ({"volumes": [{"name": "v", "projected": {"sources": [
            {"secret": {"name": "s"}}, {"configMap": {"name": "c"}}, {"downwardAPI": {}}]}}]},
         "s", "c", ""),
        ({"volumes": [{"name": "v", "azureFile": {"secretName": "s"}}]}, "s", "", ""),
        ({"volumes": [{"name": "v", "cephfs": {"secretRef": {"name": "s"}}}]}, "s", "", ""),
        ({"volumes": [{"name": "v", "cinder": {"secretRef": {"name": "s"}}}]}, "s", "", ""),
        ({"volumes": [{"name": "v", "csi": {"nodePublishSecretRef": {"name": "s"}}}]}, "s", "", ""),
        ({"volumes": [{"name": "v", "flexVolume": {"secretRef": {"name": "s"}}}]}, "s", "", ""),
        ({"volumes": [{"name": "v", "iscsi": {"secretRef": {"name": "s"}}}]}, "s", "", ""),
        ({"volumes": [{"name": "v", "rbd": {"secretRef": {"name": "s"}}}]}, "s", "", ""),
        ({"volumes": [{"name": "v", "scaleIO": {"secretRef": {"name": "s"}}}]}, "s", "", ""),
        ({"volumes": [{"name": "v", "storageos": {"secretRef": {"name": "s"}}}]}, "s", "", ""),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}, "", "", "c"),
        ({"volumes": [{"name": "v", "ephemeral": {}}]}, "", "", "p-v"),
    ],
)  # fmt: skip
def test_what_a_pod_refers_to(
    nodes: Nodes, spec: Object, secrets: str, config_maps: str, claims: str
) -> None:
    nodes.pod("p", "n1", **spec)
    for what, names in (
        ("secrets", secrets), ("configmaps", config_maps), ("persistentvolumeclaims", claims),
    ):  # fmt: skip
        for name in ("pull", "env", "from", "s", "c", "p-v"):
            assert nodes.reads(N1, what, name) is (name in names.split()), (what, name)
            assert not nodes.reads(N2, what, name)
            assert not nodes.reads(N1, what, name, "other")
    nodes.objects.remove(PODS, "ns", "p")
    assert nodes.graph._needs == {}


def test_mirror_pods_give_nothing(nodes: Nodes) -> None:
    mirror = {KUBERNETES.label("@/config.mirror"): "x"}
    nodes.pod("p", "n1", imagePullSecrets=[{"name": "s"}], annotations=mirror)
    assert not nodes.reads(N1, "secrets", "s")


def test_a_pod_counts_once_it_is_scheduled(nodes: Nodes) -> None:
    pull = [{"name": "s"}]
    nodes.pod("p", "", imagePullSecrets=pull)
    assert not nodes.reads(N1, "secrets", "s")
    nodes.pod("p", "n1", imagePullSecrets=pull)
    assert nodes.reads(N1, "secrets", "s")
    nodes.objects.remove(PODS, "ns", "p")
    nodes.pod("p", "n2", imagePullSecrets=pull)
    assert not nodes.reads(N1, "secrets", "s")
    assert nodes.reads(N2, "secrets", "s")


def test_a_new_pod_of_an_old_name(nodes: Nodes) -> None:
    nodes.pod("p", "n1", imagePullSecrets=[{"name": "s"}])
    nodes.objects.remove(PODS, "ns", "p")
    nodes.pod("p", "n1", imagePullSecrets=[{"name": "t"}])
    assert not nodes.reads(N1, "secrets", "s")
    assert nodes.reads(N1, "secrets", "t")


def test_two_pods_with_one_secret(nodes: Nodes) -> None:
    for name in ("p", "q"):
        nodes.pod(name, "n1", imagePullSecrets=[{"name": "s"}])
    nodes.objects.remove(PODS, "ns", "p")
    assert nodes.reads(N1, "secrets", "s")
    nodes.objects.remove(PODS, "ns", "q")
    assert not nodes.reads(N1, "secrets", "s")


CLAIM = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]


@pytest.mark.parametrize("pod_first", [True, False])
def test_volumes_of_claims_and_their_secrets(nodes: Nodes, pod_first: bool) -> None:
    csi = {
        "controllerPublishSecretRef": {"name": "hidden", "namespace": "far"},
        "nodeStageSecretRef": {"name": "stage", "namespace": "far"},
        "nodePublishSecretRef": {"name": "publish"},
    }
    steps: list[Callable[[], None]] = [
        lambda: nodes.pod("p", "n1", volumes=CLAIM),
        lambda: nodes.volume("pv", "c", csi=csi),
    ]
    for step in steps if pod_first else reversed(steps):
        step()
    assert nodes.reads(N1, "persistentvolumeclaims", "c")
    assert nodes.reads(N1, "persistentvolumes", "pv", "")
    assert nodes.reads(N1, "secrets", "stage", "far")
    assert nodes.reads(N1, "secrets", "publish")
    assert not nodes.reads(N1, "secrets", "hidden", "far")
    assert not nodes.reads(N2, "persistentvolumes", "pv", "")
    nodes.volume("pv", "other", csi=csi)
    assert not nodes.reads(N1, "persistentvolumes", "pv", "")
    assert not nodes.reads(N1, "secrets", "stage", "far")
    nodes.volume("pv", "c", azureFile={"secretName": "a", "secretNamespace": "far"})
    assert nodes.reads(N1, "secrets", "a", "far")
    nodes.objects.remove(PODS, "ns", "p")
    assert nodes.graph._needs == {}
    nodes.objects.remove(PERSISTENT_VOLUMES, "", "pv")
    assert nodes.graph._bound == {}


def test_attachments(nodes: Nodes) -> None:
    nodes.attachment("a", "n1")
    what = "storage.k8s.io:volumeattachments"
    assert nodes.reads(N1, what, "a", "")
    assert not nodes.reads(N2, what, "a", "")
    nodes.attachment("a", "n2")
    assert not nodes.reads(N1, what, "a", "")
    nodes.objects.remove(VOLUME_ATTACHMENTS, "", "a")
    assert nodes.graph._needs == {}


def test_the_graph_after_many_changes_is_the_graph_of_what_is_there() -> None:
    chance = random.Random(7)
    nodes = Nodes()
    for _ in range(600):
        name = chance.choice("pqrs")
        match chance.randrange(5):
            case 0 | 1:
                if nodes.objects.find(PODS, "ns", name) is None:
                    volume = {"persistentVolumeClaim": {"claimName": chance.choice("cd")}}
                    nodes.pod(name, chance.choice(["n1", "n2"]),
                              volumes=[{"name": "v", **volume}])  # fmt: skip
            case 2:
                if nodes.objects.find(PODS, "ns", name) is not None:
                    nodes.objects.remove(PODS, "ns", name)
            case 3:
                secret = {"secretRef": {"name": chance.choice("xy"), "namespace": "far"}}
                nodes.volume(name, chance.choice(["c", "d", ""]), rbd=secret)
            case 4:
                if nodes.objects.find(PERSISTENT_VOLUMES, "", name) is not None:
                    nodes.objects.remove(PERSISTENT_VOLUMES, "", name)
        again = NodeGraph(KUBERNETES)
        again.follow(nodes.objects.show)
        assert again._needs == nodes.graph._needs


OWN = "can only get, create, update, patch, or delete a"


@pytest.mark.parametrize(
    ("verb", "what", "namespace", "name", "reason"),
    [
        ("get", "secrets", "ns", "s", UNRELATED),
        ("list", "secrets", "ns", "", "No Object name found"),
        ("list", "configmaps", "", "", "can only read namespaced object of this type"),
        ("update", "configmaps", "ns", "c", "can only read resources of this type"),
        ("get", "secrets/status", "ns", "c", "cannot read subresource"),
        ("list", "persistentvolumeclaims", "ns", "",
         "can only get individual resources of this type"),
        ("get", "persistentvolumeclaims/status", "ns", "c", "can only get/update/patch this type"),
        ("patch", "persistentvolumeclaims/status", "ns", "c", UNRELATED),
        ("get", "persistentvolumes", "", "v", UNRELATED),
        ("get", "persistentvolumes/status", "", "v", "cannot get subresource"),
        ("get", "storage.k8s.io:volumeattachments", "", "v", UNRELATED),
        ("get", "serviceaccounts", "ns", "a",
         "can only create tokens for individual service accounts"),
        ("create", "serviceaccounts", "ns", "a",
         "can only create token subresource of serviceaccount"),
        ("create", "serviceaccounts/token", "ns", "a", UNRELATED),
        ("list", "coordination.k8s.io:leases", "kube-node-lease", "", f"{OWN} node lease"),
        ("get", "coordination.k8s.io:leases", "default", "n1",
         'can only access leases in the "kube-node-lease" system namespace'),
        ("get", "coordination.k8s.io:leases", "kube-node-lease", "n2",
         "can only access node lease with the same name as the requesting node"),
        ("watch", "storage.k8s.io:csinodes", "", "n1", f"{OWN} CSINode"),
        ("get", "storage.k8s.io:csinodes/status", "", "n1",
         "cannot authorize CSINode subresources"),
        ("get", "storage.k8s.io:csinodes", "", "n2",
         "can only access CSINode with the same name as the requesting node"),
        ("delete", "nodes", "", "n1", ""),
        ("list", "endpoints", "ns", "", ""),
        ("get", "/metrics", "", "", ""),
    ],
)  # fmt: skip
def test_refusals(
    nodes: Nodes, verb: str, what: str, namespace: str, name: str, reason: str
) -> None:
    decision = nodes.mode.decide(ask(N1, verb, what, namespace, name))
    assert not decision.allowed
    assert not decision.denied
    assert decision.reason == reason


@pytest.mark.parametrize(
    ("verb", "what", "namespace", "name"),
    [
        ("get", "coordination.k8s.io:leases", "kube-node-lease", "n1"),
        ("create", "coordination.k8s.io:leases", "kube-node-lease", ""),
        ("get", "coordination.k8s.io:leases/status", "kube-node-lease", "n1"),
        ("patch", "storage.k8s.io:csinodes", "", "n1"),
        ("create", "storage.k8s.io:csinodes", "", ""),
        ("list", "pods", "", ""),
        ("patch", "pods/status", "ns", "any"),
        ("create", "pods/eviction", "ns", "any"),
        ("list", "services", "", ""),
        ("get", "endpoints", "ns", "e"),
        ("create", "events", "ns", ""),
        ("create", "authentication.k8s.io:tokenreviews", "", ""),
        ("get", "certificates.k8s.io:certificatesigningrequests", "", "x"),
    ],
)
def test_what_every_node_may(nodes: Nodes, verb: str, what: str, namespace: str, name: str) -> None:
    assert nodes.allows(N1, verb, what, namespace, name)


def test_others_are_passed_on(nodes: Nodes) -> None:
    decision = nodes.mode.decide(ask(user("alice"), "get", "secrets", "ns", "s"))
    assert (decision.allowed, decision.denied, decision.reason) == (False, False, "")
    unknown = nodes.mode.decide(ask(user("system:node:", "system:nodes"), "get", "pods", "ns", "p"))
    assert unknown.reason == 'unknown node for user "system:node:"'


def test_rules_are_not_told_of_nodes(nodes: Nodes) -> None:
    assert nodes.mode.rules_for(N1, "ns").incomplete
    assert not nodes.mode.rules_for(user("alice"), "ns").incomplete


# Release 1.36


@pytest.fixture
def later() -> Nodes:
    return Nodes(V1_36)


@pytest.mark.parametrize(
    ("selector", "allowed"),
    [
        ("", False),
        ("spec.nodeName=n1", True),
        ("spec.nodeName==n1,status.phase=Running", True),
        ("spec.nodeName!=n1", False),
        ("spec.nodeName=n2", False),
    ],
)
def test_a_node_lists_its_own_pods(later: Nodes, selector: str, allowed: bool) -> None:
    question = ask(N1, "list", "pods")._replace(fields=parse_fields(selector))
    decision = later.mode.decide(question)
    assert decision.allowed is allowed
    assert not decision.lasting
    slices = ask(N1, "watch", "resource.k8s.io:resourceslices")
    assert later.mode.decide(slices._replace(fields=question.fields)).allowed is allowed


def test_a_node_reads_its_own_node_and_pods(later: Nodes) -> None:
    later.pod("a", "n1", annotations={"kubernetes.io/config.mirror": "x"})
    assert later.reads(N1, "pods", "a")
    assert not later.reads(N2, "pods", "a")
    assert later.reads(N1, "nodes", "n1", "")
    reason = later.mode.decide(ask(N1, "get", "nodes", "", "n2")).reason
    assert reason == "node 'n1' cannot read 'n2', only its own Node object"
    reason = later.mode.decide(ask(N1, "list", "nodes")).reason
    assert reason == "node 'n1' cannot read all nodes, only its own Node object"


def test_a_node_reads_accounts_and_claims_of_its_pods(later: Nodes) -> None:
    later.pod("a", "n1", serviceAccountName="s", resourceClaims=[{"name": "x"}])
    assert later.reads(N1, "serviceaccounts", "s")
    claims = "resource.k8s.io:resourceclaims"
    assert not later.reads(N1, claims, "made")
    status = {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "made"}]}
    spec = {"nodeName": "n1", "resourceClaims": [{"name": "x"}]}
    metadata = {"name": "a", "namespace": "ns"}
    later.objects.put(PODS, {"metadata": metadata, "spec": spec, "status": status})
    assert later.reads(N1, claims, "made")
    assert not later.reads(N2, claims, "made")
