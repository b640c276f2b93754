"""The controllers of workloads."""

from __future__ import annotations

from fairlead.controllers.framework import Controller
from fairlead.controllers.surroundings import Build, Surroundings
from fairlead.controllers.workloads.daemon_sets.controller import DaemonSets
from fairlead.controllers.workloads.deployments.controller import Deployments
from fairlead.controllers.workloads.finished_jobs import FinishedJobs
from fairlead.controllers.workloads.replicas import REPLICA_SETS, REPLICATION_CONTROLLERS, Replicas
from fairlead.controllers.workloads.stateful_sets.controller import StatefulSets


def _replica_sets(given: Surroundings) -> Controller:
    return _replicas(given, REPLICA_SETS, "replicaset-controller")


def _replication_controllers(given: Surroundings) -> Controller:
    return _replicas(given, REPLICATION_CONTROLLERS, "replication-controller")


def _replicas(given: Surroundings, resource: str, name: str) -> Controller:
    client = given.client(name)
    return Replicas(resource, given.api, client, given.recorder(client, name), given.pods)


def _deployments(given: Surroundings) -> Controller:
    client = given.client("deployment-controller")
    events = given.recorder(client, "deployment-controller")
    return Deployments(given.api, client, events, given.pods)


def _daemon_sets(given: Surroundings) -> Controller:
    client = given.client("daemon-set-controller")
    return DaemonSets(given.api, client, given.recorder(client, "daemonset-controller"), given.pods)


def _stateful_sets(given: Surroundings) -> Controller:
    client = given.client("statefulset-controller")
    events = given.recorder(client, "statefulset-controller")
    return StatefulSets(given.api, client, events, given.pods)


def _finished_jobs(given: Surroundings) -> Controller:
    return FinishedJobs(given.client("ttl-after-finished-controller"))


BUILDERS: dict[str, Build] = {
    "daemonset": _daemon_sets,
    "deployment": _deployments,
    "replicaset": _replica_sets,
    "replicationcontroller": _replication_controllers,
    "statefulset": _stateful_sets,
    "ttl-after-finished": _finished_jobs,
}
