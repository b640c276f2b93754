"""Cells of the other groups, one row a behaviour; `...` is any cell."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.resources.columns.registry import printer_for

NOW = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC)
AT = "2024-05-01T11:55:00Z"
META = {"name": "a", "creationTimestamp": AT}
SELECTOR = {"matchLabels": {"a": "1"}}
Obj = dict[str, Any]


def _check(key: str, obj: Obj, cells: list[Any]) -> None:
    items = printer_for(key, KUBERNETES).cells({"metadata": META, **obj}, NOW)
    rows = [want if want is ... else cell for cell, want in zip(items, cells, strict=True)]
    assert rows == cells
    assert [type(cell) for cell in rows] == [type(cell) for cell in cells]


def _balancer(*points: Obj) -> Obj:
    return {"loadBalancer": {"ingress": list(points)}}


def _rules(*hosts: str) -> Obj:
    return {"rules": [{"host": host} for host in hosts]}


@pytest.mark.parametrize(
    ("spec", "hosts", "ports"),
    [
        ({}, "*", "80"),
        ({"tls": [{}]}, "*", "80, 443"),
        (_rules("", ""), "*", "80"),
        (_rules("a", "", "b"), "a,b", "80"),
        (_rules("a", "b", "c", "d", "e"), "a,b,c + 2 more...", "80"),
        (_rules("a", "b", "c", ""), "a,b,c + 1 more...", "80"),
    ],
)
def test_ingress_hosts_and_ports(spec: Obj, hosts: str, ports: str) -> None:
    _check("networking/v1/ingresses", {"spec": spec}, ["a", "<none>", hosts, "", ports, "5m"])


OTHERS: list[tuple[str, Obj, list[Any]]] = [
    (
        "networking/v1/ingresses",
        {"spec": {"ingressClassName": "x"}, "status": _balancer({"ip": "2"}, {"hostname": "1"})},
        ["a", "x", "*", "1,2", "80", "5m"],
    ),
    ("networking/v1/ingressclasses", {}, ["a", "", "<none>", "5m"]),
    (
        "networking/v1/ingressclasses",
        {"spec": {"controller": "c/d", "parameters": {"kind": "K", "name": "n"}}},
        ["a", "c/d", "K/n", "5m"],
    ),
    (
        "networking/v1/ingressclasses",
        {"spec": {"parameters": {"apiGroup": "g.io", "kind": "K", "name": "n"}}},
        ["a", "", "K.g.io/n", "5m"],
    ),
    ("networking/v1/networkpolicies", {"spec": {"podSelector": {}}}, ["a", "<none>", "5m"]),
    ("networking/v1/networkpolicies", {"spec": {"podSelector": SELECTOR}}, ["a", "a=1", "5m"]),
    (
        "policy/v1/poddisruptionbudgets",
        {"spec": {"minAvailable": 0}, "status": {"disruptionsAllowed": 2}},
        ["a", "0", "N/A", 2, "5m"],
    ),
    (
        "policy/v1/poddisruptionbudgets",
        {"spec": {"maxUnavailable": "50%"}},
        ["a", "N/A", "50%", 0, "5m"],
    ),
    (
        "policy/v1beta1/podsecuritypolicies",
        {
            "spec": {
                "privileged": True,
                "allowedCapabilities": ["A", "B"],
                "seLinux": {"rule": "RunAsAny"},
                "runAsUser": {"rule": "MustRunAs"},
                "fsGroup": {"rule": "RunAsAny"},
                "supplementalGroups": {"rule": "MayRunAs"},
                "volumes": ["*"],
            }
        },
        ["a", "true", "A,B", "RunAsAny", "MustRunAs", "RunAsAny", "MayRunAs", False, "*"],
    ),
    (
        "rbac/v1/rolebindings",
        {
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [
                {"kind": "User", "name": "u"},
                {"kind": "Group", "name": "g"},
                {"kind": "User", "name": "v"},
                {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
            ],
        },
        ["a", "Role/r", "5m", "u, v", "g", "n/s"],
    ),
    (
        "rbac/v1/clusterrolebindings",
        {"roleRef": {"kind": "ClusterRole", "name": "r"}},
        ["a", "ClusterRole/r", "5m", "", "", ""],
    ),
    ("storage/v1/storageclasses", {}, ["a", "", "Delete", "Immediate", False, "5m"]),
    (
        "storage/v1/storageclasses",
        {
            "metadata": {
                "name": "a",
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
            },
            "provisioner": "p",
            "reclaimPolicy": "Retain",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        },
        ["a (default)", "p", "Retain", "WaitForFirstConsumer", True, "<unknown>"],
    ),
    (
        "storage/v1/volumeattachments",
        {
            "spec": {"attacher": "t", "source": {"persistentVolumeName": "v"}, "nodeName": "n"},
            "status": {"attached": True},
        },
        ["a", "t", "v", "n", True, "5m"],
    ),
    ("storage/v1/volumeattachments", {}, ["a", "", "", "", False, "5m"]),
    ("storage/v1/csinodes", {"spec": {"drivers": [{}, {}]}}, ["a", 2, "5m"]),
    (
        "storage/v1/csidrivers",
        {},
        ["a", True, False, False, "<unset>", False, "<none>", "5m"],
    ),
    (
        "storage/v1/csidrivers",
        {
            "spec": {
                "attachRequired": False,
                "podInfoOnMount": True,
                "storageCapacity": True,
                "tokenRequests": [{"audience": "x"}, {"audience": "y"}],
                "requiresRepublish": True,
                "volumeLifecycleModes": ["Persistent", "Ephemeral"],
            }
        },
        ["a", False, True, True, "x,y", True, "Persistent,Ephemeral", "5m"],
    ),
    (
        "admissionregistration/v1/mutatingwebhookconfigurations",
        {"webhooks": [{}]},
        ["a", 1, "5m"],
    ),
    ("admissionregistration/v1/validatingwebhookconfigurations", {}, ["a", 0, "5m"]),
    ("apiregistration/v1/apiservices", {}, ["a", "Local", "Unknown", "5m"]),
    (
        "apiregistration/v1/apiservices",
        {
            "spec": {"service": {"namespace": "n", "name": "s"}},
            "status": {
                "conditions": [{"type": "Available", "status": "False", "reason": "Missing"}]
            },
        },
        ["a", "n/s", "False (Missing)", "5m"],
    ),
    (
        "apiregistration/v1/apiservices",
        {"status": {"conditions": [{"type": "Available", "status": "True", "reason": "Local"}]}},
        ["a", "Local", "True", "5m"],
    ),
    ("scheduling/v1/priorityclasses", {"value": -5}, ["a", -5, False, "5m"]),
    ("scheduling/v1/priorityclasses", {"globalDefault": True}, ["a", 0, True, "5m"]),
    ("node/v1/runtimeclasses", {"handler": "h"}, ["a", "h", "5m"]),
    ("coordination/v1/leases", {"spec": {"holderIdentity": "me"}}, ["a", "me", "5m"]),
    ("coordination/v1/leases", {}, ["a", "", "5m"]),
    ("flowcontrol/v1beta1/flowschemas", {}, ["a", "", 0, "<none>", "5m", "?"]),
    (
        "flowcontrol/v1beta2/flowschemas",
        {
            "spec": {
                "priorityLevelConfiguration": {"name": "p"},
                "matchingPrecedence": 100,
                "distinguisherMethod": {"type": "ByUser"},
            },
            "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
        },
        ["a", "p", 100, "ByUser", "5m", "False"],
    ),
    (
        "flowcontrol/v1beta2/prioritylevelconfigurations",
        {"spec": {"type": "Exempt"}},
        ["a", "Exempt", "<none>", "<none>", "<none>", "<none>", "5m"],
    ),
    (
        "flowcontrol/v1beta1/prioritylevelconfigurations",
        {
            "spec": {
                "type": "Limited",
                "limited": {"assuredConcurrencyShares": 5, "limitResponse": {"type": "Reject"}},
            }
        },
        ["a", "Limited", 5, "<none>", "<none>", "<none>", "5m"],
    ),
    (
        "flowcontrol/v1beta2/prioritylevelconfigurations",
        {
            "spec": {
                "type": "Limited",
                "limited": {
                    "assuredConcurrencyShares": 5,
                    "limitResponse": {
                        "queuing": {"queues": 64, "handSize": 6, "queueLengthLimit": 50}
                    },
                },
            }
        },
        ["a", "Limited", 5, 64, 6, 50, "5m"],
    ),
]


@pytest.mark.parametrize(("key", "obj", "cells"), OTHERS)
def test_others(key: str, obj: Obj, cells: list[Any]) -> None:
    _check(key, obj, cells)


@pytest.mark.parametrize(
    ("spec", "status", "duration", "condition"),
    [
        ({}, {}, "<none>", "Pending"),
        ({"expirationSeconds": 600}, {}, "10m", "Pending"),
        ({}, {"conditions": [{"type": "Approved"}]}, "<none>", "Approved"),
        (
            {},
            {"conditions": [{"type": "Approved"}], "certificate": "x"},
            "<none>",
            "Approved,Issued",
        ),
        ({}, {"conditions": [{"type": "Approved"}, {"type": "Denied"}]}, "<none>", "Denied"),
        ({}, {"conditions": [{"type": "Approved"}, {"type": "Failed"}]}, ..., "Approved,Failed"),
    ],
)
def test_signing_requests(spec: Obj, status: Obj, duration: str, condition: str) -> None:
    obj = {"spec": {"username": "u", **spec}, "status": status}
    cells = ["a", "5m", "<none>", "u", duration, condition]
    _check("certificates/v1/certificatesigningrequests", obj, cells)


def test_flow_schemas_are_listed_by_precedence_and_name() -> None:
    order = printer_for("flowcontrol/v1beta2/flowschemas").order
    assert order is not None
    listed: list[Obj] = [
        {"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}}
        for name, precedence in (("a", 2), ("c", 1), ("b", 1))
    ]
    assert [item["metadata"]["name"] for item in sorted(listed, key=order)] == ["b", "c", "a"]


def test_annotations_follow_the_dialect() -> None:
    mark = {"storageclass.cluster.io/is-default-class": "true"}
    obj = {"metadata": {"name": "a", "annotations": mark}}
    for dialect, name in ((CLUSTER, "a (default)"), (KUBERNETES, "a")):
        assert printer_for("storage/v1/storageclasses", dialect).cells(obj, NOW)[0] == name
