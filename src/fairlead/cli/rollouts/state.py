"""Describes the progress of a rollout in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.cli.errors import CommandError
from fairlead.client import ResourceType

Object = Mapping[str, Any]
REVISION = "deployment.@/revision"
_DEADLINE = "ProgressDeadlineExceeded"
_ROLLING = "RollingUpdate"
_MAX_DIGITS = 18  # digits of a revision


class Progress(NamedTuple):
    text: str
    is_done: bool = False


def progress_of(type: ResourceType, value: Object) -> Progress:
    """Raises CommandError if the rollout failed or the kind has no rollouts."""
    viewer = _VIEWERS.get((type.group, type.kind))
    if viewer is None:
        raise CommandError(f"{named_kind(type)} has no rollouts")
    return viewer(value)


def named_kind(type: ResourceType) -> str:
    return f"{type.kind}.{type.group}" if type.group else type.kind


def check_revision(value: Object, dialect: Dialect, number: int) -> None:
    """Raises CommandError unless the Deployment runs this revision."""
    name = value["metadata"]["name"]
    running = revision_of(value, dialect)
    if running is None:
        raise CommandError(f'deployment "{name}" has no revision number')
    if running != number:
        raise CommandError(f"the current revision is {running}, not {number}")


def revision_of(value: Object, dialect: Dialect) -> int | None:
    """The revision annotation of a Deployment or ReplicaSet: 0 if missing, None if invalid."""
    text = (value["metadata"].get("annotations") or {}).get(dialect.label(REVISION), "0")
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return int(text) if is_number else None


def _count(part: Object, name: str) -> int:
    return int(part.get(name) or 0)


def _is_observed(value: Object) -> bool:
    observed = _count(value.get("status") or {}, "observedGeneration")
    return _count(value["metadata"], "generation") <= observed


def _deployment(value: Object) -> Progress:
    name, spec, status = value["metadata"]["name"], value["spec"], value.get("status") or {}
    if not _is_observed(value):
        return Progress(f'deployment "{name}": no controller has seen the change yet...')
    for condition in status.get("conditions") or ():
        if condition["type"] == "Progressing" and condition.get("reason") == _DEADLINE:
            raise CommandError(f'deployment "{name}" made no progress within its deadline')
    desired, updated = _count(spec, "replicas"), _count(status, "updatedReplicas")
    old = _count(status, "replicas") - updated
    available = _count(status, "availableReplicas")
    waiting = f'deployment "{name}":'
    if updated < desired:
        return Progress(f"{waiting} {updated} of {desired} pods are new...")
    if old > 0:
        return Progress(f"{waiting} {old} old pods are still there...")
    if available < updated:
        return Progress(f"{waiting} {available} of {updated} new pods are available...")
    return Progress(f'deployment "{name}" rolled out', is_done=True)


def _daemon_set(value: Object) -> Progress:
    _check_strategy(value)
    name, status = value["metadata"]["name"], value.get("status") or {}
    if not _is_observed(value):
        return Progress(f'daemon set "{name}": no controller has seen the change yet...')
    desired = _count(status, "desiredNumberScheduled")
    updated = _count(status, "updatedNumberScheduled")
    available = _count(status, "numberAvailable")
    waiting = f'daemon set "{name}":'
    if updated < desired:
        return Progress(f"{waiting} {updated} of {desired} pods are new...")
    if available < desired:
        return Progress(f"{waiting} {available} of {desired} new pods are available...")
    return Progress(f'daemon set "{name}" rolled out', is_done=True)


def _stateful_set(value: Object) -> Progress:
    _check_strategy(value)
    name, spec, status = value["metadata"]["name"], value["spec"], value.get("status") or {}
    if not status.get("observedGeneration") or not _is_observed(value):
        return Progress(f'stateful set "{name}": no controller has seen the change yet...')
    desired, updated = _count(spec, "replicas"), _count(status, "updatedReplicas")
    missing = desired - _count(status, "readyReplicas")
    if missing > 0:
        return Progress(f"{missing} pods are not ready yet...")
    rolling = spec["updateStrategy"].get("rollingUpdate")
    if rolling is not None:
        part = desired - _count(rolling, "partition")
        if updated < part:
            return Progress(f"{updated} of {part} pods above the partition are new...")
        text = f"rolled out above the partition: {updated} new pods"
        return Progress(text, is_done=True)
    newest, current = status.get("updateRevision", ""), status.get("currentRevision", "")
    if newest != current:
        return Progress(f"{updated} pods are at revision {newest}...")
    pods = _count(status, "currentReplicas")
    return Progress(f"rolled out: {pods} pods at revision {current}", is_done=True)


def _check_strategy(value: Object) -> None:
    if (value["spec"].get("updateStrategy") or {}).get("type") != _ROLLING:
        raise CommandError(f"its strategy is not {_ROLLING}: it has no rollouts")


_VIEWERS: dict[tuple[str, str], Callable[[Object], Progress]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "StatefulSet"): _stateful_set,
}
