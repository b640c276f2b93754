"""Columns of every built-in kind, and texts that cells share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlead.base.dialect import KUBERNETES
from fairlead.resources.columns.cell_text import (
    duration_text,
    moment,
    selector_at,
    shortened,
    since,
)
from fairlead.resources.columns.model import Column
from fairlead.resources.columns.registry import DEFAULT, printer_for

NOW = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC)

# A column is its name, `:type` unless string, `/name` for that format, `*` if only shown wide.
COLUMNS = """
core/v1/componentstatuses
    Name/name, Status, Message, Error
core/v1/configmaps
    Name/name, Data, Age
core/v1/endpoints
    Name/name, Endpoints, Age
core/v1/events
    Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*,
    Name/name*
core/v1/limitranges
    Name/name, Created At:date
core/v1/namespaces
    Name/name, Status, Age
core/v1/nodes
    Name/name, Status, Roles, Age, Version, Internal-IP*, External-IP*, OS-Image*,
    Kernel-Version*, Container-Runtime*
core/v1/persistentvolumeclaims
    Name/name, Status, Volume, Capacity, Access Modes, StorageClass, Age, VolumeMode*
core/v1/persistentvolumes
    Name/name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, Reason, Age,
    VolumeMode*
core/v1/pods
    Name/name, Ready, Status, Restarts, Age, IP*, Node*, Nominated Node*, Readiness Gates*
core/v1/podtemplates
    Name/name, Containers, Images, Pod Labels
core/v1/replicationcontrollers
    Name/name, Desired:integer, Current:integer, Ready:integer, Age, Containers*, Images*,
    Selector*
core/v1/resourcequotas
    Name/name, Age, Request, Limit
core/v1/secrets
    Name/name, Type, Data, Age
core/v1/serviceaccounts
    Name/name, Secrets, Age
core/v1/services
    Name/name, Type, Cluster-IP, External-IP, Port(s), Age, Selector*
admissionregistration/v1/mutatingwebhookconfigurations
    Name/name, Webhooks:integer, Age
admissionregistration/v1/validatingwebhookconfigurations
    Name/name, Webhooks:integer, Age
apiextensions/v1/customresourcedefinitions
    Name/name, Created At:date
apiregistration/v1/apiservices
    Name/name, Service, Available, Age
apps/v1/controllerrevisions
    Name/name, Controller, Revision, Age
apps/v1/daemonsets
    Name/name, Desired:integer, Current:integer, Ready:integer, Up-to-date:integer,
    Available:integer, Node Selector, Age, Containers*, Images*, Selector*
apps/v1/deployments
    Name/name, Ready, Up-to-date, Available, Age, Containers*, Images*, Selector*
apps/v1/replicasets
    Name/name, Desired:integer, Current:integer, Ready:integer, Age, Containers*, Images*,
    Selector*
apps/v1/statefulsets
    Name/name, Ready, Age, Containers*, Images*
autoscaling/v1/horizontalpodautoscalers
    Name/name, Reference, Targets, MinPods, MaxPods, Replicas, Age
autoscaling/v2/horizontalpodautoscalers
    Name/name, Reference, Targets, MinPods, MaxPods, Replicas, Age
autoscaling/v2beta2/horizontalpodautoscalers
    Name/name, Reference, Targets, MinPods, MaxPods, Replicas, Age
batch/v1/cronjobs
    Name/name, Schedule, Suspend:boolean, Active:integer, Last Schedule, Age, Containers*,
    Images*, Selector*
batch/v1/jobs
    Name/name, Completions, Duration, Age, Containers*, Images*, Selector*
certificates/v1/certificatesigningrequests
    Name/name, Age, SignerName, Requestor, RequestedDuration, Condition
coordination/v1/leases
    Name/name, Holder, Age
discovery/v1/endpointslices
    Name/name, AddressType, Ports, Endpoints, Age
events/v1/events
    Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*,
    Name/name*
flowcontrol/v1beta1/flowschemas
    Name/name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL
flowcontrol/v1beta1/prioritylevelconfigurations
    Name/name, Type, AssuredConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age
flowcontrol/v1beta2/flowschemas
    Name/name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL
flowcontrol/v1beta2/prioritylevelconfigurations
    Name/name, Type, AssuredConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age
networking/v1/ingressclasses
    Name/name, Controller, Parameters, Age
networking/v1/ingresses
    Name/name, Class, Hosts, Address, Ports, Age
networking/v1/networkpolicies
    Name/name, Pod-Selector, Age
node/v1/runtimeclasses
    Name/name, Handler, Age
policy/v1/poddisruptionbudgets
    Name/name, Min Available, Max Unavailable, Allowed Disruptions:integer, Age
rbac/v1/clusterrolebindings
    Name/name, Role, Age, Users*, Groups*, ServiceAccounts*
rbac/v1/clusterroles
    Name/name, Created At:date
rbac/v1/rolebindings
    Name/name, Role, Age, Users*, Groups*, ServiceAccounts*
rbac/v1/roles
    Name/name, Created At:date
scheduling/v1/priorityclasses
    Name/name, Value:integer, Global-Default:boolean, Age
storage/v1/csidrivers
    Name/name, AttachRequired:boolean, PodInfoOnMount:boolean, StorageCapacity:boolean,
    TokenRequests, RequiresRepublish:boolean, Modes, Age
storage/v1/csinodes
    Name/name, Drivers:integer, Age
storage/v1/csistoragecapacities
    Name/name, Created At:date
