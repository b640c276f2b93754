"""The controllers of nodes."""

from __future__ import annotations

from fairlead.controllers.framework import Controller
from fairlead.controllers.nodes.lifecycle.controller import NodeLifecycle, Patience
from fairlead.controllers.nodes.lifecycle.zones import Rates
from fairlead.controllers.nodes.pod_collection import PodCollection
from fairlead.controllers.nodes.taint_eviction import TaintEviction
from fairlead.controllers.nodes.ttl import NodeTtl
from fairlead.controllers.surroundings import Build, Surroundings


def _pod_collection(given: Surroundings) -> Controller:
    return PodCollection(
        given.client("pod-garbage-collector"),
        given.dialect,
        given.api.gates,
        given.pods_by_node,
        given.options.terminated_pod_gc_threshold,
    )


def _node_ttl(given: Surroundings) -> Controller:
    return NodeTtl(given.client("ttl-controller"), given.dialect)


def _node_lifecycle(given: Surroundings) -> Controller:
    client, flags = given.client("node-controller"), given.options
    patience = Patience(
        flags.node_monitor_grace_period, flags.node_startup_grace_period, flags.node_monitor_period
    )
    rates = Rates(
        flags.node_eviction_rate,
        flags.secondary_node_eviction_rate,
        flags.unhealthy_zone_threshold,
        flags.large_cluster_size_threshold,
    )
    recorder = given.recorder(client, "node-controller")
    return NodeLifecycle(client, recorder, given.dialect, given.pods_by_node, patience, rates)


def _taint_eviction(given: Surroundings) -> Controller:
    client, told = given.client("node-controller"), given.api.gates["PodDisruptionConditions"]
    recorder = given.recorder(client, "taint-controller")
    return TaintEviction(client, recorder, given.pods_by_node, conditions=told)


BUILDERS: dict[str, Build] = {
    "nodelifecycle": _node_lifecycle,
    "podgc": _pod_collection,
    "ttl": _node_ttl,
}
# What runs beside a controller under its name.
COMPANIONS: dict[str, Build] = {"nodelifecycle": _taint_eviction}
