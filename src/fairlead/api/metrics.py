"""Metrics of the server in Prometheus format, under the names of the reference."""

from __future__ import annotations

import os
import resource as rusage
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from fairlead.api.request import Request
from fairlead.api.routing import Target
from fairlead.base.caches import cache_sizes
from fairlead.base.metrics import (
    REGISTRY,
    Counter,
    Family,
    Gauge,
    Histogram,
    Labels,
)
from fairlead.resources.registry import Resource
from fairlead.storage.store import Store

BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30,
    45, 60,
)  # fmt: skip
# Seconds of answers as the console shows them: each bound is half as much again as the one before.
PACE_BOUNDS = tuple(0.0001 * 1.5**step for step in range(34))
_FIRST_SLI: Final = 3  # buckets of all durations that are one in those without waiting
_LABELS: Final[tuple[str, ...]] = ("verb", "group", "version", "resource", "subresource", "scope")
_OF_ANSWERS = ("verb", "dry_run", *_LABELS[1:])
_SENT_BYTES = tuple(10.0**power for power in range(3, 10))
_RECEIVED_BYTES = tuple(50_000.0 + 100_000 * step for step in range(31))

_VERBS: Final = {"create": "POST", "update": "PUT", "": "other"}
_SHOWN_USERS: Final = frozenset(
    {"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}
)
_WRITES: Final[tuple[str, ...]] = ("create", "update", "patch", "delete", "deletecollection")
_READING: Final[tuple[str, ...]] = ("GET", "HEAD")
_METHODS: Final[tuple[str, ...]] = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

Series = tuple[str, str, str, str, str, str]
Rows = dict[Labels, float | Sequence[float]]
Gather = Callable[["Metrics"], Awaitable[list[Family]]]


class AccessCounts:
    """How requests were authenticated and authorized. Plain numbers, because every request updates
    them."""

    __slots__ = ("allowed", "refused", "unauthenticated", "users")

    def __init__(self) -> None:
        self.users: dict[str, float] = {}  # requests by kind of user name
        self.unauthenticated: dict[str, float] = {}  # by result
        self.allowed = 0
        self.refused: dict[str, float] = {}  # by result

    def authenticated(self, name: str) -> None:
        if name not in _SHOWN_USERS:
            name = "email_id" if "@" in name else "other"
        self.users[name] = self.users.get(name, 0) + 1

    def not_authenticated(self, *, has_credentials: bool) -> None:
        result = "error" if has_credentials else "failure"
        self.unauthenticated[result] = self.unauthenticated.get(result, 0) + 1

    def not_allowed(self, *, is_denied: bool, has_errors: bool) -> None:
        result = "denied" if is_denied else "error" if has_errors else "no-opinion"
        self.refused[result] = self.refused.get(result, 0) + 1

    def by_authentication(self) -> dict[Labels, float]:
        counts = {"success": sum(self.users.values()), **self.unauthenticated}
        return {(result,): count for result, count in counts.items()}

    def by_authorization(self) -> dict[Labels, float]:
        counts = {"allowed": self.allowed, **self.refused}
        return {(result,): count for result, count in counts.items()}

    def by_user(self) -> dict[Labels, float]:
        return {(name,): count for name, count in self.users.items()}


ACCESS: Final = AccessCounts()
REGISTRY.counter(
    "authenticated_user_requests", "Authenticated requests by user.", ("username",), bare=True
).read = ACCESS.by_user
REGISTRY.counter(
    "authentication_attempts", "Attempts to authenticate by result.", ("result",), bare=True
).read = ACCESS.by_authentication
REGISTRY.counter(
    "authorization_attempts", "Attempts to authorize by result.", ("result",)
).read = ACCESS.by_authorization
_DEPRECATED: Final = REGISTRY.gauge(
    "apiserver_requested_deprecated_apis",
    "Deprecated resources that were requested, with the release that removes them.",
    ("group", "version", "resource", "subresource", "removed_release"),
)


def count_deprecated(resource: Resource) -> None:
    main = resource.main
    if main.custom is None:
        place = main.group, main.group_version.version, main.name, resource.subresource
        _DEPRECATED.set(1, (*place, resource.removed_release))


class _Counts:
    """The counts of requests with the same labels. Rows are those of the histograms."""

    __slots__ = ("by_code", "durations", "labels", "received", "sent", "series")

    def __init__(self, series: Series, labels: Labels, durations: list[float]) -> None:
        self.series = series
        self.labels = labels
        self.by_code: dict[int, int] = {}
        self.durations = durations
        self.sent: list[float] | None = None
        self.received: list[float] | None = None


class Metrics:
    """Counts in plain dictionaries on the hot path and formats on request. `gather` collects the
    metrics of the other processes, too; `started` is the start time of the server. `others` are the
    stores of other etcd clusters."""

    def __init__(
        self,
        store: Store,
        gather: Gather | None = None,
        started: float | None = None,
        *,
        has_later_names: bool = False,
        others: Sequence[Store] = (),
    ) -> None:
        self._store = store
        self._stores = (store, *others)
        self._has_later_names = has_later_names
        self._waits: dict[Labels, list[float]] = {}  # what waiting adds to rows of `_durations`
        self.gather = gather
        self.unchanging: list[Family] = []  # added to every snapshot
        self._started = started or time.time()
        self._requests = Counter(
            "apiserver_request", "Requests answered, by verb and code.", (*_OF_ANSWERS, "code")
        )
        self._requests.read = self._requests_by_labels
        # By resource, verb, scope (cluster, namespace or object) and whether it is a dry run.
        self._counts: dict[tuple[str, str, int, bool], _Counts] = {}
        self._other_counts: dict[Series, _Counts] = {}
        self._ended_watches: dict[Labels, float] = {}
        self._durations = Histogram(
            "apiserver_request_duration_seconds",
            "Time from a request to its answer, without watches.",
            BUCKETS,
            _OF_ANSWERS,
        )
        self._sent = Histogram(
            "apiserver_response_sizes", "Bytes of answers to reads.", _SENT_BYTES, _LABELS
        )
        self._received = Histogram(
            "apiserver_request_body_size_bytes",
            "Bytes of the bodies of writes.",
            _RECEIVED_BYTES,
            ("group", "resource", "verb"),
        )
        self._terminations = Counter(
            "apiserver_request_terminations",
            "Requests that the server ended because they timed out.",
            (*_LABELS, "component", "code"),
        )
        self._watches = Gauge("apiserver_longrunning_requests", "Open watches.", _LABELS)
        self._in_flight = Gauge(
            "apiserver_current_inflight_requests",
            "Requests being processed, without watches.",
            ("request_kind",),
        )
        self.under_way = [0, 0]
        self.paces = [[0.0] * (len(PACE_BOUNDS) + 1) for _ in range(2)]  # of reads, of writes

    def answered(self, request: Request, code: int, seconds: float) -> None:
        """Count an answer."""
        target, method, waited = request.target, request.method, request.waited
        is_dry = bool(request.query) and target.verb in _WRITES and "dryRun" in request.query
        counts = self._counts_of(target, method, is_dry)
        counts.by_code[code] = counts.by_code.get(code, 0) + 1
        self._durations.observe_in(counts.durations, seconds)
        if counts.series[0] != "CONNECT":
            self.paces[method not in _READING][bisect_left(PACE_BOUNDS, seconds)] += 1
        if method == "GET":
            if counts.sent is None:
                counts.sent = self._sent.row(counts.series)
            self._sent.observe_in(counts.sent, request.exchange.sent_bytes)
        elif request.is_body_read and counts.series[3]:
            if counts.received is None:
                place = counts.series[1], counts.series[3], target.verb
                counts.received = self._received.row(place)
            self._received.observe_in(counts.received, request.read_bytes)
        if waited and not is_dry:
            row = self._waits.setdefault(counts.series, [0.0] * (len(BUCKETS) + 2))
            row[bisect_left(BUCKETS, seconds)] += 1
            row[bisect_left(BUCKETS, max(seconds - waited, 0.0))] -= 1
            row[-1] += waited

    def _counts_of(self, target: Target, method: str, is_dry: bool) -> _Counts:
        if target.resource is not None and not target.remote:
            scope = 2 if target.name else (1 if target.namespace else 0)
            kind = target.resource.key, target.verb, scope, is_dry
            counts = self._counts.get(kind)
            if counts is None:
                counts = self._counts[kind] = self._new_counts(_key(target, method), is_dry)
            return counts
        series = _key(target, method)
        others = self._other_counts.get(series)
        if others is None:
            others = self._other_counts[series] = self._new_counts(series, is_dry)
        return others

    def _new_counts(self, series: Series, is_dry: bool) -> _Counts:
        labels = (series[0], "All" if is_dry else "", *series[1:])
        return _Counts(series, labels, self._durations.row(labels))

    def _requests_by_labels(self) -> dict[Labels, float]:
        """The number of answers by the labels of `apiserver_request`."""
        numbers = dict(self._ended_watches)
        for counts in chain(self._counts.values(), self._other_counts.values()):
            for code, number in counts.by_code.items():
                labels = (*counts.labels, str(code))
                numbers[labels] = numbers.get(labels, 0) + number
        return numbers

    def terminated(self, target: Target | None, method: str) -> None:
        """Count a request that ran into its deadline. It is counted by `answered`, too."""
        self._terminations.add(1, (*_key(target, method), "apiserver", "504"))

    def watch_begins(self, target: Target) -> Series:
        """Count a new watch; returns the key for `watch_ends`."""
        key = _key(target, "GET")
        self._watches.add(1, key)
        return key

    def watch_ends(self, key: Series) -> None:
        self._watches.add(-1, key)
        labels = (key[0], "", *key[1:], "200")
        self._ended_watches[labels] = self._ended_watches.get(labels, 0) + 1

    def requests_by_verb(self) -> dict[str, float]:
        """Requests answered so far, by verb and code: `GET 200`."""
        counts: dict[Labels, float] = {}
        for key, count in self._requests_by_labels().items():
            pair = key[0], key[-1]
            counts[pair] = counts.get(pair, 0) + count
        return {" ".join(pair): count for pair, count in counts.items()}

    @property
    def open_watches(self) -> float:
        return sum(self._watches.values.values())

    def families(self) -> list[Family]:
        """A snapshot of all metrics of this process."""
        self._in_flight.set(self.under_way[0], ("readOnly",))
        self._in_flight.set(self.under_way[1], ("mutating",))
        own = (
            _of_component(self._requests),
            _of_component(self._durations),
            _of_component(self._sent),
            _of_component(self._watches),
            self._received.snapshot(),
            self._terminations.snapshot(),
            self._in_flight.snapshot(),
        )
        parts = [self._of_storage(), self._of_process(), _of_caches()]
        if self._has_later_names:
            parts.append(self._later_names())
        return [*self.unchanging, *own, *chain.from_iterable(parts), *REGISTRY.snapshot()]

    def _of_storage(self) -> Iterator[Family]:
        objects: Rows = {}
        watchers: Rows = {}
        for collection in chain.from_iterable(store.collections() for store in self._stores):
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

    def _later_names(self) -> Iterator[Family]:
        """What release 1.36 has beside the others, or under another name."""
        served: Rows = {}
        for (verb, dry_run, *rest), row in self._durations.rows.items():
            if verb != "CONNECT" and not dry_run:
                waits = self._waits.get((verb, *rest)) or [0.0] * len(row)
                own = [total - waited for total, waited in zip(row, waits, strict=True)]
                first = sum(own[:_FIRST_SLI])
                served[verb, *rest, "apiserver"] = (first, *own[_FIRST_SLI:])
        yield Family(
            "apiserver_request_sli_duration_seconds",
            "histogram",
            "Time from a request to its answer, without queues, webhooks and watches.",
            (*_LABELS, "component"),
            tuple(map(float, BUCKETS[_FIRST_SLI - 1 :])),
            served,
        )
        objects: Rows = {}
        received: Rows = {}
        for collection in chain.from_iterable(store.collections() for store in self._stores):
            group, _, name = collection.resource.partition("/")
            key = ("" if group == "core" else group, name)
            objects[key] = len(collection)
            if collection.received:
                received[key] = collection.received
        labels = ("group", "resource")
        text = "Stored objects by resource."
        yield _gauge("apiserver_resource_objects", text, objects, labels, common=True)
        text = "Changes of objects that this server has followed since its start."
        name = "apiserver_storage_events_received_total"
        yield Family(name, "counter", text, labels, (), received)
        size: Rows = {(f"etcd-{n}",): store.size() for n, store in enumerate(self._stores)}
        text = "Bytes of the store on disk."
        yield _gauge(
            "apiserver_storage_size_bytes", text, size, ("storage_cluster_id",), common=True
        )

    def _of_process(self) -> Iterator[Family]:
        used = rusage.getrusage(rusage.RUSAGE_SELF)
        seconds: Rows = {(): used.ru_utime + used.ru_stime}
        yield Family("process_cpu_seconds_total", "counter", "CPU time used.", (), (), seconds)
        yield _gauge("process_resident_memory_bytes", "Resident memory.", {(): resident_bytes()})
        yield _gauge("process_open_fds", "Open file descriptors.", {(): _open_files()})
        most = rusage.getrlimit(rusage.RLIMIT_NOFILE)[0]
        yield _gauge("process_max_fds", "Most file descriptors.", {(): most})
        yield _gauge(
            "process_start_time_seconds",
            "When the server started.",
            {(): self._started},
            common=True,
        )


def _of_component(metric: Counter | Histogram) -> Family:
    """A snapshot with the label `component`, which is the same for all requests."""
    family = metric.snapshot()
    rows = {(*key, "apiserver"): row for key, row in family.rows.items()}
    return replace(family, labels=(*family.labels, "component"), rows=rows)


def _of_caches() -> Iterator[Family]:
    sizes = cache_sizes()
    for index, (part, text) in enumerate(
        (
            ("entries", "Entries of a cache."),
            ("bytes", "Bytes of a cache, as estimated by the cache."),
            ("most_bytes", "Maximum bytes of a cache; above it the oldest entries are dropped."),
        )
    ):
        rows: Rows = {(name,): size[index] for name, size in sizes.items()}
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


def _open_files() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def resident_bytes() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * rusage.getpagesize()
    except OSError:
        return rusage.getrusage(rusage.RUSAGE_SELF).ru_maxrss * 1024
