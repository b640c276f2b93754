"""The controllers of nodes. Each is loaded lazily, when the first object for it exists."""

from __future__ import annotations

from fairlead.controllers.dependencies import Dependencies, LazyBuild
from fairlead.controllers.framework import Reconciler
from fairlead.controllers.nodes import pod_collection, taint_eviction, ttl
from fairlead.controllers.nodes.lifecycle import controller as lifecycle
from fairlead.controllers.nodes.lifecycle import zones

_NODES, _PODS = "core/v1/nodes", "core/v1/pods"


def _pod_collection(dependencies: Dependencies) -> Reconciler:
    return pod_collection.PodCollection(
        dependencies.client("pod-garbage-collector"),
        dependencies.dialect,
        dependencies.api.gates,
        dependencies.pods_by_node,
        dependencies.options.terminated_pod_gc_threshold,
    )


def _node_ttl(dependencies: Dependencies) -> Reconciler:
    return ttl.NodeTtl(dependencies.client("ttl-controller"), dependencies.dialect)


def _node_lifecycle(dependencies: Dependencies) -> Reconciler:
    client, flags = dependencies.client("node-controller"), dependencies.options
    patience = lifecycle.Timeouts(
        flags.node_monitor_grace_period, flags.node_startup_grace_period, flags.node_monitor_period
    )
    rates = zones.Rates(
        flags.node_eviction_rate,
        flags.secondary_node_eviction_rate,
        flags.unhealthy_zone_threshold,
        flags.large_cluster_size_threshold,
    )
    recorder = dependencies.recorder(client, "node-controller")
    return lifecycle.NodeLifecycle(
        client, recorder, dependencies.dialect, dependencies.pods_by_node, patience, rates
    )


def _taint_eviction(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("node-controller")
    conditions = dependencies.api.gates["PodDisruptionConditions"]
    recorder = dependencies.recorder(client, "taint-controller")
    return taint_eviction.TaintEviction(
        client, recorder, dependencies.pods_by_node, conditions=conditions
    )


BUILDERS: dict[str, LazyBuild] = {
    "nodelifecycle": LazyBuild("node-lifecycle-controller", (_NODES,), _node_lifecycle),
    "podgc": LazyBuild("pod-garbage-collector", (_PODS,), _pod_collection),
    "ttl": LazyBuild("ttl-controller", (_NODES,), _node_ttl),
}
# Additional controllers that run with the named one.
COMPANIONS: dict[str, LazyBuild] = {
    "nodelifecycle": LazyBuild("taint-eviction-controller", (_NODES,), _taint_eviction)
}
