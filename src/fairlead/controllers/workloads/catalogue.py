"""The controllers of workloads. Each is loaded lazily, when the first object for it exists."""

from __future__ import annotations

from fairlead.controllers.dependencies import Dependencies, LazyBuild
from fairlead.controllers.framework import Reconciler
from fairlead.controllers.workloads import finished_jobs, replicas
from fairlead.controllers.workloads.autoscalers import controller as autoscalers
from fairlead.controllers.workloads.cron_jobs import controller as cron_jobs
from fairlead.controllers.workloads.daemon_sets import controller as daemon_sets
from fairlead.controllers.workloads.deployments import controller as deployments
from fairlead.controllers.workloads.jobs import controller as jobs
from fairlead.controllers.workloads.stateful_sets import controller as stateful_sets

_PODS = "core/v1/pods"
_JOBS = "batch/v1/jobs"
_REPLICA_SETS, _REPLICATION_CONTROLLERS = "apps/v1/replicasets", "core/v1/replicationcontrollers"


def _replica_sets(dependencies: Dependencies) -> Reconciler:
    return _replicas(dependencies, _REPLICA_SETS, "replicaset-controller")


def _replication_controllers(dependencies: Dependencies) -> Reconciler:
    return _replicas(dependencies, _REPLICATION_CONTROLLERS, "replication-controller")


def _replicas(dependencies: Dependencies, resource: str, name: str) -> Reconciler:
    client = dependencies.client(name)
    return replicas.Replicas(
        resource, dependencies.api, client, dependencies.recorder(client, name), dependencies.pods
    )


def _deployments(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("deployment-controller")
    events = dependencies.recorder(client, "deployment-controller")
    return deployments.Deployments(dependencies.api, client, events, dependencies.pods)


def _jobs(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("job-controller")
    return jobs.Jobs(
        dependencies.api, client, dependencies.recorder(client, "job-controller"), dependencies.pods
    )


def _cron_jobs(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("cronjob-controller")
    return cron_jobs.CronJobs(
        dependencies.api, client, dependencies.recorder(client, "cronjob-controller")
    )


def _autoscalers(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("horizontal-pod-autoscaler")
    events = dependencies.recorder(client, "horizontal-pod-autoscaler")
    metrics = dependencies.dialect.group_name("metrics.@")
    return autoscalers.Autoscalers(
        dependencies.api, client, events, lambda: dependencies.remote.serves(metrics, "v1beta1")
    )


def _daemon_sets(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("daemon-set-controller")
    return daemon_sets.DaemonSets(
        dependencies.api,
        client,
        dependencies.recorder(client, "daemonset-controller"),
        dependencies.pods,
    )


def _stateful_sets(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("statefulset-controller")
    events = dependencies.recorder(client, "statefulset-controller")
    return stateful_sets.StatefulSets(dependencies.api, client, events, dependencies.pods)


def _finished_jobs(dependencies: Dependencies) -> Reconciler:
    return finished_jobs.FinishedJobs(dependencies.client("ttl-after-finished-controller"))


BUILDERS: dict[str, LazyBuild] = {
    "cronjob": LazyBuild("cronjob", ("batch/v1/cronjobs",), _cron_jobs),
    "daemonset": LazyBuild("daemonset", ("apps/v1/daemonsets",), _daemon_sets),
    "deployment": LazyBuild("deployment", ("apps/v1/deployments",), _deployments),
    "horizontalpodautoscaling": LazyBuild(
        "horizontalpodautoscaling", ("autoscaling/v2/horizontalpodautoscalers",), _autoscalers
    ),
    "job": LazyBuild("job", (_JOBS, _PODS), _jobs),  # pods without a Job may have its finalizer
    "replicaset": LazyBuild("replicaset", (_REPLICA_SETS,), _replica_sets),
    "replicationcontroller": LazyBuild(
        "replicationcontroller", (_REPLICATION_CONTROLLERS,), _replication_controllers
    ),
    "statefulset": LazyBuild("statefulset", ("apps/v1/statefulsets",), _stateful_sets),
    "ttl-after-finished": LazyBuild("ttl-after-finished-controller", (_JOBS,), _finished_jobs),
}
