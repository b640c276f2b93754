"""The state of a Job, from its pods and the counts in its status."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, starmap
from operator import itemgetter

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.codec.types.times import now, parse_time
from fairlead.controllers.workloads import statuses
from fairlead.controllers.workloads.jobs.failure_policy import FailurePolicy
from fairlead.controllers.workloads.pods import Pod
from fairlead.operations.api import Object
from fairlead.resources.batch.job_spec import INDEXED, TRACKING
from fairlead.resources.gates import Gates

COMPLETE, FAILED, FAILURE_TARGET, SUSPENDED = "Complete", "Failed", "FailureTarget", "Suspended"
SUCCESS_CRITERIA = "SuccessCriteriaMet"
# The condition that announces each final one until all pods have ended.
ANNOUNCEMENTS = {COMPLETE: SUCCESS_CRITERIA, FAILED: FAILURE_TARGET}
BY_POLICY, BY_SUCCESS = "PodFailurePolicy", "SuccessPolicy"
UNCOUNTED = "uncountedTerminatedPods"
_MIN_RANGE_LENGTH = 3  # shorter ranges are written as single numbers
_MAX_DIGITS = 10
_RUN = re.compile(rf"(?<![^,])([0-9]{{1,{_MAX_DIGITS}}})(?:-([0-9]{{1,{_MAX_DIGITS}}}))?(?![^,])")
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Object:
    """A Job condition with the current time."""
    new = {**statuses.condition(kind, status, reason, message), "lastProbeTime": now()}
    return {name: text for name, text in new.items() if text}


def holding(job: Object, *kinds: str) -> str:
    """The first of these condition types that is True, or empty."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next(
        (
            condition["type"]
            for condition in conditions
            if condition["type"] in kinds and _is_true(condition)
        ),
        "",
    )


def _is_true(condition: Object) -> bool:
    return bool(condition["status"] == "True")


def has_ended(job: Object) -> str:
    """`Complete` or `Failed`; empty if the Job has not ended."""
    return holding(job, COMPLETE, FAILED)


