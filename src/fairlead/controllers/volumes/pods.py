"""Finds the pods that use a claim."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.controllers.volumes.facts import is_going
from fairlead.controllers.volumes.names import PODS
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.core.pods import FINISHED
from fairlead.storage.version import Version


def ephemeral_claim_name(pod: Object, volume: Object) -> str:
    """The name of the claim for an ephemeral volume."""
    return f"{pod['metadata']['name']}-{volume['name']}"


def is_made_for(claim: Object, pod: Object) -> bool:
    """Whether a claim was created for an ephemeral volume of this pod (by uid)."""
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(
        owner.get("controller") and owner["uid"] == pod["metadata"]["uid"] for owner in owners
    )


def plain_claims_of(pod: Object) -> Iterator[str]:
    """Names of the claims that a pod references."""
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"]["claimName"]


def ephemeral_claims_of(pod: Object) -> Iterator[str]:
    """Names of the claims of a pod's ephemeral volumes."""
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("ephemeral"):
            yield ephemeral_claim_name(pod, volume)


def claims_of(pod: Object) -> Iterator[str]:
    """Names of all claims that a pod uses."""
    yield from plain_claims_of(pod)
    yield from ephemeral_claims_of(pod)


def may_have_ephemeral(version: Version) -> bool:
    """Whether a pod may have ephemeral volumes, without decoding it; False is certain."""
    return version.mentions("ephemeral")


def may_use_claims(version: Version) -> bool:
    """Whether a pod may use claims, without decoding it; False is certain."""
    return version.mentions("claimName") or may_have_ephemeral(version)


def pods_using(client: Client, namespace: str, claim: str) -> Iterator[Object]:
    """The pods that use a claim, uncommitted writes included."""
    for version in client.collection(PODS).newest(namespace):
        if version.mentions("claimName", claim) or may_have_ephemeral(version):
            pod = version.object()
            if claim in tuple(claims_of(pod)):  # mypyc generators do not support `in`
                yield pod


def is_finished(pod: Object) -> bool:
    """Whether a pod has finished, or is being deleted without running containers."""
    status = pod.get("status") or {}
    if status.get("phase") in FINISHED:
        return True
    states = (container.get("state") or {} for container in status.get("containerStatuses") or ())
    runs = any(not state.get("terminated") and not state.get("waiting") for state in states)
    return is_going(pod) and not runs
