"""Which nodes need which objects: reference counts, updated with each change; a query is one
lookup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fairlead.auth.authorization.bindings import Follow
from fairlead.auth.authorization.pod_references import (
    ATTACHMENTS,
    CLAIMS,
    SLICES,
    VOLUMES,
    Object,
    Vertex,
    node_of,
    pod_references,
    volume_claim,
    volume_secrets,
)
from fairlead.base.dialect import Dialect
from fairlead.resources.gates import Gates
from fairlead.storage.version import Change, Version

PODS: Final = "core/v1/pods"
PERSISTENT_VOLUMES: Final = "core/v1/persistentvolumes"
VOLUME_ATTACHMENTS: Final = "storage/v1/volumeattachments"
RESOURCE_SLICES: Final = "resource/v1/resourceslices"
# Fields of a scheduled pod that may refer to more objects later.
_CLAIM_STATUSES: Final[tuple[str, ...]] = ("resourceClaimStatuses", "extendedResourceClaimStatus")
_EPHEMERAL_CONTAINERS: Final[tuple[str, ...]] = ("ephemeralContainers",)


class _Pod:
    __slots__ = ("node", "references")

    def __init__(self, node: str, references: Iterable[Vertex]) -> None:
        self.node = node
        self.references = tuple(references)


class _Volume:
    __slots__ = ("claim", "secrets")

    def __init__(self, claim: Vertex, secrets: Iterable[Vertex]) -> None:
        self.claim = claim
        self.secrets = tuple(secrets)


class NodeGraph:
    """A node needs the objects its pods refer to, the volumes bound to their claims, the secrets of
    those volumes, and its own volume attachments and resource slices. Counts references by object
    and node."""

    def __init__(self, dialect: Dialect, gates: Gates | None = None) -> None:
        gates = gates or Gates()
        self._growing: tuple[str, ...] = ()
        if gates["DynamicResourceAllocation"]:
            self._growing += _CLAIM_STATUSES
        if gates["NodeReadsForEphemeralContainers"]:
            self._growing += _EPHEMERAL_CONTAINERS
        self._mirror = dialect.label("@/config.mirror")
        self._needs: dict[Vertex, dict[str, int]] = {}
        self._pods: dict[str, _Pod] = {}
        self._volumes: dict[str, _Volume] = {}
        self._bound: dict[Vertex, set[str]] = {}
        self._owned: dict[Vertex, str] = {}

    def follow(self, follow: Follow) -> None:
        follow(PODS, self._pod_changed)
        follow(PERSISTENT_VOLUMES, self._volume_changed)
        follow(VOLUME_ATTACHMENTS, self._attachment_changed)
        follow(RESOURCE_SLICES, self._slice_changed)

    def needs(self, node: str, kind: str, namespace: str, name: str) -> bool:
        nodes = self._needs.get((kind, namespace, name))
        return nodes is not None and node in nodes

    def has_pod(self, node: str, namespace: str, name: str) -> bool:
        """Whether a pod is bound to the node."""
        pod = self._pods.get(f"{namespace}/{name}")
        return pod is not None and pod.node == node

    def _pod_changed(self, change: Change) -> None:
        old = self._pods.get(change.key)
        pod = change.after
        node = node_of(pod)
        if not node and old is None:
            return
        is_same = pod is not None and old is not None and old.node == node and not change.added
        if is_same and not self._may_refer_to_more(pod):
            return
        if old is not None:
            del self._pods[change.key]
            for vertex in old.references:
                self._count(vertex, old.node, -1)
        if pod is not None and node:
            self._add_pod(change.key, node, pod.object())

    def _may_refer_to_more(self, pod: Version | None) -> bool:
        """Whether a scheduled pod has fields that may refer to more objects than before; all other
        references are immutable."""
        return pod is not None and any(pod.mentions(field) for field in self._growing)

    def _add_pod(self, key: str, node: str, pod: Object) -> None:
        """A mirror pod grants its node nothing: the node itself chose the references."""
        if self._mirror in (pod["metadata"].get("annotations") or {}):
            added = _Pod(node, ())
        else:
            added = _Pod(node, pod_references(pod))
        self._pods[key] = added
        for vertex in added.references:
            self._count(vertex, node, 1)

    def _count(self, vertex: Vertex, node: str, step: int) -> None:
        nodes = self._needs.setdefault(vertex, {})
        before = nodes.get(node, 0)
        if before + step > 0:
            nodes[node] = before + step
        else:
            nodes.pop(node, None)
            if not nodes:
                del self._needs[vertex]
        if vertex[0] == CLAIMS and bool(before) != bool(before + step):
            for name in self._bound.get(vertex, ()):
                self._count_volume(name, node, step)

    def _count_volume(self, name: str, node: str, step: int) -> None:
        self._count((VOLUMES, "", name), node, step)
        for secret in self._volumes[name].secrets:
            self._count(secret, node, step)

    def _volume_changed(self, change: Change) -> None:
        name = change.name
        old = self._volumes.get(name)
        if old is not None:
            self._count_for_claim(name, old.claim, -1)
            del self._volumes[name]
            self._bound[old.claim].discard(name)
            if not self._bound[old.claim]:
                del self._bound[old.claim]
        value = change.after.object() if change.after is not None else None
        claim = volume_claim(value) if value is not None else None
        if value is not None and claim is not None:
            self._volumes[name] = _Volume(claim, volume_secrets(value))
            self._bound.setdefault(claim, set()).add(name)
            self._count_for_claim(name, claim, 1)

    def _count_for_claim(self, name: str, claim: Vertex, step: int) -> None:
        for node in tuple(self._needs.get(claim, ())):
            self._count_volume(name, node, step)

    def _attachment_changed(self, change: Change) -> None:
        self._owned_changed((ATTACHMENTS, "", change.name), change)

    def _slice_changed(self, change: Change) -> None:
        self._owned_changed((SLICES, "", change.name), change)

    def _owned_changed(self, vertex: Vertex, change: Change) -> None:
        """An object that names its node has changed."""
        old = self._owned.pop(vertex, None)
        if old is not None:
            self._count(vertex, old, -1)
        node = change.after.object()["spec"].get("nodeName", "") if change.after is not None else ""
        if node:
            self._owned[vertex] = node
            self._count(vertex, node, 1)
