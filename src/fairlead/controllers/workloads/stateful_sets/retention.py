"""The retention policy of StatefulSet claims, as owner references for the garbage collector."""

from __future__ import annotations

from fairlead.controllers.workloads.stateful_sets.identity import pod_name
from fairlead.operations.api import Object
from fairlead.resources.apps.shared import RETENTION
from fairlead.resources.registry import Resource

_DELETE = "Delete"


def keeps_when_scaled(owner: Object) -> bool:
    """Whether claims of surplus pods are kept for the next pod of the ordinal."""
    return bool(_policy(owner).get("whenScaled") != _DELETE)


def _policy(owner: Object) -> Object:
    return owner["spec"].get(RETENTION) or {}


class Retention:
    """Computes the owner references of claims."""

    def __init__(self, resource: Resource, pods: Resource) -> None:
        self._resource = resource
        self._pods = pods

    def references(self, owner: Object, ordinal: int, pod_uid: str, claim: Object) -> list[Object]:
        """The owner references of a claim, including foreign ones. With policy Delete a claim
        belongs to its pod if that is surplus, otherwise to the set."""
        given = claim["metadata"].get("ownerReferences") or []
        replicas: int = owner["spec"].get("replicas") or 0
        by_pod = not keeps_when_scaled(owner) and ordinal >= replicas
        by_set = _policy(owner).get("whenDeleted") == _DELETE and not by_pod
        metadata = owner["metadata"]
        wanted = given
        for resource, name, uid, wants in (
            (self._resource, metadata["name"], metadata["uid"], by_set),
            (self._pods, pod_name(owner, ordinal), pod_uid, by_pod),
        ):
            if not wants:
                wanted = [one for one in wanted if one["uid"] != uid]
            elif all(one["uid"] != uid for one in wanted):
                wanted = [*wanted, _reference(resource, name, uid)]
        return wanted

    def goes_with_another(self, owner: Object, ordinal: int, claim: Object) -> bool:
        """Whether a claim is owned by an earlier pod of this ordinal and will be deleted with
        it."""
        name = pod_name(owner, ordinal)
        references = claim["metadata"].get("ownerReferences") or ()
        return any(one["kind"] == self._pods.kind and one["name"] == name for one in references)


def _reference(resource: Resource, name: str, uid: str) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "name": name, "uid": uid}
