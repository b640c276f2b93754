"""The pods that a node agent may create: mirror pods bound to its own node."""

from __future__ import annotations

from fairlead.admission.plugin import Attributes
from fairlead.admission.plugins.base import Object
from fairlead.auth.authorization.pod_references import CLAIMS, CONFIG_MAPS, SECRETS, pod_references
from fairlead.base.errors import ResourceRef, not_found


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
    found = attributes.context.lookup("core/v1/nodes", "", node)
    if found is None:
        raise not_found(ResourceRef("", "node", node))
    uid, given = found["metadata"]["uid"], owner.get("uid", "")
    return f"node {node} UID mismatch: expected {given} got {uid}" if given != uid else ""


def _reference_error(node: str, attributes: Attributes, pod: Object) -> str:
    spec = pod["spec"]
    head = f'node "{node}" can not create pods that reference'
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
