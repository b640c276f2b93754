"""What the server counts about itself, in Prometheus format under the reference's names."""

from __future__ import annotations

import asyncio
import resource as rusage
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairlead.endpoints.routing import Target
from fairlead.metrics import REGISTRY, Family
from fairlead.storage.store import Store

if TYPE_CHECKING:
    from prometheus_client.core import Metric

BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30,
    45, 60,
)  # fmt: skip
_LABELS = ("verb", "group", "version", "resource", "subresource", "scope")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_VERBS = {"create": "POST", "update": "PUT"}

_Key = tuple[str, str, str, str, str, str]


class Metrics:
    """Counts in plain dictionaries on the hot path; formats only when asked."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._started = time.time()
        self._requests: dict[tuple[_Key, int], int] = {}
        self._durations: dict[_Key, list[float]] = {}
        self._watches: dict[_Key, int] = {}
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

    @contextmanager
    def watching(self, target: Target) -> Iterator[None]:
        key = _key(target, "GET")
        self._watches[key] = self._watches.get(key, 0) + 1
        try:
            yield
        finally:
            self._watches[key] -= 1
            counter = (key, 200)
            self._requests[counter] = self._requests.get(counter, 0) + 1

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        total = CounterMetricFamily(
            "apiserver_request", "Requests answered, by verb and code.", labels=(*_LABELS, "code")
        )
        for (key, code), count in self._requests.items():
            total.add_metric([*key, str(code)], count)
        yield total
        durations = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Time from the request to its answer, watches left out.",
            labels=_LABELS,
        )
        for key, row in self._durations.items():
            durations.add_metric(key, _cumulative(row, BUCKETS), sum_value=row[-1])
        yield durations
        watching = GaugeMetricFamily(
            "apiserver_longrunning_requests", "Watches under way.", labels=_LABELS
        )
        for key, count in self._watches.items():
            watching.add_metric(key, count)
        yield watching
        under_way = GaugeMetricFamily(
            "apiserver_current_inflight_requests",
            "Requests under way, watches left out.",
            labels=("request_kind",),
        )
        under_way.add_metric(["readOnly"], self.under_way[0])
        under_way.add_metric(["mutating"], self.under_way[1])
        yield under_way
        yield from self._collect_storage()
        yield from self._collect_process()
        yield from map(_family, REGISTRY.snapshot())

    def _collect_storage(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        objects = GaugeMetricFamily(
            "apiserver_storage_objects", "Stored objects by resource.", labels=("resource",)
        )
        watchers = GaugeMetricFamily(
            "apiserver_registered_watchers", "Watchers by resource.", labels=("resource",)
        )
        for collection in self._store.collections():
            shown = _shown(collection.resource)
            objects.add_metric([shown], len(collection))
            watchers.add_metric([shown], sum(1 for _ in collection.watchers()))
        yield objects
        yield watchers
        yield GaugeMetricFamily(
            "apiserver_storage_db_total_size_in_bytes",
            "Bytes of the store on disk.",
            value=self._store.size(),
        )
        yield GaugeMetricFamily(
            "fairlead_storage_revision", "Newest committed revision.", value=self._store.revision
        )

    def _collect_process(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        used = rusage.getrusage(rusage.RUSAGE_SELF)
        yield CounterMetricFamily(
            "process_cpu_seconds", "CPU time used.", value=used.ru_utime + used.ru_stime
        )
        yield GaugeMetricFamily(
            "process_resident_memory_bytes", "Resident memory.", value=_resident_bytes()
        )
        yield GaugeMetricFamily(
            "process_start_time_seconds", "When the process started.", value=self._started
        )

    async def text(self) -> bytes:
        """Copied on the loop, formatted beside it."""
        return await asyncio.to_thread(_formatted, _Snapshot(list(self.collect())))


class _Snapshot:
    """Metrics as they were."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _formatted(snapshot: _Snapshot) -> bytes:
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(snapshot)
    text = generate_latest(registry)
    for name in REGISTRY.bare_names():  # the library gives every counter a suffix
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


def _key(target: Target | None, method: str) -> _Key:
    if target is None or not target.is_resource or target.resource is None:
        return (method, "", "", "", "", "")
    resource = target.resource
    scope = "resource" if target.name else ("namespace" if target.namespace else "cluster")
    return (
        _VERBS.get(target.verb) or target.verb.upper(),
        resource.group,
        target.version,
        target.resource_name,
        target.subresource,
        scope,
    )


def _shown(resource: str) -> str:
    """The store's name of a resource as the reference shows it: `leases.coordination.k8s.io`."""
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
