"""How a Job stands: what its pods and what was counted before say."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.base import clock
from fairlead.codec.types.times import now, parse_time
from fairlead.controllers.workloads import conditions
from fairlead.controllers.workloads.jobs.failure_policy import FailurePolicy
from fairlead.controllers.workloads.jobs.indexes import Indexes
from fairlead.controllers.workloads.jobs.names import JobNames
from fairlead.controllers.workloads.pods import Pod
from fairlead.operations.api import Object
from fairlead.resources.batch.names import INDEXED

COMPLETE, FAILED, FAILURE_TARGET, SUSPENDED = "Complete", "Failed", "FailureTarget", "Suspended"
BY_POLICY = "PodFailurePolicy"
UNCOUNTED = "uncountedTerminatedPods"


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Object:
    """A condition of a Job as of now."""
    made = {**conditions.condition(kind, status, reason, message), "lastProbeTime": now()}
    return {name: text for name, text in made.items() if text}


def holding(job: Object, *kinds: str) -> str:
    """The first of some conditions that is true."""
    said = (job.get("status") or {}).get("conditions") or ()
    return next((one["type"] for one in said if one["type"] in kinds and _is_true(one)), "")


def _is_true(one: Object) -> bool:
    return bool(one["status"] == "True")


def has_ended(job: Object) -> str:
    """How a Job ended, Complete or Failed; empty while it has not."""
    return holding(job, COMPLETE, FAILED)


class Standing:
    """A Job and its pods. If it is tracked, a pod counts while it has the finalizer and is not
    among the uncounted: who lacks it has been counted before."""

    def __init__(
        self, job: Object, pods: Sequence[Pod], names: JobNames, policy: FailurePolicy
    ) -> None:
        self.job = job
        self.spec: Object = job["spec"]
        self.status: Object = job.get("status") or {}
        self.names = names
        self.policy = policy
        self.is_tracked = names.tracking in (job["metadata"].get("annotations") or {})
        self.completions: int | None = self.spec.get("completions")
        self.is_indexed = self.spec.get("completionMode") == INDEXED
        self.is_suspended = bool(self.spec.get("suspend"))
        self.is_going = job["metadata"].get("deletionTimestamp") is not None
        self.pods = sorted(pods, key=self._place) if self.is_indexed else list(pods)
        self.active = [pod for pod in pods if pod.active]
        uncounted = self.status.get(UNCOUNTED) or {}
        self.uncounted_succeeded: list[str] = uncounted.get("succeeded") or []
        self.uncounted_failed: list[str] = uncounted.get("failed") or []
        self._count()

    def _place(self, pod: Pod) -> int:
        index = self.names.index_of(pod)
        return -1 if index is None else index

    def _count(self) -> None:
        succeeded, failed = self.uncounted_succeeded, self.uncounted_failed
        known = {*succeeded, *failed}
        new = [pod for pod in self.pods if self._is_to_count(pod) and pod.uid not in known]
        before = self.status if self.is_tracked else {}
        self.failed = (before.get("failed") or 0) + len(failed)
        self.failed += sum(self.has_failed(pod) and self.policy.counts(pod) for pod in new)
        successes = [pod for pod in new if pod.phase == "Succeeded"]
        self.succeeded = (before.get("succeeded") or 0) + len(succeeded) + len(successes)
        self.completed = self.completed_before = Indexes()
        if self.is_indexed:
            text = before.get("completedIndexes") or ""
            self.completed_before = Indexes.parse(text, self.completions or 0)
            self.completed = self.completed_before.joined(map(self._place, successes))
            self.succeeded = len(self.completed)

    def _is_to_count(self, pod: Pod) -> bool:
        return (self.holds(pod) or not self.is_tracked) and self.has_place(pod)

    def holds(self, pod: Pod) -> bool:
        """Whether a pod has the finalizer."""
        return self.names.tracking in pod.finalizers

    def has_place(self, pod: Pod) -> bool:
        """Whether a pod has an index that the Job knows, or needs none."""
        return not self.is_indexed or 0 <= self._place(pod) < (self.completions or 0)

    def place_of(self, pod: Pod) -> int:
        """The index of a pod that has a place."""
        return self._place(pod)

    def has_failed(self, pod: Pod) -> bool:
        """Whether a pod failed; one that was deleted before it came to an end counts as such."""
        if pod.phase == "Failed":
            return True
        return self.is_tracked and pod.deleting and pod.phase != "Succeeded"

    def is_complete(self, active: int) -> bool:
        """Whether it is done, if so many of its pods are active. Without a number of completions
        one success is enough, when the others have come to an end."""
        return active == 0 and self.succeeded >= (
            1 if self.completions is None else self.completions
        )

    def verdict(self) -> Object | None:
        """The condition by which it fails. FailureTarget is a promise to fail that is kept once all
        pods are counted."""
        target = conditions.find(self.status.get("conditions") or (), FAILURE_TARGET)
        if target is not None and _is_true(target):
            return condition(FAILED, "True", BY_POLICY, target.get("message", ""))
        why = self.policy.failure_of_job(pod for pod in self.pods if self.has_failed(pod))
        if why:
            kind = FAILURE_TARGET if self.is_tracked else FAILED
            return condition(kind, "True", BY_POLICY, why)
        if self._is_beyond_limit():
            text = "Job has reached the specified backoff limit"
            return condition(FAILED, "True", "BackoffLimitExceeded", text)
        if self.time_left() == 0:
            text = "Job was active longer than specified deadline"
            return condition(FAILED, "True", "DeadlineExceeded", text)
        return None

    def _is_beyond_limit(self) -> bool:
        limit = self.spec.get("backoffLimit") or 0
        if self.failed > limit and self._has_failed_anew():
            return True
        if self.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
            return False
        restarts = sum(pod.all_restarts for pod in self.pods if pod.phase in ("Pending", "Running"))
        return restarts >= max(limit, 1)

    def _has_failed_anew(self) -> bool:
        """Whether a pod failed since the last look: a limit that is lowered says nothing about
        those before."""
        known: int = self.status.get("failed") or 0
        return self.failed > known and len(self.active) != self.spec.get("parallelism")

    def time_left(self) -> float | None:
        """The seconds for which it may still be active; None if there is no limit."""
        seconds, started = self.spec.get("activeDeadlineSeconds"), self.status.get("startTime")
        if seconds is None or not started or self.is_suspended:
            return None
        end: float = parse_time(started).timestamp() + seconds
        return max(0.0, end - clock.time())
