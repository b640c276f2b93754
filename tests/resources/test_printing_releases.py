"""Columns and cells that differ between releases."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_25, V1_36
from fairlead.resources.columns.registry import printer_for

NOW = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC)
AT = "2024-05-01T11:55:00Z"
META = {"name": "a", "creationTimestamp": AT}
Obj = dict[str, Any]

# The names of the columns of 1.25 and of 1.36, without those that only wide output shows.
COLUMNS = """
batch/v1/cronjobs
    Name, Schedule, Suspend, Active, Last Schedule, Age
    Name, Schedule, Timezone, Suspend, Active, Last Schedule, Age
batch/v1/jobs
    Name, Completions, Duration, Age
    Name, Status, Completions, Duration, Age
core/v1/persistentvolumeclaims
    Name, Status, Volume, Capacity, Access Modes, StorageClass, Age
    Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age
core/v1/pods
    Name, Ready, Status, Restarts, Age
    Name, Ready, Status, Restarts, Age
core/v1/resourcequotas
    Name, Age, Request, Limit
    Name, Request, Limit, Age
core/v1/serviceaccounts
    Name, Secrets, Age
    Name, Age
scheduling/v1/priorityclasses
    Name, Value, Global-Default, Age
    Name, Value, Global-Default, Age, PreemptionPolicy