storage/v1/storageclasses
    Name/name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age
storage/v1/volumeattachments
    Name/name, Attacher/name, PV, Node, Attached:boolean, Age
storage/v1beta1/csistoragecapacities
    Name/name, Created At:date
policy/v1beta1/podsecuritypolicies
    Name/name, Priv, Caps, SELinux, RunAsUser, FsGroup, SupGroup, ReadOnlyRootFs, Volumes
"""


def _columns() -> list[tuple[str, str]]:
    result: dict[str, list[str]] = {}
    for line in COLUMNS.strip().splitlines():
        if line.startswith(" "):
            result[list(result)[-1]].append(line.strip())
        else:
            result[line] = []
    return [(key, " ".join(lines)) for key, lines in result.items()]


def _written(column: Column) -> str:
    kind = "" if column.type == "string" else f":{column.type}"
    form = f"/{column.format}" if column.format else ""
    return f"{column.name}{kind}{form}{'*' if column.priority else ''}"


@pytest.mark.parametrize(("key", "expected"), _columns())
def test_columns(key: str, expected: str) -> None:
    columns = printer_for(key, KUBERNETES).columns
    assert ", ".join(map(_written, columns)) == expected
    assert all(column.description for column in columns)


@pytest.mark.parametrize("key", [key for key, _ in _columns()])
def test_an_empty_object_fills_every_column(key: str) -> None:
    printer = printer_for(key, KUBERNETES)
    assert len(printer.cells({}, NOW)) == len(printer.columns)


def test_column_as_dict() -> None:
    assert Column("A", "integer", "int32", 1, "d").as_dict() == {
        "name": "A",
        "type": "integer",
        "format": "int32",
        "description": "d",
        "priority": 1,
    }


@pytest.mark.parametrize(
    ("key", "same_as"),
    [
        ("core/v1/pods/status", "core/v1/pods"),
        (
            "certificates/v1/certificatesigningrequests/approval",
            "certificates/v1/certificatesigningrequests",
        ),
        ("apps/v1/deployments/scale", "core/v1/replicationcontrollers/scale"),
    ],
)
def test_subresources(key: str, same_as: str) -> None:
    assert printer_for(key) is printer_for(same_as)


@pytest.mark.parametrize(
    "key", ["rbac/v1/roles", "core/v1/limitranges", "nowhere/v1/things", "core/v1/pods/eviction"]
)
def test_default(key: str) -> None:
    assert printer_for(key) is DEFAULT


@pytest.mark.parametrize(
    ("metadata", "cells"),
    [
        ({"name": "a", "creationTimestamp": "2024-01-01T00:00:00Z"}, ["a", "2024-01-01T00:00:00Z"]),
        ({"name": "a"}, ["a", "0001-01-01T00:00:00Z"]),
    ],
)
def test_default_cells(metadata: dict[str, Any], cells: list[Any]) -> None:
    assert DEFAULT.cells({"metadata": metadata}, NOW) == cells


MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (5.9, "5s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 30, "2m30s"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE + 59, "3h5m"),
        (8 * HOUR + 5 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (4 * DAY + 2 * HOUR, "4d2h"),
        (8 * DAY + 2 * HOUR, "8d"),
        (729 * DAY, "729d"),
        (2 * 365 * DAY, "2y"),
        (3 * 365 * DAY + 7 * DAY, "3y7d"),
        (9 * 365 * DAY + 7 * DAY, "9y"),
    ],
)
def test_duration_text(seconds: float, words: str) -> None:
    assert duration_text(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("stamp", "words"),
    [
        ("2024-05-01T11:55:00Z", "5m"),
        ("2024-05-01T11:59:58.123456Z", "1s"),
        ("2024-05-01T13:59:00+02:00", "60s"),
        (None, "<unknown>"),
        ("", "<unknown>"),
        ("0001-01-01T00:00:00Z", "<unknown>"),
    ],
)
def test_since(stamp: str | None, words: str) -> None:
    assert since(stamp, NOW) == words


def test_moment_without_zone_is_utc() -> None:
    assert moment("2024-05-01T12:00:00") == NOW


@pytest.mark.parametrize(
    ("entries", "words"),
    [([], ""), (["a", "b"], "a,b"), (["a", "b", "c"], "a,b + 1 more...")],
)
def test_shortened(entries: list[str], words: str) -> None:
    assert shortened(entries, 2) == words


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (None, "<none>"),
        ({}, "<none>"),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            {"matchExpressions": [{"key": "k", "operator": "In", "values": ["b", "a"]}]},
            "k in (a,b)",
        ),
        ({"matchExpressions": [{"key": "k", "operator": "NotIn", "values": ["a"]}]}, "k notin (a)"),
        ({"matchExpressions": [{"key": "k", "operator": "Exists"}]}, "k"),
        (
            {
                "matchLabels": {"z": "1"},
                "matchExpressions": [{"key": "k", "operator": "DoesNotExist"}],
            },
            "!k,z=1",
        ),
        ({"matchExpressions": [{"key": "k", "operator": "In"}]}, "<error>"),
        ({"matchExpressions": [{"key": "k", "operator": "Exists", "values": ["a"]}]}, "<error>"),
        ({"matchExpressions": [{"key": "k", "operator": "Like", "values": ["a"]}]}, "<error>"),
    ],
)
def test_selector(selector: dict[str, Any] | None, words: str) -> None:
    assert selector_at("s")({"s": selector}) == words
