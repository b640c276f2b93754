"""Kinds of the apps group."""

BEHAVIOURS: dict[str, str] = {
    "apps/v1/controllerrevisions": "controller_revisions.ControllerRevisionBehaviour",
    "apps/v1/daemonsets": "daemon_sets.DaemonSetBehaviour",
    "apps/v1/deployments": "deployments.DeploymentBehaviour",
    "apps/v1/replicasets": "deployments.ReplicaSetBehaviour",
    "apps/v1/statefulsets": "stateful_sets.StatefulSetBehaviour",
}
