"""NodeRestriction: a node agent may write only its own node and objects of the node's pods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import deepcopy

from fairlead.admission.plugin import CONNECT, CREATE, DELETE, UPDATE, Attributes
from fairlead.admission.plugins import node_requests
from fairlead.admission.plugins.base import PODS, Object, PluginBase, mutation_error
from fairlead.auth.authorization.node import node_name
from fairlead.auth.authorization.pod_references import CLAIMS, CONFIG_MAPS, SECRETS, pod_references
from fairlead.base.dialect import Dialect
from fairlead.base.errors import ResourceRef, StatusError, not_found
from fairlead.resources.core.pods.annotations import keys

NODES, PERSISTENT_VOLUME_CLAIMS = "core/v1/nodes", "core/v1/persistentvolumeclaims"
ACCOUNTS, LEASES = "core/v1/serviceaccounts", "coordination/v1/leases"
CSI_NODES, RESOURCE_SLICES = "storage/v1/csinodes", "resource/v1/resourceslices"
SIGNING_REQUESTS = "certificates/v1/certificatesigningrequests"

# Returns the error in a node's write; empty if there is none.
Rule = Callable[[str, Attributes], str]


class NodeRestriction(PluginBase):
    name = "NodeRestriction"

    def __init__(self, dialect: Dialect, decide: node_requests.Decide) -> None:
        self._dialect = dialect
        self._decide = decide
        self._mirror = keys(dialect).mirror
        self._lease_namespace = dialect.node_lease_namespace
        self._labels = NodeLabels(dialect)
        self._rules: dict[str, Rule] = {
            PODS: self._pod,
            NODES: self._node,
            PERSISTENT_VOLUME_CLAIMS: _claim,
            ACCOUNTS: _token,
            LEASES: self._lease,
            CSI_NODES: _csi_node,
            RESOURCE_SLICES: node_requests.slice_error,
            SIGNING_REQUESTS: self._signing_request,
        }

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        if attributes.operation == CONNECT:
            return None
        node = node_name(attributes.user)
        if node is None:
            return None
        if not node:
            reason = f'could not determine node from user "{attributes.user.name}"'
            raise mutation_error(attributes, reason)
        resource = attributes.resource.parent or attributes.resource
        rule = self._rules.get(resource.key)
        error = rule(node, attributes) if rule is not None else ""
        if error:
            raise mutation_error(attributes, error)
        gates = attributes.context.gates
        if _is_token(attributes) and gates["ServiceAccountNodeAudienceRestriction"]:
            assert attributes.value is not None
            name = attributes.value["spec"]["boundObjectRef"]["name"]
            pod = attributes.context.lookup(PODS, attributes.namespace, name)
            assert pod is not None  # the rule has looked it up
            return node_requests.check_audience(attributes, pod, self._decide)
        return None

    def _signing_request(self, node: str, attributes: Attributes) -> str:
        if not attributes.context.gates["RestrictedNodeSigningRequests"]:
            return ""
        return node_requests.signing_request_error(node, attributes, self._dialect)

    def _pod(self, node: str, attributes: Attributes) -> str:
        subresource = attributes.subresource
        if subresource == "status":
            return _pod_status(node, attributes)
        if subresource == "eviction":
            return _eviction(node, attributes)
        if subresource:
            return (
                f"unexpected pod subresource \"{subresource}\", only 'status' and 'eviction' are"
                " allowed"
            )
        if attributes.operation == CREATE:
            return new_pod_error(node, attributes, self._mirror)
        if attributes.operation == DELETE:
            if _node_of(attributes.old) != node:
                return f'node "{node}" can only delete pods with spec.nodeName set to itself'
            return ""
        return (
            f'unexpected operation "{attributes.operation}", node "{node}" can only create and'
            " delete mirror pods"
        )

    def _node(self, node: str, attributes: Attributes) -> str:
        if attributes.name != node:
            return f'node "{node}" is not allowed to modify node "{attributes.name}"'
        if attributes.operation == CREATE:
            return self._new_node(node, attributes)
        if attributes.operation == UPDATE:
            return self._changed_node(node, attributes)
        if attributes.operation == DELETE and attributes.context.dialect.nodes_keep_themselves:
            return f'node "{node}" is not allowed to delete itself'
        return ""

    def _new_node(self, node: str, attributes: Attributes) -> str:
        assert attributes.value is not None
        if _spec(attributes.value).get("configSource") is not None:
            return f'node "{node}" is not allowed to create pods with a non-nil configSource'
        # The garbage collector deletes a node whose owner is gone, and a node agent may delete
        # possible owners (its CSINode). Registering again would remove the node's taints and
        # labels.
        if attributes.value["metadata"].get("ownerReferences"):
            return f'node "{node}" is not allowed to set ownerReferences'
        changed = changed_labels(attributes.value["metadata"].get("labels"), None)
        forbidden = self._labels.forbidden(changed)
        if forbidden:
            listed = ", ".join(forbidden)
            return f'node "{node}" is not allowed to set the following labels: {listed}'
        return ""

    def _changed_node(self, node: str, attributes: Attributes) -> str:
        value, old = attributes.value, attributes.old
        assert value is not None
        assert old is not None
        spec, old_spec = _spec(value), _spec(old)
        source = spec.get("configSource")
        if source is not None and source != old_spec.get("configSource"):
            return (
                f'node "{node}" is not allowed to update configSource to a new non-nil configSource'
            )
        if (spec.get("taints") or []) != (old_spec.get("taints") or []):
            return f'node "{node}" is not allowed to modify taints'
        metadata, old_metadata = value["metadata"], old["metadata"]
        owners, old_owners = metadata.get("ownerReferences"), old_metadata.get("ownerReferences")
        if (owners or []) != (old_owners or []):
            return f'node "{node}" is not allowed to modify ownerReferences'
        labels, old_labels = metadata.get("labels"), old_metadata.get("labels")
        forbidden = self._labels.forbidden(changed_labels(labels, old_labels))
        return f"is not allowed to modify labels: {', '.join(forbidden)}" if forbidden else ""

    def _lease(self, node: str, attributes: Attributes) -> str:
        if attributes.namespace != self._lease_namespace:
            return f'can only access leases in the "{self._lease_namespace}" system namespace'
        if attributes.name != node:
            return "can only access node lease with the same name as the requesting node"
        return ""


def _spec(value: Object) -> Object:
    spec: Object = value.get("spec") or {}
    return spec


def _node_of(pod: Object | None) -> str:
    return str(_spec(pod).get("nodeName", "")) if pod is not None else ""


def _no_pod(name: str) -> StatusError:
    return not_found(ResourceRef("", "pod", name))


def _pod_status(node: str, attributes: Attributes) -> str:
    value, old = attributes.value, attributes.old
    if attributes.operation != UPDATE or value is None or old is None:
        return f'unexpected operation "{attributes.operation}"'
    if _node_of(old) != node:
        return f'node "{node}" can only update pod status for pods with spec.nodeName set to itself'
    if (value["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        return f'node "{node}" cannot update labels through pod status'
    if _claim_statuses(value) != _claim_statuses(old):
        return f'node "{node}" cannot update resource claim statues'
    extended = "extendedResourceClaimStatus"
    if (value.get("status") or {}).get(extended) != (old.get("status") or {}).get(extended):
        return f'node "{node}" cannot update extended resource claim status'
    return ""


def _claim_statuses(pod: Object) -> list[Object]:
    return (pod.get("status") or {}).get("resourceClaimStatuses") or []


def _eviction(node: str, attributes: Attributes) -> str:
    if attributes.operation != CREATE:
        return f"unexpected operation {attributes.operation}"
    pod = attributes.context.lookup(PODS, attributes.namespace, attributes.name)
    if pod is None:
        raise _no_pod(attributes.name)
    if _node_of(pod) != node:
        return f"node {node} can only evict pods with spec.nodeName set to itself"
    return ""


def _claim(node: str, attributes: Attributes) -> str:
    if attributes.subresource != "status":
        return "may only update PVC status"
    value, old = attributes.value, attributes.old
    if attributes.operation != UPDATE or value is None or old is None:
        return f'unexpected operation "{attributes.operation}"'
    recovers = attributes.context.gates["RecoverVolumeExpansionFailure"]
    if _fixed_part(value, recovers) != _fixed_part(old, recovers):
        fields = "quantity" if attributes.context.gates["LaterWording"] else "capacity"
        return (
            f'node "{node}" is not allowed to update fields other than status.{fields} and'
            " status.conditions"
        )
    return ""


def _fixed_part(claim: Object, recovers: bool) -> Object:
    """A claim without the fields that a node agent writes when it resizes a volume."""
    fixed = deepcopy(claim)
    for name in ("resourceVersion", "managedFields"):
        fixed["metadata"].pop(name, None)
    resizing = ("resizeStatus", "allocatedResourceStatuses", "allocatedResources")
    status = fixed.get("status") or {}
    for name in ("capacity", "conditions", *(resizing if recovers else ())):
        status.pop(name, None)
    return fixed


def _is_token(attributes: Attributes) -> bool:
    return (
        attributes.operation == CREATE
        and attributes.subresource == "token"
        and (attributes.resource.parent or attributes.resource).key == ACCOUNTS
    )


def _token(node: str, attributes: Attributes) -> str:
    if not _is_token(attributes):
        return ""
    assert attributes.value is not None
    bound = attributes.value["spec"].get("boundObjectRef") or {}
    name, uid = bound.get("name"), bound.get("uid")
    if bound.get("apiVersion") != "v1" or bound.get("kind") != "Pod" or not name:
        return "node requested token not bound to a pod"
    if not uid:
        return "node requested token with a pod binding without a uid"
    pod = attributes.context.lookup(PODS, attributes.namespace, name)
    if pod is None:
        raise _no_pod(name)
    if uid != pod["metadata"]["uid"]:
        return (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. The"
            " object might have been deleted and then recreated"
        )
    if _node_of(pod) != node:
        return "node requested token bound to a pod scheduled on a different node"
    return ""


def _csi_node(node: str, attributes: Attributes) -> str:
    if attributes.name != node:
        return "can only access CSINode with the same name as the requesting node"
    return ""


# Labels that a node agent may set on its own node.

_OWN_LABELS = (
    "@/hostname",
    "@/os",
    "@/arch",
    "beta.@/os",
    "beta.@/arch",
    "beta.@/instance-type",
    "topology.@/zone",
    "topology.@/region",
    "failure-domain.beta.@/zone",
    "failure-domain.beta.@/region",
)
_OWN_DOMAINS = ("kubelet.@", "node.@")
_RESTRICTED_DOMAIN = "node-restriction.@"


class NodeLabels:
    def __init__(self, dialect: Dialect) -> None:
        self._system_domains = (dialect.label_domain, dialect.group_domain)
        self._own_labels = frozenset(dialect.label(name) for name in _OWN_LABELS)
        self._own_domains = tuple(dialect.label(name) for name in _OWN_DOMAINS)
        self._restricted = (dialect.label(_RESTRICTED_DOMAIN),)

    def forbidden(self, names: Iterable[str]) -> list[str]:
        """The labels that the node agent may not change, sorted."""
        return sorted(name for name in names if self._is_forbidden(name))

    def _is_forbidden(self, name: str) -> bool:
        domain = name.partition("/")[0] if "/" in name else ""
        if _within(domain, self._restricted):
            return True
        if not _within(domain, self._system_domains):
            return False
        return name not in self._own_labels and not _within(domain, self._own_domains)


def _within(domain: str, parents: Iterable[str]) -> bool:
    return any(domain == parent or domain.endswith(f".{parent}") for parent in parents)


def changed_labels(labels: Mapping[str, str] | None, old: Mapping[str, str] | None) -> set[str]:
    """The labels that were added, removed or changed."""
    after, before = labels or {}, old or {}
    return {name for name in {*after, *before} if after.get(name) != before.get(name)}


# The pods that a node agent may create: mirror pods bound to its own node


def new_pod_error(node: str, attributes: Attributes, mirror: str) -> str:
    """Why the node may not create the pod; empty if it may. `mirror` is the annotation of mirror
    pods."""
    pod = attributes.value
    assert pod is not None
    if mirror not in (pod["metadata"].get("annotations") or {}):
        return f'pod does not have "{mirror}" annotation, node "{node}" can only create mirror pods'
    if pod["spec"].get("nodeName", "") != node:
        return f'node "{node}" can only create pods with spec.nodeName set to itself'
    return _owner_error(node, attributes, pod) or _reference_error(node, attributes, pod)


def _owner_error(node: str, attributes: Attributes, pod: Object) -> str:
    owners = pod["metadata"].get("ownerReferences") or []
    head = f'node "{node}" can only create pods with'
    if len(owners) > 1:
        return f"{head} a single owner reference set to itself"
    owner = owners[0] if owners else {}
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        return f"{head} an owner reference set to itself"
    if not owner.get("controller"):
        return f"{head} a controller owner reference set to itself"
    if owner.get("blockOwnerDeletion"):
        return f'node "{node}" must not set blockOwnerDeletion on an owner reference'
    stored = attributes.context.lookup("core/v1/nodes", "", node)
    if stored is None:
        raise not_found(ResourceRef("", "node", node))
    uid, expected_uid = stored["metadata"]["uid"], owner.get("uid", "")
    return (
        f"node {node} UID mismatch: expected {expected_uid} got {uid}"
        if expected_uid != uid
        else ""
    )


def _reference_error(node: str, attributes: Attributes, pod: Object) -> str:
    spec = pod["spec"]
    head = f'node "{node}" can not create pods that reference'
    if attributes.context.gates["PreventStaticPodAPIReferences"]:
        shown = node_requests.referred_objects(pod, attributes.namespace, attributes.name)
        return f"{head} {shown}" if shown else ""
    if spec.get("serviceAccountName"):
        return f"{head} a service account"
    named = {"namespace": attributes.namespace, "name": attributes.name}
    kinds = {kind for kind, _, _ in pod_references({"metadata": named, "spec": spec})}
    # An ephemeral volume counts as a claim: the claim's name is built from the names of the pod and
    # the volume, so a node could pick the claim of another pod and then read its volume and
    # secrets.
    for kind in (SECRETS, CONFIG_MAPS, CLAIMS):
        if kind in kinds:
            return f"{head} {kind}"
    return ""
