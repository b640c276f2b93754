"""What is wanted, and what the v1.25 reference needs for the same work, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """Figures share the row's unit: µs of server CPU per request, ms, or MB."""

    title: str
    limit: float | None = None
    reference: float | None = None
    least_rate: float | None = None
    reference_rate: float | None = None


TARGETS: dict[str, Target] = {
    "start-fresh": Target("start to ready, fresh data directory", 600, 2900),
    "memory-idle": Target("resident memory, idle", 63, 313),
    "get": Target("get a 1 KB ConfigMap", 90, 540, reference_rate=3200),
    "create-configmap": Target("create 1 KB ConfigMaps", 270, 1340, reference_rate=1370),
    "create-pod": Target("create two-container Pods", 520, 2600, reference_rate=720),
    "update-configmap": Target("update 64 ConfigMaps in turn", 400),
    "update-pod": Target("update 64 Pods in turn"),
    "patch-64": Target("merge-patch 64 ConfigMaps in turn", 450, 2300, reference_rate=800),
    "patch-pod": Target("merge-patch 64 Pods in turn"),
    "patch-hot": Target(
        "merge-patch one hot ConfigMap", None, 15000, least_rate=1500, reference_rate=120
    ),
    "apply-pod": Target("apply an unchanged Pod (1 connection)", 600, 7500, reference_rate=150),
    "list-500": Target("list 500 of 11,000 ConfigMaps", 1600, 16000, reference_rate=120),
    "list-all": Target("list all 11,000 ConfigMaps", 30000, 310000, reference_rate=6),
    "list-all-rv0": Target("the same, resourceVersion=0", 30000, 157000, reference_rate=12),
    "watch-100": Target("an event to one of 100 watchers", 25, 51, reference_rate=21800),
    "watch-1000": Target("an event to one of 1,000 watchers", 25),
    "watch-100-one": Target("the same, one create at a time", 25),
    "watch-1000-one": Target("the same, one create at a time", 25),
    "etcd-alone": Target("such transactions, etcd alone"),
    "get-at-100": Target("get with 100 objects"),
    "get-at-11000": Target("get with 11,000 objects"),
    "create-at-100": Target("create with 100 objects"),
    "create-at-11000": Target("create with 11,000 objects"),
    "memory-filled": Target("resident, 11,000 ConfigMaps, 6,000 Pods", 222, 1110),
    "start-filled": Target("start to ready on that data", 600),
    "memory-restarted": Target("resident after that start", 222),
}

# The same work with 11,000 objects may cost this much more than with 100 (noise, not growth).
GROWTH = 1.15
# Creates of 16 clients on etcd, at least this share of what it takes without a server before it.
OF_ETCD_ALONE = 0.6
# How much more CPU of ours works may cost than in one process with the embedded store.
ON_ETCD = {"get": 1.2, "create-configmap": 2.0}
WITH_WORKERS = {"get": 1.1}
