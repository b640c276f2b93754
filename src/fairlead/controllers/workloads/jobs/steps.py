"""One step of a Job: what it does to its pods."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from fairlead.base import clock
from fairlead.base.errors import StatusError
from fairlead.base.records import dataclass, field
from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import NORMAL
from fairlead.controllers.workloads import conditions
from fairlead.controllers.workloads.batches import all_of, growing
from fairlead.controllers.workloads.jobs.finalizers import Tracking
from fairlead.controllers.workloads.jobs.names import JobNames
from fairlead.controllers.workloads.jobs.pods import pods_to_make, superfluous
from fairlead.controllers.workloads.jobs.progress import COMPLETE, SUSPENDED, Standing, condition
from fairlead.controllers.workloads.pod_control import PodControl, is_namespace_ending
from fairlead.controllers.workloads.pods import Pod
from fairlead.operations.api import Object
from fairlead.resources.registry import Resource

_BURST = 500  # pods made or removed in one go


@dataclass(slots=True)
class Step:
    """What became of a Job: how many pods are active, the condition by which it ends, if it does,
    the one that tells whether it is suspended, if that is news, and when pods are made again if
    none are because some have failed."""

    active: int
    ending: Object | None = None
    suspension: Object | None = None
    failure: Exception | None = None
    resumes: float | None = None
    events: list[tuple[str, str, str]] = field(default_factory=list)

    def pause(self) -> float | None:
        """The seconds until pods are made again."""
        return None if self.resumes is None else max(0.0, self.resumes - clock.time())


class Steps:
    """Makes and removes the pods of Jobs."""

    def __init__(
        self, control: PodControl, tracking: Tracking, resource: Resource, names: JobNames
    ) -> None:
        self._control = control
        self._tracking = tracking
        self._resource = resource
        self._names = names

    async def take(self, standing: Standing) -> Step:
        verdict = standing.verdict()
        if verdict is not None:
            return await self._fail(standing, verdict)
        if standing.is_going:
            step = Step(len(standing.active))
        else:
            step = await self._keep_number(standing)
        if standing.is_complete(step.active):
            step.ending = condition(COMPLETE, "True")
        elif not standing.is_going:
            _tell_suspension(standing, step)
        return step

    async def _fail(self, standing: Standing, verdict: Object) -> Step:
        """End all that runs. The Job has failed when that is done; its pods count as failed."""
        acts = [partial(self._control.delete, standing.job, pod) for pod in standing.active]
        failures = await all_of(acts)
        if failures:
            return Step(len(failures), failure=failures[0])
        standing.failed += len(standing.active)
        return Step(0, ending=verdict)

    async def _keep_number(self, standing: Standing) -> Step:
        active = len(standing.active)
        surplus = superfluous(standing)
        if surplus:
            return await self._remove(standing, surplus[:_BURST])
        pods = pods_to_make(standing, self._resource, self._names, _BURST)
        if not pods:
            return Step(active)
        resumes = end_of_pause(standing.pods)
        if resumes > clock.time():
            return Step(active, resumes=resumes)
        return await self._make(standing, pods)

    async def _remove(self, standing: Standing, pods: list[Pod]) -> Step:
        """Pods that are not wanted any more do not count: they lose their finalizer first."""
        removed: set[str] = set()

        async def remove(pod: Pod) -> None:
            if standing.holds(pod):
                await self._tracking.release(pod)
            await self._control.delete(standing.job, pod)
            removed.add(pod.uid)

        failures = await all_of([partial(remove, pod) for pod in pods])
        standing.pods = [pod for pod in standing.pods if pod.uid not in removed]
        failure = failures[0] if failures else None
        return Step(len(standing.active) - len(removed), failure=failure)

    async def _make(self, standing: Standing, pods: list[Object]) -> Step:
        made = 0

        async def make(pod: Object) -> None:
            nonlocal made
            await self._control.create(standing.job, pod)
            made += 1

        failure: Exception | None = None
        try:
            await growing([partial(make, pod) for pod in pods])
        except StatusError as error:
            failure = None if is_namespace_ending(error) else error
        return Step(len(standing.active) + made, failure=failure)


def _tell_suspension(standing: Standing, step: Step) -> None:
    """Say that a Job is suspended, or no longer, if that is new."""
    said = conditions.find(standing.status.get("conditions") or (), SUSPENDED)
    if standing.is_suspended:
        status, reason, event, text = "True", "JobSuspended", "Suspended", "Job suspended"
    else:
        status, reason, event, text = "False", "JobResumed", "Resumed", "Job resumed"
        if said is None:
            return
    if said is not None and (said["status"], said.get("reason")) == (status, reason):
        return
    step.suspension = condition(SUSPENDED, status, reason, text)
    step.events.append((NORMAL, event, text))


# How long a Job waits before it makes pods again after some have failed.

_FIRST, _LONGEST = 10.0, 360.0
_MOST_DOUBLINGS = 6


def end_of_pause(pods: Iterable[Pod]) -> float:
    """When the pause is over, 0 if there is none: ten seconds after a failure, twice as many with
    every further one until a pod succeeds. It is told from the pods alone, so that it outlives the
    server."""
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
    pause = min(_FIRST * float(1 << min(len(failures) - 1, _MOST_DOUBLINGS)), _LONGEST)
    return max(failures) + pause


def _latest(pods: Iterable[Pod], now: float) -> float:
    return max((_end(pod, now) for pod in pods), default=0.0)


def _end(pod: Pod, now: float) -> float:
    """When a pod finished. Who cannot be believed, for that lies ahead, did when it was made."""
    if pod.finished:
        moment = parse_time(pod.finished).timestamp()
        if moment <= now:
            return moment
    return parse_time(pod.created).timestamp()
