"""One step of a Job: creates or deletes its pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from fairlead.base import budget, clock
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import NORMAL
from fairlead.controllers.workloads import statuses
from fairlead.controllers.workloads.adoption import without_finalizer
from fairlead.controllers.workloads.batches import run_all, run_growing
from fairlead.controllers.workloads.jobs.pods import pods_to_make, superfluous
from fairlead.controllers.workloads.jobs.progress import (
    COMPLETE,
    SUSPENDED,
    JobNames,
    JobState,
    condition,
)
from fairlead.controllers.workloads.pod_control import PodControl, is_namespace_terminating
from fairlead.controllers.workloads.pods import PODS, Pod
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.registry import Resource

_BURST = 500  # pods created or deleted per sync
_FIRST_PAUSE, _MAX_PAUSE = 10.0, 360.0
_MAX_DOUBLINGS = 6


@dataclass(slots=True)
class Step:
    """The outcome of a step: active pods, the final condition if the Job ends, a changed Suspended
    condition, the first error, and when pod creation resumes after the back-off."""

    active: int
    ending: Object | None = None
    suspension: Object | None = None
    failure: Exception | None = None
    resumes: float | None = None
    events: list[tuple[str, str, str]] = field(default_factory=list)

    def pause(self) -> float | None:
        """Seconds until pods are created again."""
        return None if self.resumes is None else max(0.0, self.resumes - clock.time())


class Steps:
    """Creates and deletes the pods of Jobs."""

    def __init__(
        self, control: PodControl, tracking: Tracking, resource: Resource, names: JobNames
    ) -> None:
        self._control = control
        self._tracking = tracking
        self._resource = resource
        self._names = names

    async def take(self, state: JobState) -> Step:
        verdict = state.verdict()
        if verdict is not None:
            return await self._fail(state, verdict)
        success = None
        if state.names.announces:
            success = await budget.run(JobState.size_of(state.job), state.success)
        if success is not None:
            return await self._succeed(state, success)
        if state.is_going:
            step = Step(len(state.active))
        else:
            step = await self._keep_number(state)
        if state.is_complete(step.active):
            step.ending = condition(COMPLETE, "True")
            if state.names.announces:
                text = "Reached expected number of succeeded pods"
                step.ending = condition(COMPLETE, "True", "CompletionsReached", text)
        elif not state.is_going:
            _report_suspension(state, step)
        return step

    async def _fail(self, state: JobState, verdict: Object) -> Step:
        """Delete all active pods and count them as failed. The Job ends when all deletes
        succeeded."""
        acts = [partial(self._control.delete, state.job, pod) for pod in state.active]
        failures = await run_all(acts)
        if failures:
            return Step(len(failures), failure=failures[0])
        state.failed += len(state.active)
        return Step(0, ending=verdict)

    async def _succeed(self, state: JobState, success: Object) -> Step:
        """Delete the pods that are no longer needed. They do not count as failed."""
        step = await self._remove(state, list(state.active))
        if step.failure is None:
            step.ending = success
        return step

    async def _keep_number(self, state: JobState) -> Step:
        active = len(state.active)
        surplus = superfluous(state)
        if surplus:
            return await self._remove(state, surplus[:_BURST])
        if state.limit_per_index is not None:
            return await self._add_to_indexes(state)
        pods = pods_to_make(state, self._resource, self._names, _BURST)
        if not pods:
            return Step(active)
        resumes = end_of_pause(state.pods)
        if resumes > clock.time():
            return Step(active, resumes=resumes)
        return await self._make(state, pods)

    async def _add_to_indexes(self, state: JobState) -> Step:
        """Create pods for the indexes that do not pause after a failure."""
        ends = {index: _end_of_index_pause(state, index) for index in state.unreplaced}
        moment = clock.time()
        paused = {index: end for index, end in ends.items() if end > moment}
        pods = pods_to_make(state, self._resource, self._names, _BURST, paused)
        step = await self._make(state, pods) if pods else Step(len(state.active))
        step.resumes = min(paused.values(), default=None)
        return step

    async def _remove(self, state: JobState, pods: list[Pod]) -> Step:
        """Delete surplus pods. They must not count, so they lose their finalizer first."""
        removed: set[str] = set()

        async def remove(pod: Pod) -> None:
            if state.holds(pod):
                await self._tracking.release(pod)
            await self._control.delete(state.job, pod)
            removed.add(pod.uid)

        failures = await run_all([partial(remove, pod) for pod in pods])
        state.pods = [pod for pod in state.pods if pod.uid not in removed]
        failure = failures[0] if failures else None
        return Step(len(state.active) - len(removed), failure=failure)

    async def _make(self, state: JobState, pods: list[Object]) -> Step:
        created = 0

        async def make(pod: Object) -> None:
            nonlocal created
            await self._control.create(state.job, pod)
            created += 1

        failure: Exception | None = None
        try:
            await run_growing([partial(make, pod) for pod in pods])
        except StatusError as error:
            failure = None if is_namespace_terminating(error) else error
        return Step(len(state.active) + created, failure=failure)


def _report_suspension(state: JobState, step: Step) -> None:
    """Set the Suspended condition if it changed."""
    suspension = statuses.find_condition(state.status.get("conditions") or (), SUSPENDED)
    if state.is_suspended:
        status, reason, event, text = "True", "JobSuspended", "Suspended", "Job suspended"
    else:
        status, reason, event, text = "False", "JobResumed", "Resumed", "Job resumed"
        if suspension is None:
            return
    if suspension is not None and (suspension["status"], suspension.get("reason")) == (
        status,
        reason,
    ):
        return
    step.suspension = condition(SUSPENDED, status, reason, text)
    step.events.append((NORMAL, event, text))


# Back-off of a Job before it creates pods after failures.


def end_of_pause(pods: Iterable[Pod]) -> float:
    """When the pause ends, 0 without one: 10 s after a failure, doubled for each further failure
    since the last success, at most 360 s. Computed from the pods only, so it survives a restart."""
    now = clock.time()
    finished = [pod for pod in pods if not pod.deleting]
    success = _latest((pod for pod in finished if pod.phase == "Succeeded"), now)
    failures = [
        moment
        for pod in finished
        if pod.phase == "Failed" and (moment := _end(pod, now)) >= success
    ]
    if not failures:
        return 0.0
    return max(failures) + _pause_after(len(failures))


def _pause_after(failures: int) -> float:
    return min(_FIRST_PAUSE * float(1 << min(failures - 1, _MAX_DOUBLINGS)), _MAX_PAUSE)


def _end_of_index_pause(state: JobState, index: int) -> float:
    """When an index whose last pod failed gets a new one, in Jobs with a limit for each index."""
    return _end(state.unreplaced[index], clock.time()) + _pause_after(sum(state.failures_at(index)))


def _latest(pods: Iterable[Pod], now: float) -> float:
    return max((_end(pod, now) for pod in pods), default=0.0)


def _end(pod: Pod, now: float) -> float:
    """When a pod finished; its creation time if the reported time is in the future."""
    if pod.finished:
        moment = parse_time(pod.finished).timestamp()
        if moment <= now:
            return moment
    return parse_time(pod.created).timestamp()


# Removes the tracking finalizer from counted pods.


class Tracking:
    """Removes the tracking finalizer."""

    def __init__(self, objects: Client, finalizer: str) -> None:
        self._objects = objects
        self._finalizer = finalizer

    async def release_all(self, pods: Iterable[Pod]) -> tuple[set[str], list[Exception]]:
        """Remove it from all pods that have it; returns the uids that succeeded and the exceptions
        of the others."""
        released: set[str] = set()

        async def release(pod: Pod) -> None:
            await self.release(pod)
            released.add(pod.uid)

        holding = (pod for pod in pods if self._finalizer in pod.finalizers)
        failures = await run_all([partial(release, pod) for pod in holding])
        return released, failures

    async def release(
        self, pod: Pod, *, if_still: Callable[[Object], bool] = lambda current: True
    ) -> None:
        """Remove it from a pod if `if_still` holds for its current value. A deleted pod is
        ignored."""

        def released(current: Object) -> Object:
            metadata = current["metadata"]
            if metadata["uid"] == pod.uid and if_still(current):
                metadata = without_finalizer(metadata, self._finalizer)
            return {**current, "metadata": metadata}

        try:
            await self._objects.change(PODS, pod.namespace, pod.name, released, verb="patch")
        except StatusError as error:
            if error.code != 404:
                raise
