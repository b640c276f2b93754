"""Layouts: how objects of a kind are drawn, and which related objects they need; the layouts by
kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.queries import Queries, QueryResult
from fairlead.client import ResourceType

# Maps a group (`@` stands for the domain) and a kind to the module and name of its layout, which is
# imported on first use.
LAYOUTS: dict[tuple[str, str], str] = {
    ("", "Pod"): "pods.POD",
    ("", "Node"): "nodes.NODE",
    ("", "Namespace"): "namespaces.NAMESPACE",
    ("", "ResourceQuota"): "namespaces.RESOURCE_QUOTA",
    ("", "LimitRange"): "namespaces.LIMIT_RANGE",
    ("", "Service"): "services.SERVICE",
    ("", "Endpoints"): "services.ENDPOINTS_LAYOUT",
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
    ("policy", "PodDisruptionBudget"): "workloads.POD_DISRUPTION_BUDGET",
    ("discovery.@", "EndpointSlice"): "services.ENDPOINT_SLICE",
    ("networking.@", "Ingress"): "networking.INGRESS",
    ("networking.@", "IngressClass"): "networking.INGRESS_CLASS",
    ("networking.@", "NetworkPolicy"): "networking.NETWORK_POLICY",
    ("networking.@", "ServiceCIDR"): "networking.SERVICE_CIDR",
    ("networking.@", "IPAddress"): "networking.IP_ADDRESS",
    ("rbac.authorization.@", "Role"): "rbac.ROLE",
    ("rbac.authorization.@", "ClusterRole"): "rbac.ROLE",
    ("rbac.authorization.@", "RoleBinding"): "rbac.BINDING",
    ("rbac.authorization.@", "ClusterRoleBinding"): "rbac.BINDING",
    ("storage.@", "StorageClass"): "volumes.STORAGE_CLASS",
    ("storage.@", "CSINode"): "volumes.CSI_NODE",
    ("storage.@", "VolumeAttributesClass"): "volumes.ATTRIBUTES_CLASS",
    ("scheduling.@", "PriorityClass"): "workloads.PRIORITY_CLASS",
    ("certificates.@", "CertificateSigningRequest"): "certificates.SIGNING_REQUEST",
}
_GENERIC = "generic.GENERIC"


@dataclass(slots=True)
class Subject(Fields):
    """The object to describe, with the results of its layout's queries."""

    value: Any
    dialect: Dialect
    answers: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.text("metadata.name")

    @property
    def namespace(self) -> str:
        return self.text("metadata.namespace")

    @property
    def uid(self) -> str:
        return self.text("metadata.uid")

    @property
    def labels(self) -> dict[str, str]:
        return self.map("metadata.labels")

    @property
    def annotations(self) -> dict[str, str]:
        return self.map("metadata.annotations")

    @property
    def is_terminating(self) -> bool:
        return self.has("metadata.deletionTimestamp")

    def found(self, question: str) -> QueryResult:
        """The result of a query for objects; empty if there is none."""
        answer = self.answers.get(question)
        return answer if isinstance(answer, QueryResult) else QueryResult()


Question = Callable[[Subject, Queries], Awaitable[Any]]
Selectors = Callable[[Subject], Sequence[Mapping[str, str]]]


def by_reference(subject: Subject) -> Sequence[Mapping[str, str]]:
    """The selector of events whose involvedObject is this object."""
    return [
        {
            "name": subject.name,
            "namespace": subject.namespace,
            "kind": subject.text("kind"),
            "uid": subject.uid,
        }
    ]


@dataclass(frozen=True, slots=True)
class Layout:
    """How a kind is drawn. `related` queries run concurrently before drawing; `events` returns the
    selectors of the object's events, or None to show no events; `version` is the API version that
    the layout expects, where a group has several."""

    draw: Callable[[Page, Subject], None]
    related: Mapping[str, Question] = field(default_factory=dict)
    events: Selectors | None = by_reference
    version: str = ""


def layout_of(type: ResourceType, dialect: Dialect) -> Layout:
    """The layout of the kind, or the generic layout."""
    group = type.group
    if group.endswith(f".{dialect.group_domain}"):
        group = group.removesuffix(dialect.group_domain) + "@"
    return _loaded(LAYOUTS.get((group, type.kind), _GENERIC))


def _loaded(path: str) -> Layout:
    module, _, name = path.partition(".")
    layout: Layout = getattr(import_module(f"fairlead.cli.describe.{module}"), name)
    return layout
