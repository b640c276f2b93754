"""How far a rollout has come, in the words that people know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fairlead.cli.errors import Mistake
from fairlead.client import ResourceType
from fairlead.dialect import Dialect

Object = Mapping[str, Any]
REVISION = "deployment.@/revision"
_DEADLINE = "ProgressDeadlineExceeded"
_ROLLING = "RollingUpdate"
_LONGEST = 18  # digits of a revision


class Progress(NamedTuple):
    text: str
    is_done: bool = False


def progress_of(type: ResourceType, value: Object) -> Progress:
    """Raises Mistake for a rollout that has failed or cannot be followed."""
    viewer = _VIEWERS.get((type.group, type.kind))
    if viewer is None:
        raise Mistake(f"no status viewer has been implemented for {named_kind(type)}")
    return viewer(value)


def named_kind(type: ResourceType) -> str:
    return f"{type.kind}.{type.group}" if type.group else type.kind


def check_revision(value: Object, dialect: Dialect, wanted: int) -> None:
    """Raises Mistake unless a Deployment runs this revision."""
    name = value["metadata"]["name"]
    running = revision_of(value, dialect)
    if running is None:
        raise Mistake(f'cannot get the revision of deployment "{name}"')
    if running != wanted:
        raise Mistake(
            f"desired revision ({wanted}) is different from the running revision ({running})"
        )


def revision_of(value: Object, dialect: Dialect) -> int | None:
    """What a Deployment or a ReplicaSet says of its revision: 0 for nothing, None for nonsense."""
    text = (value["metadata"].get("annotations") or {}).get(dialect.label(REVISION), "0")
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST
    return int(text) if is_number else None


def _count(part: Object, name: str) -> int:
    return int(part.get(name) or 0)


def _is_observed(value: Object) -> bool:
    seen = _count(value.get("status") or {}, "observedGeneration")
    return _count(value["metadata"], "generation") <= seen


def _deployment(value: Object) -> Progress:
    if not _is_observed(value):
        return Progress("Waiting for deployment spec update to be observed...")
    name, spec, status = value["metadata"]["name"], value["spec"], value.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition["type"] == "Progressing" and condition.get("reason") == _DEADLINE:
            raise Mistake(f'deployment "{name}" exceeded its progress deadline')
    wanted, updated = _count(spec, "replicas"), _count(status, "updatedReplicas")
    old = _count(status, "replicas") - updated
    available = _count(status, "availableReplicas")
    waiting = f'Waiting for deployment "{name}" rollout to finish:'
    if updated < wanted:
        return Progress(f"{waiting} {updated} out of {wanted} new replicas have been updated...")
    if old > 0:
        return Progress(f"{waiting} {old} old replicas are pending termination...")
    if available < updated:
        return Progress(f"{waiting} {available} of {updated} updated replicas are available...")
    return Progress(f'deployment "{name}" successfully rolled out', is_done=True)


def _daemon_set(value: Object) -> Progress:
    _check_strategy(value)
    if not _is_observed(value):
        return Progress("Waiting for daemon set spec update to be observed...")
    name, status = value["metadata"]["name"], value.get("status") or {}
    wanted = _count(status, "desiredNumberScheduled")
    updated = _count(status, "updatedNumberScheduled")
    available = _count(status, "numberAvailable")
    waiting = f'Waiting for daemon set "{name}" rollout to finish:'
    if updated < wanted:
        return Progress(f"{waiting} {updated} out of {wanted} new pods have been updated...")
    if available < wanted:
        return Progress(f"{waiting} {available} of {wanted} updated pods are available...")
    return Progress(f'daemon set "{name}" successfully rolled out', is_done=True)


def _stateful_set(value: Object) -> Progress:
    _check_strategy(value)
    spec, status = value["spec"], value.get("status") or {}
    if not status.get("observedGeneration") or not _is_observed(value):
        return Progress("Waiting for statefulset spec update to be observed...")
    wanted, updated = _count(spec, "replicas"), _count(status, "updatedReplicas")
    missing = wanted - _count(status, "readyReplicas")
    if missing > 0:
        return Progress(f"Waiting for {missing} pods to be ready...")
    rolling = spec["updateStrategy"].get("rollingUpdate")
    if rolling is not None:
        part = wanted - _count(rolling, "partition")
        if updated < part:
            return Progress(
                f"Waiting for partitioned roll out to finish: {updated} out of {part} new pods"
                " have been updated..."
            )
        text = f"partitioned roll out complete: {updated} new pods have been updated..."
        return Progress(text, is_done=True)
    newest, current = status.get("updateRevision", ""), status.get("currentRevision", "")
    if newest != current:
        return Progress(
            f"waiting for statefulset rolling update to complete {updated} pods at revision"
            f" {newest}..."
        )
    pods = _count(status, "currentReplicas")
    return Progress(
        f"statefulset rolling update complete {pods} pods at revision {current}...", is_done=True
    )


def _check_strategy(value: Object) -> None:
    if (value["spec"].get("updateStrategy") or {}).get("type") != _ROLLING:
        raise Mistake(f"rollout status is only available for {_ROLLING} strategy type")


_VIEWERS: dict[tuple[str, str], Callable[[Object], Progress]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "StatefulSet"): _stateful_set,
}
