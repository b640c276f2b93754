"""Kinds of the apps group."""

from fairlead.kinds.apps.controller_revisions import ControllerRevisionBehaviour
from fairlead.kinds.apps.daemon_sets import DaemonSetBehaviour
from fairlead.kinds.apps.deployments import DeploymentBehaviour
from fairlead.kinds.apps.replica_sets import ReplicaSetBehaviour
from fairlead.kinds.apps.stateful_sets import StatefulSetBehaviour
from fairlead.kinds.behaviour import Behaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "apps/v1/controllerrevisions": ControllerRevisionBehaviour,
    "apps/v1/daemonsets": DaemonSetBehaviour,
    "apps/v1/deployments": DeploymentBehaviour,
    "apps/v1/replicasets": ReplicaSetBehaviour,
    "apps/v1/statefulsets": StatefulSetBehaviour,
}
