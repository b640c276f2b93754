"""Cells of pods and nodes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.resources.columns.registry import printer_for

NOW = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC)
POD = printer_for("core/v1/pods")
RUNNING = {"ready": True, "restartCount": 0, "state": {"running": {}}}


def _cell(key: str, column: str, obj: dict[str, Any]) -> Any:
    printer = printer_for(key, KUBERNETES)
    names = [column.name for column in printer.columns]
    return printer.cells(obj, NOW)[names.index(column)]


def _pod(status: dict[str, Any], containers: int = 2, inits: int = 0, **metadata: Any) -> Any:
    spec: dict[str, Any] = {"containers": [{}] * containers, "initContainers": [{}] * inits}
    return {"metadata": metadata, "spec": spec, "status": status}


def _waits(reason: str) -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason}}}


def _ended(**terminated: Any) -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": 0, **terminated}}}


DONE = _ended(reason="Completed")
READY = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("status", "inits", "words"),
    [
        ({"phase": "Pending"}, 0, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, 0, "Evicted"),
        ({"phase": "Running", "containerStatuses": [RUNNING, RUNNING]}, 0, "Running"),
        (
            {"phase": "Running", "containerStatuses": [RUNNING, _waits("CrashLoopBackOff")]},
            0,
            "CrashLoopBackOff",
        ),
        ({"containerStatuses": [_waits("First"), _waits("Second")]}, 0, "First"),
        ({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {}}}]}, 0, "Pending"),
        ({"phase": "Succeeded", "containerStatuses": [DONE, DONE]}, 0, "Completed"),
        ({"phase": "Running", "containerStatuses": [DONE, RUNNING]}, 0, "NotReady"),
        (
            {"phase": "Running", "containerStatuses": [DONE, RUNNING], "conditions": READY},
            0,
            "Running",
        ),
        ({"containerStatuses": [_ended(exitCode=3)]}, 0, "ExitCode:3"),
        ({"containerStatuses": [_ended(signal=9, exitCode=137)]}, 0, "Signal:9"),
        ({"initContainerStatuses": [{"state": {"running": {}}}]}, 2, "Init:0/2"),
        ({"initContainerStatuses": [DONE, {"state": {}}]}, 2, "Init:1/2"),
        ({"initContainerStatuses": [_waits("PodInitializing")]}, 2, "Init:0/2"),
        ({"initContainerStatuses": [_waits("ImagePullBackOff")]}, 1, "Init:ImagePullBackOff"),
        ({"initContainerStatuses": [_ended(exitCode=1, reason="Error")]}, 1, "Init:Error"),
        ({"initContainerStatuses": [_ended(exitCode=1)]}, 1, "Init:ExitCode:1"),
        ({"initContainerStatuses": [_ended(exitCode=1, signal=9)]}, 1, "Init:Signal:9"),
        ({"phase": "Running", "initContainerStatuses": [DONE]}, 1, "Running"),
    ],
)
def test_status(status: dict[str, Any], inits: int, words: str) -> None:
    assert _cell("core/v1/pods", "Status", _pod(status, inits=inits)) == words


@pytest.mark.parametrize(
    ("reason", "words"), [("", "Terminating"), ("Evicted", "Terminating"), ("NodeLost", "Unknown")]
)
def test_status_of_a_deleted_pod(reason: str, words: str) -> None:
    pod = _pod({"phase": "Running", "reason": reason}, deletionTimestamp="2024-05-01T12:00:00Z")
    assert _cell("core/v1/pods", "Status", pod) == words


def _crashed(restarts: int, at: str) -> dict[str, Any]:
    last = {"terminated": {"finishedAt": f"2024-05-01T{at}Z"}}
    return {**RUNNING, "restartCount": restarts, "lastState": last}


@pytest.mark.parametrize(
    ("status", "ready", "restarts"),
    [
        ({}, "0/2", "0"),
        ({"containerStatuses": [RUNNING, {**RUNNING, "ready": False}]}, "1/2", "0"),
        ({"containerStatuses": [{**RUNNING, "restartCount": 2}]}, "1/2", "2"),
        (
            {"containerStatuses": [_crashed(2, "11:55:00"), _crashed(3, "11:50:00")]},
            "2/2",
            "5 (5m ago)",
        ),
        # While it initializes, only the init containers so far count.
        (
            {
                "initContainerStatuses": [
                    {**_waits("CrashLoopBackOff"), "restartCount": 4},
                    {"restartCount": 9},
                ],
                "containerStatuses": [RUNNING],
            },
            "0/2",
            "4",
        ),
        # Later their restarts no longer count, but their dates do.
        (
            {
                "initContainerStatuses": [{**_crashed(4, "11:58:00"), **DONE}],
                "containerStatuses": [RUNNING],
            },
            "1/2",
            "0 (2m ago)",
        ),
    ],
)
def test_ready_and_restarts(status: dict[str, Any], ready: str, restarts: str) -> None:
    pod = _pod(status, inits=1)
    assert POD.cells(pod, NOW)[1] == ready
    assert POD.cells(pod, NOW)[3] == restarts


GATES = {"readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}]}


@pytest.mark.parametrize(
    ("spec", "status", "cells"),
    [
        ({}, {}, ["<none>"] * 4),
        ({"nodeName": "n"}, {"podIP": "1.2.3.4"}, ["1.2.3.4", "n", "<none>", "<none>"]),
        ({}, {"podIPs": [{"ip": "::1"}]}, ["::1", "<none>", "<none>", "<none>"]),
        ({}, {"nominatedNodeName": "m"}, ["<none>", "<none>", "m", "<none>"]),
        (
            GATES,
            {"conditions": [{"type": "x", "status": "True"}, {"type": "y", "status": "False"}]},
            ["<none>", "<none>", "<none>", "1/2"],
        ),
    ],
)
def test_wide_pod(spec: dict[str, Any], status: dict[str, Any], cells: list[str]) -> None:
    assert POD.cells({"spec": spec, "status": status}, NOW)[5:] == cells


@pytest.mark.parametrize(
    ("phase", "message"),
    [
        ("Running", None),
        ("Succeeded", "The pod has completed successfully."),
        ("Failed", "The pod failed."),
    ],
)
def test_row_conditions(phase: str, message: str | None) -> None:
    assert POD.conditions is not None
    conditions = POD.conditions({"status": {"phase": phase}})
    expected = {"type": "Completed", "status": "True", "reason": phase, "message": message}
    assert conditions == ([expected] if message else [])


def test_pod_template() -> None:
    template = {
        "metadata": {"labels": {"b": "2", "a": "1"}},
        "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]},
    }
    cells = printer_for("core/v1/podtemplates").cells({"template": template}, NOW)
    assert cells == ["", "c,d", "i,j", "a=1,b=2"]


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({}, "Unknown"),
        ({"status": {"conditions": READY}}, "Ready"),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "NotReady"),
        (
            {"status": {"conditions": READY}, "spec": {"unschedulable": True}},
            "Ready,SchedulingDisabled",
        ),
    ],
)
def test_node_status(node: dict[str, Any], words: str) -> None:
    assert _cell("core/v1/nodes", "Status", node) == words


@pytest.mark.parametrize(
    ("labels", "kubernetes", "cluster"),
    [
        ({}, "<none>", "<none>"),
        ({"node-role.kubernetes.io/b": "", "node-role.kubernetes.io/a": "x"}, "a,b", "<none>"),
        ({"kubernetes.io/role": "r", "node-role.kubernetes.io/": ""}, "r", "<none>"),
        ({"node-role.cluster.io/a": "", "cluster.io/role": "b"}, "<none>", "a,b"),
    ],
)
def test_node_roles(labels: dict[str, str], kubernetes: str, cluster: str) -> None:
    node = {"metadata": {"labels": labels}}
    for dialect, words in ((KUBERNETES, kubernetes), (CLUSTER, cluster)):
        assert printer_for("core/v1/nodes", dialect).cells(node, NOW)[2] == words


def test_wide_node() -> None:
    addresses = [
        {"type": "Hostname", "address": "h"},
        {"type": "InternalIP", "address": "10.0.0.1"},
        {"type": "InternalIP", "address": "10.0.0.2"},
    ]
    info = {"kubeletVersion": "v1", "osImage": "os", "kernelVersion": ""}
    node = {"status": {"addresses": addresses, "nodeInfo": info}}
    cells = printer_for("core/v1/nodes").cells(node, NOW)
    assert cells[4:] == ["v1", "10.0.0.1", "<none>", "os", "<unknown>", "<unknown>"]
