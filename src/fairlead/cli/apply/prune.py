"""Pruning: finds objects that were applied before and are not in the current set."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.cli.apply.last_applied import annotations_of
from fairlead.cli.errors import CommandError
from fairlead.client import Client, Resource, UnknownKind
from fairlead.client.resources import Object

# The default kinds to prune, by API version.
_DEFAULT_KINDS: dict[str, tuple[str, ...]] = {
    "v1": (
        "ConfigMap",
        "Endpoints",
        "PersistentVolumeClaim",
        "Pod",
        "ReplicationController",
        "Secret",
        "Service",
    ),
    "batch/v1": ("Job", "CronJob"),
    "networking.@/v1": ("Ingress",),
    "apps/v1": ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
}
_DEFAULT_CLUSTER_KINDS: dict[str, tuple[str, ...]] = {"v1": ("Namespace", "PersistentVolume")}


class Leftover(NamedTuple):
    resource: Resource
    value: Object


def usual_kinds(dialect: Dialect) -> list[tuple[str, str]]:
    """The default kinds to prune, as (API version, kind)."""
    return [
        (dialect.group_name(version), kind)
        for table in (_DEFAULT_KINDS, _DEFAULT_CLUSTER_KINDS)
        for version, kinds in table.items()
        for kind in kinds
    ]


def allowed_kinds(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Parse an allowlist with entries such as `core/v1/ConfigMap`; raises CommandError."""
    kinds = []
    for text in (part for value in texts for part in value.split(",")):
        parts = text.split("/")
        if len(parts) != 3:
            raise CommandError(
                f"{text} does not name a kind as group/version/kind, such as core/v1/ConfigMap"
            )
        group, version, kind = parts
        kinds.append((version if group in ("", "core") else f"{group}/{version}", kind))
    return kinds


async def leftovers(
    client: Client,
    kinds: Iterable[tuple[str, str]],
    namespaces: Iterable[str],
    selector: str,
    applied: set[str],
    is_ours: AppliedByUs,
) -> AsyncIterator[Leftover]:
    """Yield objects that match the selector, are in the namespaces (or cluster-scoped), are not
    among `applied` (uids) and pass `is_ours`."""
    query: dict[str, Any] = {"labelSelector": selector} if selector else {}
    for version, kind in kinds:
        try:
            type = await client.discovery.of_kind(version, kind)
        except UnknownKind:
            continue
        resource = client.of(type)
        for namespace in namespaces if type.namespaced else ("",):
            for item in (await resource.list(namespace, **query))["items"]:
                metadata = item["metadata"]
                gone = "deletionTimestamp" in metadata
                if metadata["uid"] not in applied and not gone and is_ours(item):
                    # Items of a list have no apiVersion and kind.
                    value = {"apiVersion": version, "kind": kind, **item}
                    yield Leftover(resource, value)


class AppliedByUs:
    """Whether this tool applied an object: by the annotation for client-side apply, by the manager
    for server-side apply."""

    def __init__(self, annotation: str, manager: str, server_side: bool) -> None:
        self._annotation = annotation
        self._manager = manager
        self._server_side = server_side

    def __call__(self, value: Object) -> bool:
        if not self._server_side:
            return self._annotation in annotations_of(value)
        return any(
            (entry.get("manager"), entry.get("operation")) == (self._manager, "Apply")
            and not entry.get("subresource")
            for entry in value["metadata"].get("managedFields") or ()
        )
