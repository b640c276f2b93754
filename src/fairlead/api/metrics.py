"""Metrics of the server in Prometheus format, under the names of the reference."""

from __future__ import annotations

import resource as rusage
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from fairlead.api.routing import Target
from fairlead.base.caches import cache_sizes
from fairlead.base.metrics import REGISTRY, Family, Labels
from fairlead.storage.store import Store

if TYPE_CHECKING:
    from prometheus_client.core import Metric

BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30,
    45, 60,
)  # fmt: skip
_LABELS = ("verb", "group", "version", "resource", "subresource", "scope")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_VERBS = {"create": "POST", "update": "PUT", "": "other"}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

Series = tuple[str, str, str, str, str, str]
Rows = dict[Labels, float | Sequence[float]]
Gather = Callable[["Metrics"], Awaitable[list[Family]]]


class Metrics:
    """Counts in plain dictionaries on the hot path and formats on request. `gather` collects the
    metrics of the other processes, too; `started` is the start time of the server."""

    def __init__(
        self, store: Store, gather: Gather | None = None, started: float | None = None
    ) -> None:
        self._store = store
        self.gather = gather
        self._started = started or time.time()
        self._requests: dict[tuple[Series, int], int] = {}
        self._durations: dict[Series, list[float]] = {}
        self._watches: dict[Series, int] = {}
        self._terminated: dict[Series, int] = {}
        self.under_way = [0, 0]

    def answered(self, target: Target | None, method: str, code: int, seconds: float) -> None:
        key = _key(target, method)
        counter = (key, code)
        self._requests[counter] = self._requests.get(counter, 0) + 1
        row = self._durations.get(key)
        if row is None:
            row = self._durations[key] = [0.0] * (len(BUCKETS) + 2)
        row[bisect_left(BUCKETS, seconds)] += 1
        row[-1] += seconds

    def terminated(self, target: Target | None, method: str) -> None:
        """Count a request that ran into its deadline. It is counted by `answered`, too."""
        key = _key(target, method)
        self._terminated[key] = self._terminated.get(key, 0) + 1

    def watch_begins(self, target: Target) -> Series:
        """Count a new watch; returns the key for `watch_ends`."""
        key = _key(target, "GET")
        self._watches[key] = self._watches.get(key, 0) + 1
        return key

    def watch_ends(self, key: Series) -> None:
        self._watches[key] -= 1
        counter = (key, 200)
        self._requests[counter] = self._requests.get(counter, 0) + 1

    def families(self) -> list[Family]:
        """A snapshot of all metrics of this process."""
        requests: Rows = {(*key, str(code)): n for (key, code), n in self._requests.items()}
        durations: Rows = {key: tuple(row) for key, row in self._durations.items()}
        watches: Rows = {(*key,): count for key, count in self._watches.items()}
        given_up: Rows = {
            (*key, "apiserver", "504"): count for key, count in self._terminated.items()
        }
        kinds: Rows = {("readOnly",): self.under_way[0], ("mutating",): self.under_way[1]}
        own = [
            Family(
                "apiserver_request",
                "counter",
                "Requests answered, by verb and code.",
                (*_LABELS, "code"),
                (),
                requests,
            ),
            Family(
                "apiserver_request_duration_seconds",
                "histogram",
                "Time from a request to its answer, without watches.",
                _LABELS,
                BUCKETS,
                durations,
            ),
            Family(
                "apiserver_request_terminations",
                "counter",
                "Requests that the server ended because they timed out.",
                (*_LABELS, "component", "code"),
                (),
                given_up,
            ),
            _gauge(
                "apiserver_longrunning_requests",
                "Open watches.",
                watches,
                _LABELS,
            ),
            _gauge(
                "apiserver_current_inflight_requests",
                "Requests being processed, without watches.",
                kinds,
                ("request_kind",),
            ),
        ]
        parts = self._of_storage(), self._of_process(), _of_caches()
        return [*own, *chain.from_iterable(parts), *REGISTRY.snapshot()]

    def _of_storage(self) -> Iterator[Family]:
        objects: Rows = {}
        watchers: Rows = {}
        for collection in self._store.collections():
            shown = (_shown(collection.resource),)
            objects[shown] = len(collection)
            watchers[shown] = sum(1 for _ in collection.audience)
        labels = ("resource",)
        yield _gauge(
            "apiserver_storage_objects", "Stored objects by resource.", objects, labels, common=True
        )
        yield _gauge("apiserver_registered_watchers", "Watchers by resource.", watchers, labels)
        yield _gauge(
            "apiserver_storage_db_total_size_in_bytes",
            "Bytes of the store on disk.",
            {(): self._store.size()},
            common=True,
        )
        yield _gauge(
            "fairlead_storage_revision",
            "Newest committed revision.",
            {(): self._store.revision},
            common=True,
        )

    def _of_process(self) -> Iterator[Family]:
        used = rusage.getrusage(rusage.RUSAGE_SELF)
        seconds: Rows = {(): used.ru_utime + used.ru_stime}
        yield Family("process_cpu_seconds", "counter", "CPU time used.", (), (), seconds)
        yield _gauge("process_resident_memory_bytes", "Resident memory.", {(): _resident_bytes()})
        yield _gauge(
            "process_start_time_seconds",
            "When the server started.",
            {(): self._started},
            common=True,
        )


