"""The controllers of workloads."""

from __future__ import annotations

from fairlead.controllers.framework import Controller
from fairlead.controllers.surroundings import Build, Surroundings
from fairlead.controllers.workloads.autoscalers.controller import Autoscalers
from fairlead.controllers.workloads.cron_jobs.controller import CronJobs
from fairlead.controllers.workloads.daemon_sets.controller import DaemonSets
from fairlead.controllers.workloads.deployments.controller import Deployments
from fairlead.controllers.workloads.finished_jobs import FinishedJobs
from fairlead.controllers.workloads.jobs.controller import Jobs
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


def _jobs(given: Surroundings) -> Controller:
    client = given.client("job-controller")
    return Jobs(given.api, client, given.recorder(client, "job-controller"), given.pods)


def _cron_jobs(given: Surroundings) -> Controller:
    client = given.client("cronjob-controller")
    return CronJobs(given.api, client, given.recorder(client, "cronjob-controller"))


def _autoscalers(given: Surroundings) -> Controller:
    client = given.client("horizontal-pod-autoscaler")
    events = given.recorder(client, "horizontal-pod-autoscaler")
    return Autoscalers(given.api, client, events)


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
    "cronjob": _cron_jobs,
    "daemonset": _daemon_sets,
    "deployment": _deployments,
    "horizontalpodautoscaling": _autoscalers,
    "job": _jobs,
    "replicaset": _replica_sets,
    "replicationcontroller": _replication_controllers,
    "statefulset": _stateful_sets,
    "ttl-after-finished": _finished_jobs,
}