class JobState:
    """A Job and its pods, counted. In a tracked Job a pod is counted while it has the finalizer and
    its uid is not in the status; a pod without it is already in the counts."""

    def __init__(
        self, job: Object, pods: Sequence[Pod], names: JobNames, policy: FailurePolicy
    ) -> None:
        self.job = job
        self.spec: Object = job["spec"]
        self.status: Object = job.get("status") or {}
        self.names = names
        self.policy = policy
        self.is_tracked = names.is_tracked(job)
        self.completions: int | None = self.spec.get("completions")
        self.is_indexed = self.spec.get("completionMode") == INDEXED
        self.is_suspended = bool(self.spec.get("suspend"))
        self.is_going = job["metadata"].get("deletionTimestamp") is not None
        self.pods = sorted(pods, key=self._index) if self.is_indexed else list(pods)
        self.active = [pod for pod in pods if pod.active]
        self.terminating = sum(pod.terminating for pod in pods)
        # Whether pods are replaced only when they have ended.
        self.waits = names.replaces_failed and self.spec.get("podReplacementPolicy") == "Failed"
        self.limit_per_index: int | None = self.spec.get("backoffLimitPerIndex")
        uncounted = self.status.get(UNCOUNTED) or {}
        self.uncounted_succeeded: list[str] = uncounted.get("succeeded") or []
        self.uncounted_failed: list[str] = uncounted.get("failed") or []
        self._count()

    @staticmethod
    def size_of(job: Object) -> int:
        """The length of all lists of indexes in a Job."""
        status = job.get("status") or {}
        rules = (job["spec"].get("successPolicy") or {}).get("rules") or ()
        texts = [status.get("completedIndexes"), status.get("failedIndexes")]
        texts += [rule.get("succeededIndexes") for rule in rules]
        return sum(len(text or "") for text in texts)

    def _index(self, pod: Pod) -> int:
        index = self.names.index_of(pod)
        return -1 if index is None else index

    def _count(self) -> None:
        succeeded, failed = self.uncounted_succeeded, self.uncounted_failed
        counted = {*succeeded, *failed}
        new = [pod for pod in self.pods if self._is_to_count(pod) and pod.uid not in counted]
        before = self.status if self.is_tracked else {}
        self.failed = (before.get("failed") or 0) + len(failed)
        self.failed += sum(self.has_failed(pod) and self.policy.counts(pod) for pod in new)
        successes = [pod for pod in new if pod.phase == "Succeeded"]
        self.succeeded = (before.get("succeeded") or 0) + len(succeeded) + len(successes)
        self.completed = self.completed_before = Indexes()
        if self.is_indexed:
            text = before.get("completedIndexes") or ""
            self.completed_before = Indexes.parse(text, self.completions or 0)
            self.completed = self.completed_before.joined(map(self._index, successes))
            self.succeeded = len(self.completed)
        self.failed_indexes = self._failed_indexes()
        # The last failed pod of each index that has no new pod yet, in Jobs with a limit for each
        # index. It keeps its finalizer until then, since it alone has the number of failures.
        self.unreplaced: dict[int, Pod] = {}
        if self.limit_per_index is not None:
            self._find_unreplaced()

    def _failed_indexes(self) -> Indexes:
        """The indexes whose pods failed too often, of Jobs with a limit for each index."""
        if self.limit_per_index is None:
            return Indexes()
        before = Indexes.parse(self.status.get("failedIndexes") or "", self.completions or 0)
        return before.joined(
            self._index(pod)
            for pod in self.pods
            if self.has_valid_index(pod)
            and self._index(pod) not in self.completed
            and self.has_failed(pod)
            and self._fails_index(pod, self.limit_per_index)
        )

    def _fails_index(self, pod: Pod, limit: int) -> bool:
        if self.policy.fails_index(pod):
            return True
        return self.policy.counts(pod) and self.names.failures_of(pod)[0] >= limit

    def _find_unreplaced(self) -> None:
        active = {self._index(pod) for pod in self.active}
        for pod in self.pods:
            if not (self.holds(pod) and self.has_valid_index(pod) and self.has_failed(pod)):
                continue
            index = self._index(pod)
            if index in self.completed or index in self.failed_indexes or index in active:
                continue
            last = self.unreplaced.get(index)
            if last is None or sum(self.names.failures_of(last)) <= sum(
                self.names.failures_of(pod)
            ):
                self.unreplaced[index] = pod

    def is_unreplaced(self, pod: Pod) -> bool:
        last = self.unreplaced.get(self._index(pod))
        return last is not None and last.uid == pod.uid

    def failures_at(self, index: int) -> tuple[int, int]:
        """How many pods of an index have failed so far: those that count towards the limit, and
        those that the failure policy ignores."""
        pod = self.unreplaced.get(index)
        if pod is None:
            return 0, 0
        counted, ignored = self.names.failures_of(pod)
        counts = self.policy.counts(pod)
        return counted + counts, ignored + (not counts)

    def _is_to_count(self, pod: Pod) -> bool:
        return (self.holds(pod) or not self.is_tracked) and self.has_valid_index(pod)

    def holds(self, pod: Pod) -> bool:
        """Whether a pod has the tracking finalizer."""
        return self.names.tracking in pod.finalizers

    def has_valid_index(self, pod: Pod) -> bool:
        """Whether the Job is not indexed or the pod has a valid index."""
        return not self.is_indexed or 0 <= self._index(pod) < (self.completions or 0)

    def index_of_pod(self, pod: Pod) -> int:
        """The index of a pod for which `has_valid_index` holds."""
        return self._index(pod)

    def has_failed(self, pod: Pod) -> bool:
        """Whether a pod failed. In a tracked Job a pod deleted before it finished counts as
        failed."""
        if pod.phase == "Failed":
            return True
        if self.waits:
            return False
        return self.is_tracked and pod.deleting and pod.phase != "Succeeded"

    def is_complete(self, active: int) -> bool:
        """Whether the Job is complete with `active` active pods. Without completions one success
        suffices once no pods are active."""
        return active == 0 and self.succeeded >= (
            1 if self.completions is None else self.completions
        )

    def verdict(self) -> Object | None:
        """The condition that fails the Job, or None. FailureTarget announces the failure until all
        pods are counted."""
        target = statuses.find_condition(self.status.get("conditions") or (), FAILURE_TARGET)
        if target is not None and _is_true(target):
            reason = target.get("reason", BY_POLICY) if self.names.announces else BY_POLICY
            return condition(FAILED, "True", reason, target.get("message", ""))
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
        return self._verdict_on_indexes()

    def _verdict_on_indexes(self) -> Object | None:
        if not len(self.failed_indexes):
            return None
        most: int | None = self.spec.get("maxFailedIndexes")
        if most is not None and len(self.failed_indexes) > most:
            text = "Job has exceeded the specified maximal number of failed indexes"
            return condition(FAILED, "True", "MaxFailedIndexesExceeded", text)
        if len(self.failed_indexes) + self.succeeded >= (self.completions or 0):
            return condition(FAILED, "True", "FailedIndexes", "Job has failed indexes")
        return None

    def success(self) -> Object | None:
        """The condition that completes the Job by its success policy, or None."""
        met = statuses.find_condition(self.status.get("conditions") or (), SUCCESS_CRITERIA)
        if met is not None and _is_true(met):
            return condition(COMPLETE, "True", met.get("reason", ""), met.get("message", ""))
        rules = (self.spec.get("successPolicy") or {}).get("rules") or ()
        for index, rule in enumerate(rules if len(self.completed) else ()):
            if self._is_met(rule):
                return condition(COMPLETE, "True", BY_SUCCESS, f"Matched rules at index {index}")
        return None

    def _is_met(self, rule: Object) -> bool:
        count: int | None = rule.get("succeededCount")
        if rule.get("succeededIndexes") is None:
            return count is not None and len(self.completed) >= count
        required = Indexes.parse(rule["succeededIndexes"], self.completions or 0)
        needed = len(required) if count is None else count
        return len(required) > 0 and required.common(self.completed) >= needed

    def _is_beyond_limit(self) -> bool:
        limit = self.spec.get("backoffLimit") or 0
        if self.failed > limit and self._has_new_failure():
            return True
        if self.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
            return False
        restarts = sum(pod.all_restarts for pod in self.pods if pod.phase in ("Pending", "Running"))
        return restarts >= max(limit, 1)

    def _has_new_failure(self) -> bool:
        """Whether a pod failed since the last sync: lowering the limit does not fail a Job for
        earlier failures."""
        recorded: int = self.status.get("failed") or 0
        return self.failed > recorded and len(self.active) != self.spec.get("parallelism")

    def time_left(self) -> float | None:
        """Seconds until activeDeadlineSeconds, or None."""
        seconds, started = self.spec.get("activeDeadlineSeconds"), self.status.get("startTime")
        if seconds is None or not started or self.is_suspended:
            return None
        end: float = parse_time(started).timestamp() + seconds
        return max(0.0, end - clock.time())


