"""The last hour of this process, as the console draws it: samples of the metrics.

A sample is kept as the JSON text that the page gets. It holds what happened since the sample before
(requests by verb and code, times of answers and commits, stalls, refusals, CPU time) and how things
stand (watches, queues, the store, memory).
"""

from __future__ import annotations

import resource as rusage
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from fairlead.api.flow_control.metrics import REJECTED, waiting_requests
from fairlead.api.metrics import PACE_BOUNDS, Metrics, resident_bytes
from fairlead.api.stalls import STALL_SECONDS, STALLS
from fairlead.storage.metrics import COMMIT_SECONDS, COMMITS
from fairlead.storage.store import Store

MAX_SAMPLES = 360
MAX_BYTES = 512 * 1024

Moment = tuple[float, float]  # of the clock, and of one that is never set


class Counts(NamedTuple):
    """What only rises, as far as it has come."""

    requests: dict[str, float]
    reads: tuple[float, ...]
    writes: tuple[float, ...]
    commits: tuple[float, ...]
    numbers: dict[str, float]


_NOTHING = Counts({}, (), (), (), {})


def now() -> Moment:
    return time.time(), time.monotonic()


class Recorder:
    """Keeps the samples of a process, at most MAX_BYTES of them. Counts from `began` on, when the
    counters were 0."""

    def __init__(
        self, metrics: Metrics, store: Store, began: float, clock: Callable[[], Moment] = now
    ) -> None:
        self._metrics = metrics
        self._store = store
        self._clock = clock
        self._before: Counts | None = None
        self._last = began  # of the clock that is never set
        self._samples: deque[tuple[float, bytes]] = deque()
        self._size = 0

    def sample(self) -> None:
        """Keep a sample of what happened since the last one."""
        moment, counts = self._clock(), self._counts()
        self._samples.append((moment[0], self._sample(moment, counts)))
        self._size += len(self._samples[-1][1])
        self._before, self._last = counts, moment[1]
        while len(self._samples) > MAX_SAMPLES or self._size > MAX_BYTES:
            self._size -= len(self._samples.popleft()[1])

    def document(self, since: float, **facts: object) -> bytes:
        """The samples later than `since`, what happened after the last one, and the facts."""
        kept = b",".join(text for moment, text in self._samples if moment > since)
        current = self._sample(self._clock(), self._counts())
        return b'{"samples":[%b],"now":%b,%b' % (kept, current, orjson.dumps(facts)[1:])

    def _sample(self, moment: Moment, counts: Counts) -> bytes:
        before = self._before or _NOTHING
        earlier = before.requests
        requests = {
            name: count - earlier.get(name, 0)
            for name, count in counts.requests.items()
            if count != earlier.get(name, 0)
        }
        numbers = before.numbers
        sample: dict[str, Any] = {
            "time": round(moment[0], 3),
            "seconds": round(max(moment[1] - self._last, 0.001), 3),
            "requests": requests,
            "reads": _pace(PACE_BOUNDS, counts.reads, before.reads),
            "writes": _pace(PACE_BOUNDS, counts.writes, before.writes),
            "commits": _pace(COMMIT_SECONDS.bounds, counts.commits, before.commits),
            **{name: round(v - numbers.get(name, 0), 3) for name, v in counts.numbers.items()},
            **self._standing(),
        }
        return orjson.dumps(sample)

    def _counts(self) -> Counts:
        used = rusage.getrusage(rusage.RUSAGE_SELF)
        reads, writes = self._metrics.paces
        commits = COMMIT_SECONDS.rows.get((), [0.0] * (len(COMMIT_SECONDS.bounds) + 2))
        numbers = {
            "stalls": STALLS.value(),
            "stallSeconds": STALL_SECONDS.value(),
            "rejected": sum(REJECTED.values.values()),
            "failedCommits": COMMITS.value(("failed",)),
            "cpuSeconds": used.ru_utime + used.ru_stime,
        }
        return Counts(
            self._metrics.requests_by_verb(),
            tuple(reads),
            tuple(writes),
            tuple(commits[:-1]),  # without the sum
            numbers,
        )

    def _standing(self) -> dict[str, float]:
        store = self._store
        return {
            "watches": self._metrics.open_watches,
            "underWay": sum(self._metrics.under_way),
            "queued": waiting_requests(),
            "objects": sum(map(len, store.collections())),
            "bytes": store.size(),
            "revision": store.revision,
            "memory": resident_bytes(),
        }


def _pace(bounds: Sequence[float], counts: Sequence[float], before: Sequence[float]) -> list[float]:
    """How many there were, and the seconds in which half of them and 99 of 100 were done."""
    buckets = [a - b for a, b in zip(counts, before or (0,) * len(counts), strict=True)]
    sums = list(accumulate(buckets))
    total = sums[-1]
    if not total:
        return [0, 0, 0]
    return [total, *(round(_quantile(bounds, buckets, sums, part), 6) for part in (0.5, 0.99))]


def _quantile(
    bounds: Sequence[float], buckets: Sequence[float], sums: Sequence[float], part: float
) -> float:
    """The value below which a part of the observations is, evenly spread within a bucket."""
    wanted = part * sums[-1]
    index = bisect_left(sums, wanted)
    if index >= len(bounds):
        return bounds[-1]
    lower = bounds[index - 1] if index else 0.0
    inside = (wanted - (sums[index] - buckets[index])) / buckets[index]
    return lower + inside * (bounds[index] - lower)
