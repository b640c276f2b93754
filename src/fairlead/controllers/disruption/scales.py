"""The expected number of pods, from the scale of their controllers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.controllers.pod_members import ready_condition
from fairlead.operations.api import Api, Object
from fairlead.operations.views import view_of
from fairlead.resources.registry import Resource

REPLICA_SETS, DEPLOYMENTS = "apps/v1/replicasets", "apps/v1/deployments"


class UnknownScale(Exception):
    """The expected number cannot be determined; the text says why."""


class NoController(UnknownScale):
    """The controller of a pod does not exist."""


class Owner(NamedTuple):
    """A controller reference."""

    api_version: str
    kind: str
    name: str
    uid: str


class BudgetPod(NamedTuple):
    """The view that budgets have of a pod."""

    name: str
    ready: bool
    terminating: bool
    owner: Owner | None


def controller_of(value: Object) -> Owner | None:
    for reference in value["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return Owner(
                reference["apiVersion"], reference["kind"], reference["name"], reference["uid"]
            )
    return None


def read_pod(pod: Object) -> BudgetPod:
    metadata = pod["metadata"]
    ready = ready_condition(pod).get("status") == "True"
    terminating = metadata.get("deletionTimestamp") is not None
    return BudgetPod(metadata["name"], ready, terminating, controller_of(pod))


class Scales:
    """Reads the scale of any resource with a scale subresource, built-in or custom."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def expected(self, namespace: str, pods: Iterable[BudgetPod]) -> int:
        """The sum of replicas of all controllers of these pods; pods without a controller are
        ignored. Raises UnknownScale."""
        counts: dict[str, int] = {}  # by uid of the scaled object
        counted = set()
        for pod in pods:
            if pod.owner is None or pod.owner.uid in counted:
                continue
            counted.add(pod.owner.uid)
            scale = self._scale(namespace, pod.owner)
            if scale is None:
                raise NoController(f'found no controllers for pod "{pod.name}"')
            counts[scale[0]] = scale[1]
        return sum(counts.values())

    def _scale(self, namespace: str, owner: Owner) -> tuple[str, int] | None:
        """The uid and replicas of the scaled object: for a ReplicaSet of a Deployment that is the
        Deployment."""
        resource = self._resource(owner)
        if resource.key == REPLICA_SETS:
            above = self._owner_above(namespace, owner)
            if above is not None:
                return above
        scale = resource.subresources.get("scale")
        if scale is None:
            resource_name = resource.ref().qualified
            raise UnknownScale(f"{resource_name} does not implement the scale subresource")
        value = self._owned(resource.key, namespace, owner)
        if value is None:
            return None
        replicas = view_of(self._api, scale).read(value)["spec"].get("replicas") or 0
        return owner.uid, replicas

    def _owner_above(self, namespace: str, owner: Owner) -> tuple[str, int] | None:
        replica_set = self._owned(REPLICA_SETS, namespace, owner)
        above = controller_of(replica_set) if replica_set is not None else None
        if above is None or self._resource(above).key != DEPLOYMENTS:
            return None
        deployment = self._owned(DEPLOYMENTS, namespace, above)
        if deployment is None:
            return None
        return above.uid, deployment["spec"].get("replicas") or 0

    def _owned(self, key: str, namespace: str, owner: Owner) -> Object | None:
        value = self._api.lookup(key, namespace, owner.name)
        return value if value is not None and value["metadata"]["uid"] == owner.uid else None

    def _resource(self, owner: Owner) -> Resource:
        """The stored resource of an owner."""
        group, _, version = owner.api_version.rpartition("/")
        group_version = self._api.resources.groups.get(group, {}).get(version)
        for resource in group_version.resources.values() if group_version is not None else ():
            if resource.kind == owner.kind:
                return self._api.in_stored_version(resource)
        raise UnknownScale(f'no matches for kind "{owner.kind}" in version "{owner.api_version}"')