# Sets of completion indexes, stored as ranges: `1,3-5,7`.


class Indexes:
    """An immutable set of non-negative integers."""

    __slots__ = ("_count", "_runs", "_text")

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        """`runs` are (first, last) pairs in any order."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(runs):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        self._runs = merged
        self._count = sum(last - first + 1 for first, last in merged)
        self._text: str | None = None

    @classmethod
    def parse(cls, text: str, limit: int) -> Indexes:
        """Parse the text form up to a limit, ignoring invalid parts."""
        highest = limit - 1
        runs = ((int(first), int(last or first)) for first, last in _RUN.findall(text))
        return cls(
            (first, min(last, highest)) for first, last in runs if first <= min(last, highest)
        )

    def __str__(self) -> str:
        if self._text is None:
            self._text = ",".join(starmap(_written, self._runs))
        return self._text

    def __contains__(self, number: int) -> bool:
        position = bisect_right(self._runs, number, key=itemgetter(0))
        return position > 0 and number <= self._runs[position - 1][1]

    def __len__(self) -> int:
        return self._count

    def joined(self, numbers: Iterable[int]) -> Indexes:
        """The set with more numbers."""
        return self.united(Indexes((number, number) for number in numbers))

    def united(self, other: Indexes) -> Indexes:
        """The set with the numbers of both."""
        if not other or not self:
            return other or self
        return Indexes([*self._runs, *other._runs])

    def common(self, other: Indexes) -> int:
        """How many numbers are in both sets."""
        total = at = 0
        for first, last in self._runs:
            while at < len(other._runs) and other._runs[at][1] < first:
                at += 1
            position = at
            while position < len(other._runs) and other._runs[position][0] <= last:
                run = other._runs[position]
                total += min(last, run[1]) - max(first, run[0]) + 1
                position += 1
        return total

    def first_missing(self, count: int, limit: int) -> list[int]:
        """The first `count` numbers below `limit` that are not in the set."""
        return list(islice(self._missing(limit), count))

    def _missing(self, limit: int) -> Iterator[int]:
        start = 0
        for first, last in self._runs:
            yield from range(start, min(first, limit))
            start = last + 1
        yield from range(start, limit)


def _written(first: int, last: int) -> str:
    if last - first + 1 >= _MIN_RANGE_LENGTH:
        return f"{first}-{last}"
    return str(first) if first == last else f"{first},{last}"


# Names that Jobs use on their pods.


class JobNames:
    """`tracking` is the finalizer, and the annotation of tracked Jobs in releases that track only
    some; `index` is the annotation with the completion index, `failures` that with the number of
    earlier failures of the index, `ignored` that with the number of ignored ones."""

    def __init__(self, dialect: Dialect, gates: Gates) -> None:
        self.tracking = dialect.label(TRACKING)
        self.index = dialect.label("batch.@/job-completion-index")
        self.failures = dialect.label("batch.@/job-index-failure-count")
        self.ignored = dialect.label("batch.@/job-index-ignored-failure-count")
        self.has_index_label = gates["PodIndexLabel"]
        self.announces = gates["JobManagedBy"]  # final conditions are announced
        self.replaces_failed = gates["JobPodReplacementPolicy"]
        self._tracks_all = not gates["JobTrackingAnnotation"]

    def is_tracked(self, job: Object) -> bool:
        """Whether the pods of a Job are counted by their finalizers."""
        return self._tracks_all or self.tracking in (job["metadata"].get("annotations") or {})

    def index_of(self, pod: Pod) -> int | None:
        return _count_in(pod.annotations.get(self.index, ""))

    def failures_of(self, pod: Pod) -> tuple[int, int]:
        """How many pods of the same index had failed before this one: counted and ignored."""
        counted, ignored = (
            _count_in(pod.annotations.get(name, "")) or 0 for name in (self.failures, self.ignored)
        )
        return counted, ignored


def _count_in(text: str) -> int | None:
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        return None
    return int(text)
