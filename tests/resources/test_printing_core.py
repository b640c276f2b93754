"""Cells of the core group, one row a behaviour; `...` is any cell."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.base.dialect import KUBERNETES
from fairlead.resources.columns.registry import printer_for

NOW = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC)
AT = "2024-05-01T11:55:00Z"
META = {"name": "a", "creationTimestamp": AT}
TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
Obj = dict[str, Any]


def _check(key: str, obj: Obj, cells: list[Any]) -> None:
    items = printer_for(key, KUBERNETES).cells({"metadata": META, **obj}, NOW)
    rows = [want if want is ... else cell for cell, want in zip(items, cells, strict=True)]
    assert rows == cells
    assert [type(cell) for cell in rows] == [type(cell) for cell in cells]


CORE: list[tuple[str, Obj, list[Any]]] = [
    ("configmaps", {"data": {"a": ""}, "binaryData": {"b": ""}}, ["a", 2, "5m"]),
    ("secrets", {"type": "Opaque", "data": {"a": "", "b": ""}}, ["a", "Opaque", 2, "5m"]),
    ("serviceaccounts", {"secrets": [{}]}, ["a", 1, "5m"]),
    ("serviceaccounts", {}, ["a", 0, "5m"]),
    ("namespaces", {"status": {"phase": "Terminating"}}, ["a", "Terminating", "5m"]),
    (
        "replicationcontrollers",
        {
            "spec": {"replicas": 3, "template": TEMPLATE, "selector": {"b": "2", "a": "1"}},
            "status": {"replicas": 2},
        },
        ["a", 3, 2, 0, "5m", "c", "i", "a=1,b=2"],
    ),
    (
        "resourcequotas",
        {
            "status": {
                "hard": {"pods": "4", "limits.cpu": "2", "cpu": "1"},
                "used": {"pods": "1", "limits.cpu": "500m"},
            }
        },
        ["a", "5m", "cpu: 0/1, pods: 1/4", "limits.cpu: 500m/2"],
    ),
    ("componentstatuses", {}, ["a", "Unknown", "", ""]),
    (
        "componentstatuses",
        {"conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]},
        ["a", "Healthy", "ok", ""],
    ),
    (
        "componentstatuses",
        {"conditions": [{"type": "Healthy", "status": "False", "error": "no"}]},
        ["a", "Unhealthy", "", "no"],
    ),
]


@pytest.mark.parametrize(("resource", "obj", "cells"), CORE)
def test_core(resource: str, obj: Obj, cells: list[Any]) -> None:
    _check(f"core/v1/{resource}", obj, cells)


def _balancer(*points: Obj) -> Obj:
    return {"loadBalancer": {"ingress": list(points)}}


@pytest.mark.parametrize(
    ("spec", "status", "words"),
    [
        ({"type": "ClusterIP"}, {}, "<none>"),
        ({"type": "NodePort", "externalIPs": ["1.1.1.1", "2.2.2.2"]}, {}, "1.1.1.1,2.2.2.2"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        (
            {"type": "LoadBalancer"},
            _balancer({"hostname": "a-very-long-name.example.com"}, {"ip": "1.1.1.1"}, {}),
            "1.1.1.1,a-very-long-name.example.com",
        ),
        (
            {"type": "LoadBalancer", "externalIPs": ["1.0.0.0"]},
            _balancer({"ip": "9.9.9.9"}),
            "9.9.9.9,1.0.0.0",
        ),
        ({"type": "ExternalName", "externalName": "x.example.com"}, {}, "x.example.com"),
        ({}, {}, "<unknown>"),
    ],
)
def test_service_external_ip(spec: Obj, status: Obj, words: str) -> None:
    cells = [..., ..., ..., words, ..., ..., ...]
    _check("core/v1/services", {"spec": spec, "status": status}, cells)


@pytest.mark.parametrize(
    ("spec", "address", "ports"),
    [
        ({}, "<none>", "<none>"),
        ({"clusterIPs": ["None"]}, "None", "<none>"),
        ({"clusterIP": "10.0.0.1"}, "10.0.0.1", "<none>"),
        (
            {
                "clusterIPs": ["10.0.0.1", "fd00::1"],
                "ports": [
                    {"port": 80, "protocol": "TCP"},
                    {"port": 53, "nodePort": 30053, "protocol": "UDP"},
                ],
            },
            "10.0.0.1",
            "80/TCP,53:30053/UDP",
        ),
    ],
)
def test_service_address_and_ports(spec: Obj, address: str, ports: str) -> None:
    _check("core/v1/services", {"spec": spec}, ["a", "", address, ..., ports, "5m", "<none>"])


ADDRESSES = [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]


@pytest.mark.parametrize(
    ("subsets", "words"),
    [
        (None, "<none>"),
        ([{"ports": [{"port": 80}]}], ""),
        ([{"addresses": ADDRESSES}], "10.0.0.1,10.0.0.2"),
        ([{"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 80}]}], "[fd00::1]:80"),
        (
            [{"addresses": ADDRESSES, "ports": [{"port": 80}, {"port": 443}]}],
            "10.0.0.1:80,10.0.0.2:80,10.0.0.1:443 + 1 more...",
        ),
    ],
)
def test_endpoints(subsets: Any, words: str) -> None:
    _check("core/v1/endpoints", {"subsets": subsets}, ["a", words, "5m"])


@pytest.mark.parametrize(
    ("endpoint_slice", "ports", "addresses"),
    [
        ({}, "<unset>", "<unset>"),
        ({"ports": [{}, {"name": "n"}, {"name": "m", "port": 1}]}, "*,n,1", "<unset>"),
        ({"ports": [{"port": 1}] * 5}, "1,1,1 + 2 more...", "<unset>"),
        ({"endpoints": [{"addresses": ["x"]}, {"addresses": ["y"]}]}, "<unset>", "x,y"),
        ({"endpoints": [{"addresses": ["x", "y"]}] * 2}, "<unset>", "x,y,x + 1 more..."),
    ],
)
def test_endpoint_slices(endpoint_slice: Obj, ports: str, addresses: str) -> None:
    obj = {"addressType": "IPv4", **endpoint_slice}
    _check("discovery/v1/endpointslices", obj, ["a", "IPv4", ports, addresses, "5m"])


VOLUMES: list[tuple[str, Obj, list[Any]]] = [
    ("persistentvolumes", {}, ["a", "0", "", "", "", "", "", "", "5m", "<unset>"]),
    (
        "persistentvolumes",
        {
            "spec": {
                "capacity": {"storage": "5Gi"},
                "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "n", "name": "c"},
                "storageClassName": "fast",
                "volumeMode": "Block",
            },
            "status": {"phase": "Failed", "reason": "why"},
        },
        ["a", "5Gi", "RWO,ROX,RWX", "Retain", "Failed", "n/c", "fast", "why", "5m", "Block"],
    ),
    (
        "persistentvolumes",
        {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}},
        [..., ..., ..., ..., ..., ..., "old", ..., "<unknown>", ...],
    ),
    (
        "persistentvolumeclaims",
        {"status": {"phase": "Pending", "capacity": {"storage": "5Gi"}}},
        ["a", "Pending", "", "", "", "", "5m", "<unset>"],
    ),
    (
        "persistentvolumeclaims",
        {
            "spec": {"volumeName": "v", "storageClassName": "fast", "volumeMode": "Filesystem"},
            "status": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOncePod"]},
        },
        ["a", "", "v", "5Gi", "RWOP", "fast", "5m", "Filesystem"],
    ),
    (
        "persistentvolumeclaims",
        {"metadata": {"name": "a", "deletionTimestamp": AT}, "spec": {"volumeName": "v"}},
        ["a", "Terminating", "v", "0", "", "", "<unknown>", "<unset>"],
    ),
]


@pytest.mark.parametrize(("resource", "obj", "cells"), VOLUMES)
def test_volumes(resource: str, obj: Obj, cells: list[Any]) -> None:
    _check(f"core/v1/{resource}", obj, cells)


EVENTS: list[tuple[Obj, Obj, list[Any]]] = [
    ({}, {}, ["<unknown>", "", "", "", "", "", "", "<unknown>", 1, "a"]),
    (
        {"firstTimestamp": "2024-05-01T11:00:00Z", "lastTimestamp": AT, "count": 7},
        {
            "deprecatedFirstTimestamp": "2024-05-01T11:00:00Z",
            "deprecatedLastTimestamp": AT,
            "deprecatedCount": 7,
        },
        ["5m", ..., ..., ..., ..., ..., ..., "60m", 7, "a"],
    ),
    (
        {"eventTime": "2024-05-01T11:55:00.000000Z"},
        {"eventTime": "2024-05-01T11:55:00.000000Z"},
        ["5m", ..., ..., ..., ..., ..., ..., "5m", 1, "a"],
    ),
    (
        {"eventTime": "2024-05-01T11:00:00Z", "series": {"count": 3, "lastObservedTime": AT}},
        {"eventTime": "2024-05-01T11:00:00Z", "series": {"count": 3, "lastObservedTime": AT}},
        ["5m", ..., ..., ..., ..., ..., ..., "60m", 3, "a"],
    ),
    (
        {
            "type": "Warning",
            "reason": "R",
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "f"},
            "source": {"component": "c", "host": "h"},
            "message": " text\n",
        },
        {
            "type": "Warning",
            "reason": "R",
            "regarding": {"kind": "Pod", "name": "p", "fieldPath": "f"},
            "deprecatedSource": {"component": "c", "host": "h"},
            "note": " text\n",
        },
        [..., "Warning", "R", "pod/p", "f", "c, h", "text", ..., ..., "a"],
    ),
    (
        {"involvedObject": {"kind": "Node"}, "reportingComponent": "c", "reportingInstance": "i"},
        {"regarding": {"kind": "Node"}, "reportingController": "c", "reportingInstance": "i"},
        [..., "", "", "node", "", "c, i", "", ..., ..., "a"],
    ),
    (
        {"source": {"component": "c"}},
        {"deprecatedSource": {"component": "c"}},
        [..., "", "", "", "", "c", "", ..., ..., "a"],
    ),
]


@pytest.mark.parametrize(("core", "own", "cells"), EVENTS)
def test_events(core: Obj, own: Obj, cells: list[Any]) -> None:
    _check("core/v1/events", core, cells)
    _check("events/v1/events", own, cells)