def _of_caches() -> Iterator[Family]:
    sizes = cache_sizes()
    texts = {
        "entries": "Entries of a cache.",
        "bytes": "Bytes of a cache, as estimated by the cache.",
        "most_bytes": "Maximum bytes of a cache; above it the oldest entries are dropped.",
    }
    for part, text in texts.items():
        rows: Rows = {(name,): getattr(size, part) for name, size in sizes.items()}
        yield _gauge(f"fairlead_cache_{part}", text, rows, ("cache",))


def _gauge(
    name: str,
    text: str,
    rows: Rows,
    labels: Labels = (),
    *,
    common: bool = False,
) -> Family:
    return Family(name, "gauge", text, labels, (), rows, common)


class _Snapshot:
    """A collector over a snapshot of metrics."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return map(_family, self._families)


def format_families(families: list[Family]) -> bytes:
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(families))
    text = generate_latest(registry)
    for name in REGISTRY.bare_names():  # the library adds a suffix to every counter
        text = text.replace(f"{name}_total".encode(), name.encode())
    return text


def _family(found: Family) -> Metric:
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )

    if found.kind == "histogram":
        durations = HistogramMetricFamily(found.name, found.text, labels=found.labels)
        for key, row in found.rows.items():
            assert not isinstance(row, float | int)
            durations.add_metric(key, _cumulative(row, found.bounds), sum_value=row[-1])
        return durations
    made: CounterMetricFamily | GaugeMetricFamily
    if found.kind == "counter":
        made = CounterMetricFamily(found.name, found.text, labels=found.labels)
    else:
        made = GaugeMetricFamily(found.name, found.text, labels=found.labels)
    for key, value in found.rows.items():
        assert isinstance(value, float | int)
        made.add_metric(key, value)
    return made


def _key(target: Target | None, method: str) -> Series:
    if target is None or not target.is_resource or not (target.resource or target.remote):
        # Methods are chosen by clients: label only known ones, so that the number of series is
        # bounded.
        return (method if method in _METHODS else "other", "", "", "", "", "")
    verb = _VERBS.get(target.verb) or target.verb.upper()
    scope = "resource" if target.name else ("namespace" if target.namespace else "cluster")
    if target.remote or target.resource is None:  # resources of another server are unbounded
        return (verb, target.group, target.version, "", "", scope)
    return (
        verb,
        target.resource.group,
        target.version,
        target.resource_name,
        target.subresource,
        scope,
    )


def _shown(resource: str) -> str:
    """The name of a resource as the reference shows it: `leases.coordination.k8s.io`."""
    group, _, name = resource.partition("/")
    return name if group == "core" else f"{name}.{group}"


def _cumulative(row: Sequence[float], bounds: Sequence[float]) -> list[tuple[str, float]]:
    found, total = [], 0.0
    for bound, count in zip((*map(str, map(float, bounds)), "+Inf"), row, strict=False):
        total += count
        found.append((bound, total))
    return found


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * rusage.getpagesize()
    except OSError:
        return rusage.getrusage(rusage.RUSAGE_SELF).ru_maxrss * 1024
