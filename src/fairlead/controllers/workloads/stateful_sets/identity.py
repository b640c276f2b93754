"""The identity of a StatefulSet's pod: name, labels and claims derive from its ordinal."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.controllers.workloads.owners import controller_reference
from fairlead.controllers.workloads.pod_control import pod_from
from fairlead.controllers.workloads.pods import Pod
from fairlead.operations.api import Object
from fairlead.resources.apps.shared import RETENTION
from fairlead.resources.registry import Resource

REVISION_LABEL = "controller-revision-hash"
_MAX_ORDINAL = 2**31 - 1
_MAX_DIGITS = len(str(_MAX_ORDINAL))
_DELETE = "Delete"


def pod_name(owner: Object, ordinal: int) -> str:
    return f"{owner['metadata']['name']}-{ordinal}"


def first_ordinal(owner: Object) -> int:
    """The ordinal of the first pod of a set."""
    start: int = (owner["spec"].get("ordinals") or {}).get("start") or 0
    return start


def wanted_ordinals(owner: Object) -> range:
    """The ordinals of the pods that a set should have."""
    start = first_ordinal(owner)
    return range(start, start + (owner["spec"].get("replicas") or 0))


def split_name(name: str) -> tuple[str, int] | None:
    """Split the name of a pod or claim into prefix and ordinal; None if it has no ordinal."""
    owner, _, digits = name.rpartition("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > _MAX_DIGITS:
        return None
    ordinal = int(digits)
    return (owner, ordinal) if str(ordinal) == digits and ordinal <= _MAX_ORDINAL else None


def ordinal_of(owner: Object, pod: Pod) -> int | None:
    """The ordinal of a pod in a set; None if its name does not match."""
    parts = split_name(pod.name)
    return parts[1] if parts and parts[0] == owner["metadata"]["name"] else None


def claim_names(owner: Object, ordinal: int) -> dict[str, str]:
    """The claims of a pod by template name, which is also the volume name."""
    return {
        name: f"{name}-{pod_name(owner, ordinal)}"
        for name in (template["metadata"].get("name", "") for template in _templates(owner))
    }


def claims(owner: Object, ordinal: int) -> Iterator[Object]:
    """The claims to create for a pod."""
    selected = (owner["spec"].get("selector") or {}).get("matchLabels") or {}
    names = claim_names(owner, ordinal)
    for template in _templates(owner):
        template_metadata = template["metadata"]
        metadata = {
            **template_metadata,
            "name": names[template_metadata.get("name", "")],
            "namespace": owner["metadata"]["namespace"],
        }
        if labels := {**(template_metadata.get("labels") or {}), **selected}:
            metadata["labels"] = labels
        yield {"metadata": metadata, "spec": template["spec"], "status": {}}


def _templates(owner: Object) -> list[Object]:
    return owner["spec"].get("volumeClaimTemplates") or []


class Identities:
    """Builds pods with their identity."""

    def __init__(self, resource: Resource, name_label: str, index_label: str = "") -> None:
        """`index_label` is the label with the ordinal, empty for none."""
        self._resource = resource
        self._name_label = name_label
        self._index_label = index_label

    def pod(self, owner: Object, ordinal: int, revision: str) -> Object:
        """A pod of a set, from the owner's template."""
        name = pod_name(owner, ordinal)
        pod = pod_from(owner["spec"]["template"], self._resource, owner)
        metadata, spec = pod["metadata"], {**pod["spec"], "hostname": name}
        if service := owner["spec"].get("serviceName"):
            spec["subdomain"] = service
        labels = {**metadata.get("labels", {}), REVISION_LABEL: revision, self._name_label: name}
        if self._index_label:
            labels[self._index_label] = str(ordinal)
        new_pod = {**pod, "metadata": {**metadata, "name": name, "labels": labels}, "spec": spec}
        return self.with_claims(owner, ordinal, new_pod)

    def with_claims(self, owner: Object, ordinal: int, pod: Object) -> Object:
        """The pod with volumes for its claims; they replace volumes of the same name."""
        names = claim_names(owner, ordinal)
        volumes: list[Object] = [
            {"name": name, "persistentVolumeClaim": {"claimName": claim}}
            for name, claim in names.items()
        ]
        others = pod["spec"].get("volumes") or ()
        volumes += [volume for volume in others if volume["name"] not in names]
        return {**pod, "spec": {**pod["spec"], "volumes": volumes}} if volumes else pod

    def with_name_label(self, pod: Object) -> Object:
        metadata = pod["metadata"]
        labels = {**(metadata.get("labels") or {}), self._name_label: metadata["name"]}
        return {**pod, "metadata": {**metadata, "labels": labels}}

    def is_labelled(self, pod: Pod) -> bool:
        return pod.labels.get(self._name_label) == pod.name


def has_claims(owner: Object, ordinal: int, pod: Pod) -> bool:
    """Whether a pod has volumes for all claims of its ordinal."""
    return claim_names(owner, ordinal).items() <= pod.claims.items()


# The retention policy of StatefulSet claims, as owner references for the garbage collector.


def keeps_when_scaled(owner: Object) -> bool:
    """Whether claims of surplus pods are kept for the next pod of the ordinal."""
    return bool(_policy(owner).get("whenScaled") != _DELETE)


def _policy(owner: Object) -> Object:
    return owner["spec"].get(RETENTION) or {}


_PLAIN_REFERENCE = ("apiVersion", "kind", "name", "uid")


class Retention:
    """Computes the owner references of claims; `controls`: they are controller references."""

    def __init__(self, resource: Resource, pods: Resource, *, controls: bool) -> None:
        self._resource = resource
        self._pods = pods
        self._controls = controls

    def references(self, owner: Object, ordinal: int, pod_uid: str, claim: Object) -> list[Object]:
        """The owner references of a claim, including foreign ones. With policy Delete a claim
        belongs to its pod if that is surplus, otherwise to the set; but it stays with another
        controller."""
        references: list[Object] = claim["metadata"].get("ownerReferences") or []
        by_pod = not keeps_when_scaled(owner) and ordinal not in wanted_ordinals(owner)
        by_set = _policy(owner).get("whenDeleted") == _DELETE and not by_pod
        metadata = owner["metadata"]
        updated = references
        if self._controls:
            own = (metadata["uid"], pod_uid)
            foreign = [reference for reference in references if reference["uid"] not in own]
            if any(reference.get("controller") for reference in foreign):
                return foreign
            updated = [
                reference
                for reference in references
                if reference in foreign or reference.get("controller")
            ]
        for resource, name, uid, is_owner in (
            (self._resource, metadata["name"], metadata["uid"], by_set),
            (self._pods, pod_name(owner, ordinal), pod_uid, by_pod),
        ):
            if not is_owner:
                updated = [reference for reference in updated if reference["uid"] != uid]
            elif all(reference["uid"] != uid for reference in updated):
                owning = {"metadata": {"name": name, "uid": uid}}
                reference = controller_reference(resource, owning)
                if not self._controls:
                    reference = {key: reference[key] for key in _PLAIN_REFERENCE}
                updated = [*updated, reference]
        return updated

    def is_deleted_with_other(self, owner: Object, ordinal: int, claim: Object) -> bool:
        """Whether a claim is owned by an earlier pod of this ordinal and will be deleted with
        it."""
        name = pod_name(owner, ordinal)
        references = claim["metadata"].get("ownerReferences") or ()
        return any(
            reference["kind"] == self._pods.kind and reference["name"] == name
            for reference in references
        )
