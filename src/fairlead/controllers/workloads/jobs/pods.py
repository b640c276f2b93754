"""Computes which pods a Job creates and deletes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from fairlead.controllers.workloads.adoption import with_finalizer
from fairlead.controllers.workloads.jobs.progress import INDEX_VARIABLE, JobNames, JobState
from fairlead.controllers.workloads.pod_control import pod_from
from fairlead.controllers.workloads.pods import Pod, to_remove
from fairlead.operations.api import Object
from fairlead.resources.registry import Resource

_MAX_PREFIX_LENGTH = 58  # of generated names


def desired(state: JobState) -> int:
    """How many pods should be active."""
    parallelism: int = state.spec.get("parallelism") or 0
    if state.is_suspended:
        return 0
    # Without completions no pods are added after the first success.
    if state.completions is None:
        return len(state.active) if state.succeeded else parallelism
    left = state.completions - state.succeeded - len(state.failed_indexes)
    return max(0, min(parallelism, left))


def superfluous(state: JobState) -> list[Pod]:
    """Active pods to delete: surplus ones, duplicates of an index, and invalid indexes."""
    surplus = max(0, len(state.active) - desired(state))
    if not state.is_indexed or state.is_suspended:
        return _least_missed(state.active, surplus)
    by_index: dict[int, list[Pod]] = defaultdict(list)
    removed: list[Pod] = []
    for pod in state.active:
        if state.has_valid_index(pod):
            by_index[state.index_of_pod(pod)].append(pod)
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


def missing_indexes(state: JobState, count: int) -> list[int]:
    """The lowest indexes that are neither completed nor active."""
    held = [pod for pod in state.pods if pod.active or (state.waits and pod.terminating)]
    taken = state.completed.joined(
        state.index_of_pod(pod) for pod in held if state.has_valid_index(pod)
    )
    return taken.united(state.failed_indexes).first_missing(count, state.completions or 0)


def pods_to_make(
    state: JobState,
    resource: Resource,
    names: JobNames,
    maximum: int,
    paused: Collection[int] = (),
) -> list[Object]:
    """The missing pods, at most `maximum`; none for the indexes in `paused`."""
    held = state.terminating if state.waits else 0
    count = min(desired(state) - len(state.active) - held, maximum)
    if count <= 0:
        return []
    pod = pod_from(state.spec["template"], resource, state.job)
    if state.is_tracked:
        pod["metadata"] = with_finalizer(pod["metadata"], names.tracking)
    if not state.is_indexed:
        return [pod] * count
    indexed = {**pod, "spec": _with_index(pod["spec"], names)}
    name = state.job["metadata"]["name"]
    return [
        _with_failures(_at_index(indexed, name, index, names), state, index)
        for index in missing_indexes(state, count)
        if index not in paused
    ]


def _with_failures(pod: Object, state: JobState, index: int) -> Object:
    """The pod with the number of failures of its index, in Jobs that limit them."""
    if state.limit_per_index is None:
        return pod
    metadata = pod["metadata"]
    counted, ignored = state.failures_at(index)
    failures = {state.names.failures: str(counted)}
    if ignored:
        failures[state.names.ignored] = str(ignored)
    annotations = {**(metadata.get("annotations") or {}), **failures}
    return {**pod, "metadata": {**metadata, "annotations": annotations}}


def _with_index(spec: Object, names: JobNames) -> Object:
    """The spec with an environment variable for the index in each container."""
    source = {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{names.index}']"}
    variable = {"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": source}}

    def with_variable(container: Object) -> Object:
        variables = container.get("env") or []
        if any(variable["name"] == INDEX_VARIABLE for variable in variables):
            return container
        return {**container, "env": [*variables, variable]}

    parts = {name: spec[name] for name in ("initContainers", "containers") if spec.get(name)}
    return {**spec, **{name: list(map(with_variable, part)) for name, part in parts.items()}}


def _at_index(pod: Object, job_name: str, index: int, names: JobNames) -> Object:
    metadata = pod["metadata"]
    annotations = {**(metadata.get("annotations") or {}), names.index: str(index)}
    if names.has_index_label:
        metadata = {**metadata, "labels": {**metadata.get("labels", {}), names.index: str(index)}}
    ending = f"-{index}-"
    prefix = f"{job_name[: _MAX_PREFIX_LENGTH - len(ending)]}{ending}"
    return {
        **pod,
        "metadata": {**metadata, "generateName": prefix, "annotations": annotations},
        "spec": {**pod["spec"], "hostname": f"{job_name}-{index}"},
    }
