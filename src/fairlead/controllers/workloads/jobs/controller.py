"""The controller of Jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fairlead.base import budget
from fairlead.codec.types.times import now
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads import statuses
from fairlead.controllers.workloads.adoption import Claims
from fairlead.controllers.workloads.index import Owned, Selectors, owners_concerned
from fairlead.controllers.workloads.jobs.failure_policy import FailurePolicy
from fairlead.controllers.workloads.jobs.progress import (
    ANNOUNCEMENTS,
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUSPENDED,
    UNCOUNTED,
    JobNames,
    JobState,
    has_ended,
    holding,
)
from fairlead.controllers.workloads.jobs.steps import Step, Steps, Tracking
from fairlead.controllers.workloads.owners import controller_among, controller_of
from fairlead.controllers.workloads.pod_control import PodControl
from fairlead.controllers.workloads.pods import PODS, Pod, read_pod
from fairlead.controllers.workloads.replicas import selector_of
from fairlead.controllers.workloads.statuses import replace_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.core.pods import FINISHED
from fairlead.storage.version import Change, Version

JOBS = "batch/v1/jobs"
_STRAY = "pod "  # prefix of keys of pods whose Job is gone


class Jobs:
    """Keys are `namespace/name` of Jobs, or `pod namespace/name` of pods whose Job is gone."""

    workers = 5

    def __init__(self, api: Api, objects: Client, events: Recorder, pods: Owned[Pod]) -> None:
        self._resource = api.resources.named(JOBS)
        self._gates = api.gates
        self._objects = objects
        self._events = events
        self._pods = pods
        self._jobs = objects.collection(JOBS)
        self._names = JobNames(api.dialect, api.gates)
        self._own_name = api.dialect.label("@/job-controller")
        self._selectors = Selectors(self._jobs, selector_of)
        self._claims = Claims(objects, self._resource, PODS)
        self._tracking = Tracking(objects, self._names.tracking)
        control = PodControl(objects, events, self._resource)
        self._steps = Steps(control, self._tracking, self._resource, self._names)

    def follows(self) -> Mapping[str, Keys]:
        return {JOBS: self._of_job, PODS: self._of_pod}

    def _of_job(self, change: Change) -> Iterable[str]:
        if change.after is not None or change.before is None:
            return (change.key,)
        left = self._pods.of(change.before.object())
        return [f"{_STRAY}{change.namespace}/{pod.name}" for pod in left]

    def _of_pod(self, change: Change) -> Iterable[str]:
        keys = owners_concerned(change, self._resource.kind, self._selectors)
        if change.after is not None and self._is_stray(change.after):
            keys.add(_STRAY + change.key)
        return keys

    def _is_stray(self, version: Version) -> bool:
        """Whether a pod has the tracking finalizer but no Job that would remove it."""
        if self._names.tracking not in version.finalizers():
            return False
        return self._is_without_job(version.namespace, controller_of(version))

    def _is_without_job(self, namespace: str, controller: Object | None) -> bool:
        """Whether the Job of this controller reference does not exist."""
        if controller is None or controller["kind"] != self._resource.kind:
            return True
        job = self._jobs.get(f"{namespace}/{controller['name']}")
        return job is None or job.uid != controller["uid"]

    async def sync(self, key: str) -> float | None:
        if key.startswith(_STRAY):
            await self._release(key.removeprefix(_STRAY))
            return None
        namespace, _, name = key.partition("/")
        job = self._objects.find(JOBS, namespace, name)
        if job is None or job["spec"].get("managedBy", self._own_name) != self._own_name:
            return None
        if has_ended(job):
            _, failures = await self._tracking.release_all(self._pods.of(job))
            _raise_first(failures)
            return None
        state = await self._read_state(job)
        step = await self._steps.take(state)
        await self._write_status(job, state, step)
        if step.failure is not None:
            raise step.failure
        times = (step.pause(), state.time_left())
        return min((left for left in times if left is not None), default=None)

    async def _release(self, key: str) -> None:
        version = self._objects.collection(PODS).get(key)
        if version is None or not self._is_stray(version):
            return
        namespace = version.namespace

        def is_stray(current: Object) -> bool:  # a Job may have adopted it meanwhile
            controller = controller_among(current["metadata"].get("ownerReferences"))
            return self._is_without_job(namespace, controller)

        await self._tracking.release(read_pod(version), if_still=is_stray)

    async def _read_state(self, job: Object) -> JobState:
        finalizer = self._names.tracking if self._names.is_tracked(job) else ""
        selector = selector_of(job)
        await self._claims.claim(job, selector, self._pods, finalizer=finalizer)
        pods = self._pods.of(job)  # again: adopted pods have the finalizer now
        status = job.get("status") or {}
        starts = not status.get("startTime") or holding(job, SUSPENDED)
        if starts and not job["spec"].get("suspend"):
            status = {**status, "startTime": now()}
        gate = self._gates["JobPodFailurePolicy"]
        policy = FailurePolicy(job["spec"].get("podFailurePolicy") if gate else None)
        job = {**job, "status": status}
        return await budget.run(JobState.size_of(job), JobState, job, pods, self._names, policy)

    async def _write_status(self, job: Object, state: JobState, step: Step) -> None:
        """Count pods and write the status if it changed."""
        status = {**state.status, "active": step.active}
        status.pop("ready", None)
        if self._gates["JobReadyPods"]:
            status["ready"] = sum(pod.ready for pod in state.active)
        if state.names.replaces_failed:
            status["terminating"] = self._terminating(job)
        if state.limit_per_index is not None:
            status["failedIndexes"] = str(state.failed_indexes)
        if step.suspension is not None:
            status = _with_condition(status, step.suspension)
            if step.suspension["status"] == "False":
                status["startTime"] = step.suspension["lastTransitionTime"]
            elif self._gates["MutableSchedulingDirectivesForSuspendedJobs"]:
                status.pop("startTime", None)
        if state.is_tracked:
            await self._count(job, state, step, status)
        else:
            status |= {"succeeded": state.succeeded, "failed": state.failed}
            status |= {"completedIndexes": str(state.completed)}
            status.pop(UNCOUNTED, None)
            await self._write(job, _ended(status, step, state.completions), step)
            _, failures = await self._tracking.release_all(state.pods)
            _raise_first(failures)

    def _terminating(self, job: Object) -> int:
        """The number of pods in deletion, those that the last step deleted included."""
        return sum(pod.terminating for pod in self._pods.of(job))

    async def _count(self, job: Object, state: JobState, step: Step, status: Object) -> None:
        uncounted = {pod.uid for pod in state.pods if state.holds(pod)}
        notes = with_finished_pods(
            state, with_counts(status, uncounted), ending=step.ending is not None
        )
        if step.ending is not None and step.ending["type"] == FAILURE_TARGET:
            notes.status = _with_condition(notes.status, step.ending)
            step.ending = {**step.ending, "type": FAILED}
        waits = self._names.announces and self._terminating(job) > 0
        if waits and step.ending is not None:
            notes.status = _announced(notes.status, step.ending)
        written = job
        if notes.pods:
            current = await self._write(job, notes.status, step)
            if current is None:
                return
            written = current
        released, failures = await self._tracking.release_all(notes.pods)
        final = with_counts(notes.status, uncounted - released)
        if notes.whole and are_all_counted(final) and not waits:
            if self._names.announces and step.ending is not None:
                final = _announced(final, step.ending)
            final = _ended(final, step, state.completions)
        await self._write(written, final, step)
        _raise_first(failures)

    async def _write(self, job: Object, status: Object, step: Step) -> Object | None:
        """Write the status if it changed and record the collected events; returns the written Job,
        or None if it is gone."""
        status = _tidy(status)
        written: Object | None = job
        if status != (job.get("status") or {}):
            written = await replace_status(self._objects, self._resource, job, status)
        if written is not None:
            for kind, reason, text in step.events:
                self._events.record(self._resource, written, kind, reason, text)
        step.events.clear()
        return written


def _announced(status: Object, ending: Object) -> Object:
    """The status with the condition that announces the final one."""
    kind = ANNOUNCEMENTS[ending["type"]]
    if holding({"status": status}, kind):
        return status
    return _with_condition(status, {**ending, "type": kind})


def _ended(status: Object, step: Step, completions: int | None) -> Object:
    """The status with the final condition, if the Job ends."""
    ending = step.ending
    if ending is None:
        return status
    status = _with_condition(status, ending)
    if ending["type"] != COMPLETE:
        step.events.append((WARNING, ending["reason"], ending["message"]))
        return status
    status["completionTime"] = ending["lastTransitionTime"]
    if completions is not None and (status.get("succeeded") or 0) > completions:
        text = "Too many succeeded pods running after completion count reached"
        step.events.append((WARNING, "TooManySucceededPods", text))
    step.events.append((NORMAL, "Completed", "Job completed"))
    return status


def _with_condition(status: Object, new: Object) -> Object:
    """A copy of the status with a condition set in place."""
    conditions = status.get("conditions") or []
    old = statuses.find_condition(conditions, new["type"])
    if old is None:
        conditions = [*conditions, new]
    else:
        conditions = [new if condition is old else condition for condition in conditions]
    return {**status, "conditions": conditions}


def _tidy(status: Object) -> Object:
    """The status without zero counts and empty texts."""
    empty = ("active", "succeeded", "failed", "completedIndexes")
    return {name: value for name, value in status.items() if value or name not in empty}


def _raise_first(failures: list[Exception]) -> None:
    if failures:
        raise failures[0]


# Counting pods exactly once, also if the server crashes in between.
#
# Three steps: the uid of a finished pod is written to the status, the pod loses its finalizer, and
# then the uid is replaced by an increment of the count. A pod whose uid is in the status is not
# added again; a pod without the finalizer has been counted. Indexed Jobs need no uids: each index
# is recorded once.

MAX_UNCOUNTED = 500


@dataclass(slots=True)
class PendingCounts:
    """A status with uids of finished pods, and the pods that may lose their finalizer once it is
    written. `whole` is False if the limit of uids left out some pods."""

    status: Object
    pods: list[Pod] = field(default_factory=list)
    whole: bool = True


def with_finished_pods(state: JobState, status: Object, *, ending: bool) -> PendingCounts:
    """Add finished pods to the status. With `ending`, all pods count as finished."""
    uncounted = status.get(UNCOUNTED) or {}
    succeeded, failed = list(uncounted.get("succeeded") or ()), list(uncounted.get("failed") or ())
    counted = {*succeeded, *failed}
    indexes: list[int] = []
    notes = PendingCounts(status)
    for pod in state.pods:
        if not state.holds(pod):
            continue
        stops = ending or state.has_failed(pod)
        if not (ending or state.is_going) and state.is_unreplaced(pod):
            continue
        if stops or state.is_going or pod.phase in FINISHED:
            notes.pods.append(pod)
        if pod.uid not in counted and state.has_valid_index(pod):
            if pod.phase == "Succeeded":
                if state.is_indexed:
                    indexes.append(state.index_of_pod(pod))
                else:
                    succeeded.append(pod.uid)
            elif stops and state.policy.counts(pod):
                failed.append(pod.uid)
        if len(indexes) + len(succeeded) + len(failed) >= MAX_UNCOUNTED:
            notes.whole = False
            break
    notes.status = _with_uncounted(status, succeeded, failed)
    if state.is_indexed:
        completed = state.completed_before.joined(indexes)
        notes.status = {**notes.status, "succeeded": len(completed)}
        notes.status["completedIndexes"] = str(completed)
    return notes


def with_counts(status: Object, holding: Collection[str]) -> Object:
    """The status with the uids of pods without the finalizer converted to counts; `holding` are the
    uids of pods that still have it."""
    uncounted = status.get(UNCOUNTED) or {}
    new_status, left = {**status}, {}
    for name in ("succeeded", "failed"):
        uids = uncounted.get(name) or []
        left[name] = [uid for uid in uids if uid in holding]
        new_status[name] = (status.get(name) or 0) + len(uids) - len(left[name])
    return _with_uncounted(new_status, **left)


def _with_uncounted(status: Object, succeeded: list[str], failed: list[str]) -> Object:
    uids = {"succeeded": succeeded, "failed": failed}
    return {**status, UNCOUNTED: {name: listed for name, listed in uids.items() if listed}}


def are_all_counted(status: Object) -> bool:
    """Whether no uids are left to count."""
    return not status.get(UNCOUNTED)
