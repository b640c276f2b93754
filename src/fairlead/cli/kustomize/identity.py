"""Identities of objects: group, version, kind, name and namespace, and how selectors match them."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.base.dialect import CLUSTER, KUBERNETES

_DEFAULT = "default"
_NO_NAMESPACE = "_non_namespaceable_"
# Versions of a group and its kinds without a namespace, as the reference knows them.
_CLUSTER_SCOPED = """
admissionregistration.@ v1,v1beta1 MutatingWebhookConfiguration,ValidatingWebhookConfiguration
apiextensions.@ v1,v1beta1 CustomResourceDefinition
apiregistration.@ v1,v1beta1 APIService
certificates.@ v1,v1beta1 CertificateSigningRequest
flowcontrol.apiserver.@ v1beta1 FlowSchema,PriorityLevelConfiguration
networking.@ v1,v1beta1 IngressClass
node.@ v1,v1beta1 RuntimeClass
policy v1beta1 PodSecurityPolicy
rbac.authorization.@ v1,v1beta1 ClusterRole,ClusterRoleBinding
scheduling.@ v1,v1beta1 PriorityClass
storage.@ v1,v1beta1 CSIDriver,CSINode,StorageClass,VolumeAttachment
- v1 ComponentStatus,Namespace,Node,NodeProxyOptions,PersistentVolume
"""
_FIRST: list[str] = """Namespace ResourceQuota StorageClass CustomResourceDefinition ServiceAccount
PodSecurityPolicy Role ClusterRole RoleBinding ClusterRoleBinding ConfigMap Secret Endpoints Service
LimitRange PriorityClass PersistentVolume PersistentVolumeClaim Deployment StatefulSet CronJob
PodDisruptionBudget""".split()  # noqa: SIM905
_LAST = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]


def _cluster_scoped() -> frozenset[tuple[str, str, str]]:
    rows = [line.split() for line in _CLUSTER_SCOPED.split("\n") if line]
    return frozenset(
        ("" if group == "-" else group, version, kind)
        for group, versions, kinds in rows
        for version in versions.split(",")
        for kind in kinds.split(",")
    )


_SCOPED = _cluster_scoped()


def neutral_group(group: str) -> str:
    """The group with `@` for the domain of a dialect, so that tables hold in both dialects."""
    for dialect in (KUBERNETES, CLUSTER):
        domain = f".{dialect.group_domain}"
        if group.endswith(domain):
            return f"{group.removesuffix(domain)}.@"
    return group


class Kind(NamedTuple):
    """A group (with `@` for the domain of a dialect), a version and a kind. In a selector, empty
    fields match anything."""

    group: str = ""
    version: str = ""
    kind: str = ""

    def selects(self, other: Kind) -> bool:
        return all(not own or own == its for own, its in zip(self, other, strict=True))

    def is_cluster_scoped(self) -> bool:
        """Whether the kind is known to have no namespace."""
        return self in _SCOPED

    def order(self, first: list[str] | None = None, last: list[str] | None = None) -> Any:
        """The sort key: some kinds come first, some last, the others by group, version and kind."""
        first, last = _FIRST if first is None else first, _LAST if last is None else last
        place = 0
        if self.kind in last:
            place = last.index(self.kind) + 1
        elif self.kind in first:
            place = first.index(self.kind) - len(first)
        group = self.group.replace("@", KUBERNETES.group_domain)
        return place, f"{group or '~G'}_{self.version or '~V'}_{self.kind or '~K'}"

    def __str__(self) -> str:
        group = self.group.replace("@", KUBERNETES.group_domain)
        return f"{self.kind or '[noKind]'}.{self.version or '[noVer]'}.{group or '[noGrp]'}"


class Identity(NamedTuple):
    """The identity of an object, now or earlier in the build."""

    kind: Kind
    name: str
    namespace: str

    @property
    def space(self) -> str:
        """The namespace for comparisons: no namespace is the same as `default`."""
        if self.kind.is_cluster_scoped():
            return _NO_NAMESPACE
        return self.namespace or _DEFAULT

    def matches(self, other: Identity) -> bool:
        return (self.kind, self.name, self.space) == (other.kind, other.name, other.space)

    def order(self) -> str:
        return f"{self.kind}|{self.namespace or '~X'}|{self.name or '~N'}"

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.kind.kind} {self.name}{where}"


def kind_of(value: dict[str, Any]) -> Kind:
    """The group, version and kind of an object."""
    version = str(value.get("apiVersion") or "")
    group, slash, short = version.partition("/")
    if not slash:
        group, short = "", version
    return Kind(neutral_group(group), short, str(value.get("kind") or ""))


def group_and_version(text: str) -> tuple[str, str]:
    """The group (with `@` for the domain) and version of an apiVersion."""
    kind = kind_of({"apiVersion": text})
    return kind.group, kind.version
