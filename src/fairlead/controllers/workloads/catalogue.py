"""The controllers of workloads. Each is loaded lazily, when the first object for it exists."""

from __future__ import annotations

from fairlead.controllers.dependencies import Later, Surroundings
from fairlead.controllers.framework import Reconciler

_PODS = "core/v1/pods"
_JOBS = "batch/v1/jobs"
_REPLICA_SETS, _REPLICATION_CONTROLLERS = "apps/v1/replicasets", "core/v1/replicationcontrollers"


def _replica_sets(given: Surroundings) -> Reconciler:
    return _replicas(given, _REPLICA_SETS, "replicaset-controller")


def _replication_controllers(given: Surroundings) -> Reconciler:
    return _replicas(given, _REPLICATION_CONTROLLERS, "replication-controller")


def _replicas(given: Surroundings, resource: str, name: str) -> Reconciler:
    from fairlead.controllers.workloads.replicas import Replicas

    client = given.client(name)
    return Replicas(resource, given.api, client, given.recorder(client, name), given.pods)


def _deployments(given: Surroundings) -> Reconciler:
    from fairlead.controllers.workloads.deployments.controller import Deployments

    client = given.client("deployment-controller")
    events = given.recorder(client, "deployment-controller")
    return Deployments(given.api, client, events, given.pods)


def _jobs(given: Surroundings) -> Reconciler:
    from fairlead.controllers.workloads.jobs.controller import Jobs

    client = given.client("job-controller")
    return Jobs(given.api, client, given.recorder(client, "job-controller"), given.pods)


def _cron_jobs(given: Surroundings) -> Reconciler:
    from fairlead.controllers.workloads.cron_jobs.controller import CronJobs

    client = given.client("cronjob-controller")
    return CronJobs(given.api, client, given.recorder(client, "cronjob-controller"))


def _autoscalers(given: Surroundings) -> Reconciler:
    from fairlead.controllers.workloads.autoscalers.controller import Autoscalers

    client = given.client("horizontal-pod-autoscaler")
    events = given.recorder(client, "horizontal-pod-autoscaler")
    return Autoscalers(given.api, client, events)


def _daemon_sets(given: Surroundings) -> Reconciler:
    from fairlead.controllers.workloads.daemon_sets.controller import DaemonSets

    client = given.client("daemon-set-controller")
    return DaemonSets(given.api, client, given.recorder(client, "daemonset-controller"), given.pods)


def _stateful_sets(given: Surroundings) -> Reconciler:
    from fairlead.controllers.workloads.stateful_sets.controller import StatefulSets

    client = given.client("statefulset-controller")
    events = given.recorder(client, "statefulset-controller")
    return StatefulSets(given.api, client, events, given.pods)


def _finished_jobs(given: Surroundings) -> Reconciler:
    from fairlead.controllers.workloads.finished_jobs import FinishedJobs

    return FinishedJobs(given.client("ttl-after-finished-controller"))


BUILDERS: dict[str, Later] = {
    "cronjob": Later("cronjob", ("batch/v1/cronjobs",), _cron_jobs),
    "daemonset": Later("daemonset", ("apps/v1/daemonsets",), _daemon_sets),
    "deployment": Later("deployment", ("apps/v1/deployments",), _deployments),
    "horizontalpodautoscaling": Later(
        "horizontalpodautoscaling", ("autoscaling/v2/horizontalpodautoscalers",), _autoscalers
    ),
    "job": Later("job", (_JOBS, _PODS), _jobs),  # pods without a Job may have its finalizer
    "replicaset": Later("replicaset", (_REPLICA_SETS,), _replica_sets),
    "replicationcontroller": Later(
        "replicationcontroller", (_REPLICATION_CONTROLLERS,), _replication_controllers
    ),
    "statefulset": Later("statefulset", ("apps/v1/statefulsets",), _stateful_sets),
    "ttl-after-finished": Later("ttl-after-finished-controller", (_JOBS,), _finished_jobs),
}