"""
_LINES = [line.strip() for line in COLUMNS.strip().splitlines()]
_RUNNING: Obj = {"running": {}}
_SIDECARS = {"initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]}
_ONE = {"containers": [{"name": "c"}]}


@pytest.mark.parametrize(
    ("key", "before", "later"), list(zip(_LINES[::3], _LINES[1::3], _LINES[2::3], strict=True))
)
def test_columns(key: str, before: str, later: str) -> None:
    for release, names in ((V1_25, before), (V1_36, later)):
        printer = printer_for(key, KUBERNETES, release)
        shown = [column.name for column in printer.columns if not column.priority]
        assert ", ".join(shown) == names
        assert len(printer.cells({}, NOW)) == len(printer.columns)


def test_volumes_show_their_attributes_class_after_their_storage_class() -> None:
    columns = printer_for("core/v1/persistentvolumes", KUBERNETES, V1_36).columns
    names = [column.name for column in columns]
    assert names[6:8] == ["StorageClass", "VolumeAttributesClass"]


def _cell(key: str, column: str, obj: Obj) -> list[Any]:
    """The cells of one column, in 1.25 and in 1.36; None if the release does not have it."""
    cells = []
    obj = {**obj, "metadata": {**META, **obj.get("metadata", {})}}
    for release in (V1_25, V1_36):
        printer = printer_for(key, KUBERNETES, release)
        row = dict(
            zip([column.name for column in printer.columns], printer.cells(obj, NOW), strict=True)
        )
        cells.append(row.get(column))
    return cells


def _sidecar(**status: Any) -> Obj:
    """A pod with a sidecar that has started, of this status."""
    sidecar = {"name": "s", "started": True, "ready": True, "state": _RUNNING, **status}
    done = {"name": "i", "state": {"terminated": {"exitCode": 0}}}
    ready = {"name": "c", "ready": True, "state": _RUNNING, "restartCount": 1}
    return {
        "spec": {**_ONE, **_SIDECARS},
        "status": {
            "phase": "Running",
            "initContainerStatuses": [sidecar, done],
            "containerStatuses": [ready],
        },
    }


_CRASHED = {"started": False, "ready": False, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
_ENDED = {"terminated": {"exitCode": 0, "reason": "Completed"}}
_FAILED = {"terminated": {"exitCode": 3, "reason": "Error"}}
_LAST = {"lastState": {"terminated": {"finishedAt": "2024-05-01T11:00:00Z"}}}


def _initialized(pod: Obj) -> Obj:
    pod["status"]["conditions"] = [{"type": "Initialized", "status": "True"}]
    return pod


def _containers(*states: Obj, **status: Any) -> Obj:
    return {
        "spec": _ONE,
        "status": {"containerStatuses": [{"state": state} for state in states], **status},
    }


@pytest.mark.parametrize(
    ("column", "pod", "before", "later"),
    [
        ("Ready", _sidecar(), "0/1", "2/2"),
        ("Ready", _sidecar(ready=False), "0/1", "1/2"),
        ("Ready", _sidecar(**_CRASHED), "0/1", "0/2"),
        ("Ready", _initialized(_sidecar(**_CRASHED)), "0/1", "1/2"),
        ("Status", _sidecar(), "Init:0/2", "Running"),
        (
            "Status",
            _initialized(_sidecar(**_CRASHED)),
            "Init:CrashLoopBackOff",
            "Init:CrashLoopBackOff",
        ),
        ("Restarts", _sidecar(restartCount=4), "4", "5"),
        ("Restarts", _sidecar(restartCount=4, **_LAST), "4 (60m ago)", "5 (60m ago)"),
        ("Restarts", _sidecar(restartCount=4, **_CRASHED), "4", "4"),
        ("Restarts", _initialized(_sidecar(restartCount=4, **_CRASHED)), "4", "5"),
        ("Restarts", {"status": {"containerStatuses": [_LAST]}}, "0 (60m ago)", "0"),
        ("Status", _containers(_ENDED, _FAILED), "Completed", "Error"),
        ("Status", _containers(_ENDED, _ENDED), "Completed", "Completed"),
        (
            "Status",
            _containers(
                phase="Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]
            ),
            "Pending",
            "SchedulingGated",
        ),
        (
            "Status",
            {"metadata": {"deletionTimestamp": AT}, "status": {"phase": "Failed"}},
            "Terminating",
            "Failed",
        ),
        (
            "Status",
            {"metadata": {"deletionTimestamp": AT}, "status": {"phase": "Running"}},
            "Terminating",
            "Terminating",
        ),
        (
            "Status",
            {"metadata": {"deletionTimestamp": AT}, "status": {"reason": "NodeLost"}},
            "Unknown",
            "Unknown",
        ),
    ],
)
def test_pods(column: str, pod: Obj, before: str, later: str) -> None:
    assert _cell("core/v1/pods", column, pod) == [before, later]


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ([], "Running"),
        (["SuccessCriteriaMet"], "SuccessCriteriaMet"),
        (["SuccessCriteriaMet", "FailureTarget"], "FailureTarget"),
        (["FailureTarget", "Suspended"], "Suspended"),
        (["FailureTarget", "Failed"], "Failed"),
        (["SuccessCriteriaMet", "Complete"], "Complete"),
    ],
)
def test_states_of_jobs(conditions: list[str], status: str) -> None:
    met = [{"type": name, "status": "True"} for name in conditions]
    assert _cell("batch/v1/jobs", "Status", {"status": {"conditions": met}}) == [None, status]


EMPTY_CLASS = {"spec": {"volumeAttributesClassName": ""}}


def test_a_deleted_job_is_terminating_until_it_has_ended() -> None:
    job: Obj = {"metadata": {"deletionTimestamp": AT}, "status": {"conditions": []}}
    assert _cell("batch/v1/jobs", "Status", job) == [None, "Terminating"]
    job["status"]["conditions"] = [{"type": "Failed", "status": "True"}]
    assert _cell("batch/v1/jobs", "Status", job) == [None, "Failed"]


@pytest.mark.parametrize(
    ("key", "column", "obj", "before", "later"),
    [
        ("batch/v1/cronjobs", "Timezone", {}, None, "<none>"),
        ("batch/v1/cronjobs", "Timezone", {"spec": {"timeZone": "Etc/UTC"}}, None, "Etc/UTC"),
        ("core/v1/persistentvolumes", "VolumeAttributesClass", {}, None, "<unset>"),
        ("core/v1/persistentvolumes", "VolumeAttributesClass", EMPTY_CLASS, None, ""),
        (
            "networking/v1/ingressclasses",
            "Name",
            {"metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}},
            "a",
            "a (default)",
        ),
        (
            "core/v1/persistentvolumeclaims",
            "VolumeAttributesClass",
            {"spec": {"volumeAttributesClassName": "v"}},
            None,
            "v",
        ),
        (
            "scheduling/v1/priorityclasses",
            "PreemptionPolicy",
            {"preemptionPolicy": "Never"},
            None,
            "Never",
        ),
        (
            "core/v1/nodes",
            "Kernel-Version",
            {"status": {"nodeInfo": {"kernelVersion": "6", "architecture": "arm64"}}},
            "6",
            "6 (arm64)",
        ),
        ("core/v1/nodes", "Kernel-Version", {}, "<unknown>", "<unknown>"),
    ],
)
def test_cells(key: str, column: str, obj: Obj, before: str | None, later: str) -> None:
    assert _cell(key, column, obj) == [before, later]


def _metric(name: str, **target: Any) -> Obj:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def test_targets_of_autoscalers_name_the_resource() -> None:
    metrics = [_metric("cpu", averageUtilization=80), _metric("memory", averageValue="1Gi")]
    pods = {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"averageValue": "3"}}}
    key, column = "autoscaling/v2/horizontalpodautoscalers", "Targets"
    assert _cell(key, column, {"spec": {"metrics": metrics}}) == [
        "<unknown>/80%, <unknown>/1Gi",
        "cpu: <unknown>/80%, memory: <unknown>/1Gi",
    ]
    assert _cell(key, column, {"spec": {"metrics": [pods]}}) == ["<unknown>/3", "<unknown>/3"]


def test_targets_of_autoscalers_of_version_1_name_the_resource() -> None:
    key, column = "autoscaling/v1/horizontalpodautoscalers", "Targets"
    obj: Obj = {"spec": {"targetCPUUtilizationPercentage": 50}}
    assert _cell(key, column, obj) == ["<unknown>/50%", "cpu: <unknown>/50%"]
    memory = [{"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}]
    obj = {
        "metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": json.dumps(memory)}}
    }
    assert _cell(key, column, obj) == ["<unknown>/1Gi", "memory: <unknown>/1Gi"]
