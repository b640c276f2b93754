"""Error messages for a document of another kind than that of the resource it was sent to."""

from __future__ import annotations

from functools import cache
from typing import Final

from fairlead.base.release import Release
from fairlead.resources.registry import Resource, Resources

_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
# These groups have a scheme of their own: it knows their types only, and no other scheme does.
_SCHEMES_OF_THEIR_OWN = """\
apiextensions k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55
apiregistration k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:32 until=1.36
apiregistration k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28 since=1.36
"""

# Types that are not served as resources: known in any version, in every served version, and in the
# core group.
_UNVERSIONED = frozenset({"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"})
_OPTIONS = frozenset(
    {
        "CreateOptions",
        "DeleteOptions",
        "GetOptions",
        "ListOptions",
        "PatchOptions",
        "UpdateOptions",
        "WatchEvent",
    }
)
_CORE = frozenset(
    {
        "List",
        "NodeProxyOptions",
        "PodAttachOptions",
        "PodExecOptions",
        "PodLogOptions",
        "PodPortForwardOptions",
        "PodProxyOptions",
        "PodStatusResult",
        "RangeAllocation",
        "SerializedReference",
        "ServiceProxyOptions",
    }
)

# Kinds that clients may send in versions which are not served. Lines carry marks of releases.
_FORMER_KINDS: Final = """\
admissionregistration/v1alpha1 MutatingAdmissionPolicy MutatingAdmissionPolicyBinding since=1.30
admissionregistration/v1alpha1 ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding since=1.26
admissionregistration/v1beta1 MutatingAdmissionPolicy MutatingAdmissionPolicyBinding since=1.34
admissionregistration/v1beta1 MutatingWebhookConfiguration ValidatingWebhookConfiguration
admissionregistration/v1beta1 ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding since=1.28
apiextensions/v1beta1 CustomResourceDefinition
apiregistration/v1beta1 APIService
apps/v1beta1 ControllerRevision Deployment DeploymentRollback Scale StatefulSet
apps/v1beta2 ControllerRevision DaemonSet Deployment ReplicaSet Scale StatefulSet
authentication/v1alpha1 SelfSubjectReview since=1.26
authentication/v1beta1 SelfSubjectReview since=1.27
authentication/v1beta1 TokenReview
authorization/v1beta1 LocalSubjectAccessReview SelfSubjectAccessReview
authorization/v1beta1 SelfSubjectRulesReview SubjectAccessReview
autoscaling/v2beta1 HorizontalPodAutoscaler until=1.36
batch/v1beta1 CronJob JobTemplate
certificates/v1beta1 CertificateSigningRequest
coordination/v1beta1 Lease
discovery/v1beta1 EndpointSlice
events/v1beta1 Event
extensions/v1beta1 DaemonSet Deployment DeploymentRollback Ingress NetworkPolicy
extensions/v1beta1 PodSecurityPolicy ReplicaSet Scale
flowcontrol/v1alpha1 FlowSchema PriorityLevelConfiguration until=1.29
flowcontrol/v1beta1 FlowSchema PriorityLevelConfiguration since=1.29
flowcontrol/v1beta2 FlowSchema PriorityLevelConfiguration since=1.29
flowcontrol/v1beta3 FlowSchema PriorityLevelConfiguration since=1.32
networking/v1beta1 IPAddress ServiceCIDR since=1.31
networking/v1beta1 Ingress IngressClass
node/v1alpha1 RuntimeClass
node/v1beta1 RuntimeClass
policy/v1beta1 Eviction PodDisruptionBudget PodSecurityPolicy
rbac/v1alpha1 ClusterRole ClusterRoleBinding Role RoleBinding
rbac/v1beta1 ClusterRole ClusterRoleBinding Role RoleBinding
resource/v1alpha3 DeviceTaintRule ResourcePoolStatusRequest since=1.33
resource/v1beta1 DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice since=1.32
resource/v1beta2 DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice since=1.33
resource/v1beta2 DeviceTaintRule since=1.33
scheduling/v1alpha1 PriorityClass until=1.36
scheduling/v1beta1 PriorityClass
storage/v1alpha1 CSIStorageCapacity VolumeAttachment
storage/v1alpha1 VolumeAttributesClass since=1.29
storage/v1beta1 CSIDriver CSINode StorageClass VolumeAttachment
storage/v1beta1 CSIStorageCapacity since=1.27
storage/v1beta1 VolumeAttributesClass since=1.31
"""


@cache
def _schemes(release: Release) -> dict[str, str]:
    """The schemes of groups that have their own."""
    return {line.split()[0]: line.split()[1] for line in _rows(release, _SCHEMES_OF_THEIR_OWN)}


@cache
def _former_kinds(release: Release) -> frozenset[str]:
    """The former kinds of a release, each after its short version."""
    lines = _rows(release, _FORMER_KINDS)
    return frozenset(f"{line.split()[0]} {kind}" for line in lines for kind in line.split()[1:])


def _rows(release: Release, table: str) -> list[str]:
    return [line for line in release.select(table).splitlines() if line]


def is_same_kind(
    resources: Resources, resource: Resource, own_group: str, api_version: str, kind: str
) -> bool:
    """Whether a document of the given type is the resource in another of its versions."""
    if kind != resource.kind:
        return False
    if _former_scheme(resources, api_version, kind):
        return True
    related = api_version.rpartition("/")[0] == own_group or kind == "Event"
    return related and resources.struct_of(api_version, kind) is not None


def _former_scheme(resources: Resources, api_version: str, kind: str) -> str:
    """The scheme that knows a kind which is no longer served; empty if there is none."""
    group, _, version = api_version.rpartition("/")
    served = resources.groups.get(group)
    short = next(iter(served.values())).short if served else group
    if f"{short}/{version} {kind}" not in _former_kinds(resources.release):
        return ""
    return _schemes(resources.release).get(short, _SCHEME)


def foreign_kind(resources: Resources, resource: Resource, api_version: str, kind: str) -> str:
    """The message for a document that cannot be converted to the resource."""
    short = resource.body_version.partition("/")[0]
    scheme = _schemes(resources.release).get(short, _SCHEME)
    version = _version_of(resources, scheme, api_version, kind)
    if not version:
        return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{scheme}"'
    return f"converting ({version}.{kind}) to ({short}.{resource.kind}): unknown conversion"


def _version_of(resources: Resources, scheme: str, api_version: str, kind: str) -> str:
    """The version in which a scheme defines a type; empty if it does not."""
    if kind in _UNVERSIONED or (api_version == "v1" and kind in _OPTIONS):
        return "v1"
    group, _, version = api_version.rpartition("/")
    if _former_scheme(resources, api_version, kind) == scheme:
        return version
    served = resources.groups.get(group, {}).get(version)
    if served is None or "." in served.short:
        return ""
    if _schemes(resources.release).get(served.short, _SCHEME) != scheme:
        return ""
    if kind in _OPTIONS or (api_version == "v1" and kind in _CORE):
        return "v1"
    struct = resources.struct_of(api_version, kind)
    if struct is not None and struct.is_kind:
        return struct.group_version.partition("/")[2]
    item = kind.removesuffix("List")
    lists = item != kind and any(
        resource.kind == item and "list" in resource.verbs for resource in served.resources.values()
    )
    return version if lists else ""
