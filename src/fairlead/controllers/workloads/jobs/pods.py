"""Computes which pods a Job creates and deletes."""

from __future__ import annotations

from collections import defaultdict

from fairlead.controllers.workloads.adoption import with_finalizer
from fairlead.controllers.workloads.jobs.progress import INDEX_VARIABLE, JobNames, JobState
from fairlead.controllers.workloads.pod_control import pod_from
from fairlead.controllers.workloads.pods import Pod, to_remove
from fairlead.operations.api import Object
from fairlead.resources.registry import Resource

_LONGEST_PREFIX = 58  # of generated names


def wanted(standing: JobState) -> int:
    """How many pods should be active."""
    parallelism: int = standing.spec.get("parallelism") or 0
    if standing.is_suspended:
        return 0
    # Without completions no pods are added after the first success.
    if standing.completions is None:
        return len(standing.active) if standing.succeeded else parallelism
    return max(0, min(parallelism, standing.completions - standing.succeeded))


def superfluous(standing: JobState) -> list[Pod]:
    """Active pods to delete: surplus ones, duplicates of an index, and invalid indexes."""
    surplus = max(0, len(standing.active) - wanted(standing))
    if not standing.is_indexed or standing.is_suspended:
        return _least_missed(standing.active, surplus)
    by_index: dict[int, list[Pod]] = defaultdict(list)
    removed: list[Pod] = []
    for pod in standing.active:
        if standing.has_place(pod):
            by_index[standing.place_of(pod)].append(pod)
        else:
            removed.append(pod)
    left: list[Pod] = []
    for pods in by_index.values():
        doubles = _least_missed(pods, len(pods) - 1)
        removed += doubles
        left += [pod for pod in pods if pod not in doubles]
    return [*removed, *_least_missed(left, surplus - len(removed))]


def _least_missed(pods: list[Pod], count: int) -> list[Pod]:
    return to_remove(pods, (), count, "") if count > 0 else []


def missing_indexes(standing: JobState, count: int) -> list[int]:
    """The lowest indexes that are neither completed nor active."""
    active = (standing.place_of(pod) for pod in standing.active if standing.has_place(pod))
    return standing.completed.joined(active).first_missing(count, standing.completions or 0)


def pods_to_make(
    standing: JobState, resource: Resource, names: JobNames, most: int
) -> list[Object]:
    """The missing pods, at most `most`."""
    count = min(wanted(standing) - len(standing.active), most)
    if count <= 0:
        return []
    pod = pod_from(standing.spec["template"], resource, standing.job)
    if standing.is_tracked:
        pod["metadata"] = with_finalizer(pod["metadata"], names.tracking)
    if not standing.is_indexed:
        return [pod] * count
    indexed = {**pod, "spec": _telling_index(pod["spec"], names)}
    name = standing.job["metadata"]["name"]
    return [_at_index(indexed, name, index, names) for index in missing_indexes(standing, count)]


def _telling_index(spec: Object, names: JobNames) -> Object:
    """The spec with an environment variable for the index in each container."""
    source = {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{names.index}']"}
    variable = {"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": source}}

    def told(container: Object) -> Object:
        variables = container.get("env") or []
        if any(one["name"] == INDEX_VARIABLE for one in variables):
            return container
        return {**container, "env": [*variables, variable]}

    parts = {name: spec[name] for name in ("initContainers", "containers") if spec.get(name)}
    return {**spec, **{name: list(map(told, part)) for name, part in parts.items()}}


def _at_index(pod: Object, job_name: str, index: int, names: JobNames) -> Object:
    metadata = pod["metadata"]
    annotations = {**(metadata.get("annotations") or {}), names.index: str(index)}
    ending = f"-{index}-"
    prefix = f"{job_name[: _LONGEST_PREFIX - len(ending)]}{ending}"
    return {
        **pod,
        "metadata": {**metadata, "generateName": prefix, "annotations": annotations},
        "spec": {**pod["spec"], "hostname": f"{job_name}-{index}"},
    }
