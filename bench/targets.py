"""Targets, the v1.25 reference's figures for the same workload, and our bottlenecks, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """Figures have the row's unit: µs of server CPU per request, ms, or MB."""

    title: str
    limit: float | None = None
    reference: float | None = None
    min_rate: float | None = None
    bounds: str = ""


_HTTP = "HTTP, TLS and system calls"
_BYTES = "TLS and copying the body"
_PARSING = "parsing the stored JSON"
_COMMIT = "ownership, admission and the commit"
_RULES = "decoding, defaults and validation of new content"
_RECORDS = "a TLS record and a system call per watcher"
_SLICES = "the longest slice of encoding"

TARGETS: dict[str, Target] = {
    "start-fresh": Target("start to ready, fresh data directory", 400, 2900, bounds="imports"),
    "memory-idle": Target("resident memory, idle", 60, 313, bounds="modules and built-in types"),
    "get": Target("get a 1 KB ConfigMap", 40, 540, bounds=_HTTP),
    "get-pod": Target("get a two-container Pod", bounds=_HTTP),
    "get-proto": Target("get a ConfigMap as protobuf", 80, bounds=_HTTP),
    "get-pod-proto": Target("get a Pod as protobuf", 80, 390, bounds=_HTTP),
    "list-pods-json-first": Target("list 500 Pods, the first time", bounds=_BYTES),
    "list-pods-json": Target("the same, again", bounds=_BYTES),
    "list-pods-proto-first": Target(
        "list 500 Pods as protobuf, the first time",
        60_000,
        45_000,
        bounds=f"{_PARSING} and encoding each field",
    ),
    "list-pods-proto": Target("the same, again", 2_500, 45_000, bounds=_BYTES),
    "list-pods-table-first": Target(
        "list 500 Pods as a Table, the first time", 25_000, 48_000, bounds=_PARSING
    ),
    "list-pods-table": Target("the same, again", 4_000, 48_000, bounds=_BYTES),
    "list-500": Target("list 500 of 11,000 ConfigMaps", 1600, 16_000, bounds=_BYTES),
    "list-all": Target("list all 11,000 ConfigMaps", 30_000, 310_000, bounds=_BYTES),
    "list-all-rv0": Target("the same, resourceVersion=0", 30_000, 157_000, bounds=_BYTES),
    "select-none": Target("a label selector that finds none of 20,000", 300, 175_000, bounds=_HTTP),
    "select-100": Target(
        "a label selector that finds 100 of 20,000", 1000, bounds="sending 100 objects"
    ),
    "create-configmap": Target("create 1 KB ConfigMaps", 230, 1340, bounds=_COMMIT),
    "create-configmap-proto": Target("the same in protobuf", None, 1340, bounds=_COMMIT),
    "create-pod": Target("create two-container Pods", 450, 2600, bounds=_RULES),
    "create-pod-proto": Target("the same in protobuf", None, 2600, bounds=_RULES),
    "update-configmap": Target("update ConfigMaps", 400, bounds=_COMMIT),
    "update-pod": Target("update Pods", bounds=_RULES),
    "patch": Target("merge-patch ConfigMaps", 250, 2300, bounds=_COMMIT),
    "patch-pod": Target("merge-patch Pods", bounds=_RULES),
    "patch-hot": Target(
        "merge-patch one hot ConfigMap", None, 15_000, min_rate=1500, bounds=_COMMIT
    ),
    "apply-label": Target("apply that changes one label of a Pod", 500, 7200, bounds=_RULES),
    "apply-pod": Target("apply an unchanged Pod (1 connection)", 150, 7500, bounds=_HTTP),
    "watch-100": Target("an event to one of 100 watchers", 25, 51, bounds=_RECORDS),
    "watch-1000": Target("an event to one of 1,000 watchers", 25, bounds=_RECORDS),
    "watch-100-one": Target(
        "an event to one of 100 watchers, one create at a time", 12, 51, bounds=_RECORDS
    ),
    "watch-1000-one": Target("the same with 1,000 watchers", 12, bounds=_RECORDS),
    "stall-json": Target("longest wait for /livez beside a list of 20,000", 30, bounds=_SLICES),
    "stall-gzip": Target("the same, list compressed", 30, bounds=_SLICES),
    "stall-pretty": Target("the same, list indented", 30, bounds=_SLICES),
    "stall-yaml": Target("the same, list as YAML", 30, bounds=_SLICES),
    "stall-proto": Target("the same, list as protobuf", 30, bounds=_SLICES),
    "stall-table": Target("the same, list as a Table", 30, bounds=_SLICES),
    "get-mixed": Target("p99.9 of gets beside a mixed load", 30, bounds="the longest slice"),
    "etcd-alone": Target("the same transactions, etcd alone"),
    "get-at-100": Target("get with 100 objects", bounds=_HTTP),
    "get-at-11000": Target("get with 11,000 objects", bounds=_HTTP),
    "create-at-100": Target("create with 100 objects", bounds=_COMMIT),
    "create-at-11000": Target("create with 11,000 objects", bounds=_COMMIT),
    "watches-idle": Target("10,000 idle watches, memory above idle", 250, bounds="TLS state"),
    "memory-filled": Target(
        "resident, 20,000 ConfigMaps, 6,000 Pods (reference: 11,000 and 6,000)",
        None,
        1110,
        bounds="the stored bytes, metadata of each version, history",
    ),
    "start-filled": Target("start to ready with 100,000 objects", 2500, bounds="reading the log"),
    "memory-restarted": Target("resident after that start", bounds="the stored bytes"),
}

# Allowed cost of a create by protobuf, relative to JSON.
BY_PROTOBUF = 1.2
# MB that 20,000 ConfigMaps and 6,000 Pods may take on top of idle memory and their bytes.
ABOVE_IDLE_AND_STORED = 130
# Allowed cost with 11,000 objects, relative to 100 (noise, not growth).
GROWTH = 1.15
# Required rate of creates of 16 clients on etcd, relative to etcd without a server.
OF_ETCD_ALONE = 0.6
# Allowed CPU cost, relative to one process with the embedded store.
ON_ETCD = {"get": 1.2, "create-configmap": 2.0}
WITH_WORKERS = {"get": 1.1}

# Works that are measured only beside a reference in the same run.
BESIDE = {
    "list-20000": "list all 20,000 ConfigMaps",
    "list-20000-rv0": "the same, resourceVersion=0",
    "apply-forced": "the same with force=true",
    "apply-yaml": "the same in YAML",
    "apply-in-turn": "the same, two managers in turn",
    "create-custom": "create custom resources, a schema of 200 fields",
    "apply-custom": "apply that changes a text of one",
    "memory-after": "resident after all of these",
}
# Allowed cost relative to the reference with its etcd, measured in the same run.
RATIOS = {
    "memory-idle": 0.17,
    "get": 0.09,
    "list-pods-proto-first": 0.5,
    "list-pods-table-first": 0.5,
    "list-20000": 0.06,
    "list-20000-rv0": 0.12,
    "create-configmap": 0.18,
    "create-configmap-proto": 0.18,
    "create-pod": 0.18,
    "create-pod-proto": 0.18,
    "patch": 0.15,
    "patch-pod": 0.15,
    "apply-label": 0.07,
    "apply-forced": 0.07,
    "apply-yaml": 0.07,
    "apply-in-turn": 0.07,
    "create-custom": 0.3,
    "apply-custom": 0.3,
    "watch-100-one": 0.2,
    "memory-after": 0.18,
}
