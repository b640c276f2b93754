"""The table of layouts by kind."""

from __future__ import annotations

from importlib import import_module

from fairlead.base.dialect import Dialect
from fairlead.cli.describe.layout import Layout
from fairlead.client import ResourceType

# By group (`@` stands for the domain) and kind: module and name of the layout. Modules are imported
# lazily.
LAYOUTS: dict[tuple[str, str], str] = {
    ("", "Pod"): "pods.POD",
    ("", "Node"): "nodes.NODE",
    ("", "Namespace"): "namespaces.NAMESPACE",
    ("", "ResourceQuota"): "namespaces.RESOURCE_QUOTA",
    ("", "LimitRange"): "namespaces.LIMIT_RANGE",
    ("", "Service"): "services.SERVICE",
    ("", "Endpoints"): "endpoints.ENDPOINTS",
    ("", "ConfigMap"): "configuration.CONFIG_MAP",
    ("", "Secret"): "configuration.SECRET",
    ("", "ServiceAccount"): "configuration.SERVICE_ACCOUNT",
    ("", "PersistentVolume"): "volumes.PERSISTENT_VOLUME",
    ("", "PersistentVolumeClaim"): "volumes.PERSISTENT_VOLUME_CLAIM",
    ("", "ReplicationController"): "workloads.REPLICATION_CONTROLLER",
    ("apps", "ReplicaSet"): "workloads.REPLICA_SET",
    ("apps", "Deployment"): "workloads.DEPLOYMENT",
    ("apps", "StatefulSet"): "workloads.STATEFUL_SET",
    ("apps", "DaemonSet"): "workloads.DAEMON_SET",
    ("batch", "Job"): "batch.JOB",
    ("batch", "CronJob"): "batch.CRON_JOB",
    ("autoscaling", "HorizontalPodAutoscaler"): "autoscaling.HORIZONTAL_POD_AUTOSCALER",
    ("policy", "PodDisruptionBudget"): "scheduling.POD_DISRUPTION_BUDGET",
    ("discovery.@", "EndpointSlice"): "endpoints.ENDPOINT_SLICE",
    ("networking.@", "Ingress"): "networking.INGRESS",
    ("networking.@", "IngressClass"): "networking.INGRESS_CLASS",
    ("networking.@", "NetworkPolicy"): "networking.NETWORK_POLICY",
    ("rbac.authorization.@", "Role"): "rbac.ROLE",
    ("rbac.authorization.@", "ClusterRole"): "rbac.ROLE",
    ("rbac.authorization.@", "RoleBinding"): "rbac.BINDING",
    ("rbac.authorization.@", "ClusterRoleBinding"): "rbac.BINDING",
    ("storage.@", "StorageClass"): "storage.STORAGE_CLASS",
    ("storage.@", "CSINode"): "storage.CSI_NODE",
    ("scheduling.@", "PriorityClass"): "scheduling.PRIORITY_CLASS",
    ("certificates.@", "CertificateSigningRequest"): "certificates.SIGNING_REQUEST",
}

_GENERIC = "generic.GENERIC"


def layout_of(type: ResourceType, dialect: Dialect) -> Layout:
    """The layout of the kind, or the generic layout."""
    group = type.group
    if group.endswith(f".{dialect.group_domain}"):
        group = group.removesuffix(dialect.group_domain) + "@"
    return _loaded(LAYOUTS.get((group, type.kind), _GENERIC))


def _loaded(place: str) -> Layout:
    module, _, name = place.partition(".")
    found: Layout = getattr(import_module(f"fairlead.cli.describe.{module}"), name)
    return found
