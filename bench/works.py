"""The works: what each sets up, and what it measures."""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import objects
from bench.client import Maker, Sample, Watcher, WorkFailedError, connections, drive
from bench.etcd import Etcd
from bench.server import Server, machine_seconds, profiled
from bench.targets import GROWTH, OF_ETCD_ALONE

FEW = 100
MANY = 11_000
PODS = 6_000
STARTS = 5
WINDOWS = 6
MERGE = "merge-patch+json"
APPLY = "apply-patch+yaml"


@dataclass(slots=True)
class Row:
    """One line of the result. `figure` is CPU µs per request unless `unit` says otherwise."""

    name: str
    figure: float | None = None
    best: float | None = None  # of the windows: other tenants of the machine only add to it
    unit: str = "µs"
    rate: float | None = None
    p50: float | None = None
    p99: float | None = None
    requests: int = 0
    answer_bytes: int = 0
    client: float | None = None  # share of a core that the load generator used
    others: float | None = None  # and what neither it nor the server did
    store: float | None = None  # CPU µs per request of the etcd under the server
    limit: float | None = None
    least_rate: float | None = None
    error: str = ""


@dataclass(slots=True)
class Bench:
    """The settings, and the server that most works share."""

    command: list[str]
    seconds: float
    connections: int
    profile: Path | None = None
    profile_each: bool = False
    etcd: Etcd | None = None
    plain: Bench | None = None  # one process with the embedded store, to compare with
    factors: Mapping[str, float] = field(default_factory=dict)  # how much more works may cost
    shared: Server | None = None
    alone: Row | None = None

    def start(self, directory: Path | None = None) -> Server:
        """A server of its own, on a directory that may have been used before."""
        return Server(self.command, directory, self.etcd.flags if self.etcd is not None else None)

    def server(self) -> Server:
        """The shared server, started when first wanted or when it died."""
        if self.shared is None or not self.shared.alive:
            self.close()
            self.shared = self.start()
        return self.shared

    def close(self) -> None:
        if self.shared is not None:
            self.shared.close()
            self.shared = None

    def etcd_alone(self) -> Row | None:
        """What etcd sustains without a server before it; measured once."""
        if self.alone is None and self.etcd is not None:
            self.etcd.alone(self.seconds / 3, self.connections)
            before = self.etcd.cpu_seconds()
            sample = self.etcd.alone(self.seconds, self.connections)
            spent = (self.etcd.cpu_seconds() - before) / sample.number * 1e6
            latencies = sorted(sample.latencies)
            p50, p99 = (latencies[int(len(latencies) * part)] * 1e3 for part in (0.5, 0.99))
            rate = sample.number / self.seconds
            self.alone = Row("etcd-alone", rate=rate, p50=p50, p99=p99, store=spent)
        return self.alone

    def _clocks(self, server: Server) -> list[float]:
        etcd = self.etcd.cpu_seconds() if self.etcd is not None else 0.0
        own, machine = time.process_time(), machine_seconds()
        return [server.cpu_seconds(), own, machine, etcd, time.perf_counter()]

    def measure(
        self, name: str, server: Server, run: Callable[[], Sample], windows: int = WINDOWS
    ) -> Row:
        """Run a few times, with the server's CPU time around each."""
        file = self.profile
        if file is not None and self.profile_each:
            file = file.with_stem(f"{file.stem}-{name}")
        total = [0.0] * 7
        costs: list[float] = []
        latencies: list[float] = []
        with profiled(server, file):
            for _ in range(windows):
                before = self._clocks(server)
                sample = run()
                spent = [b - a for a, b in zip(before, self._clocks(server), strict=True)]
                costs.append(spent[0] / max(sample.number, 1) * 1e6)
                spent += [sample.number, sample.size]
                total = [a + b for a, b in zip(total, spent, strict=True)]
                latencies += sample.latencies
        cpu, own, machine, etcd, took, number, size = total
        latencies = sorted(latencies) or [0.0]
        return Row(
            name,
            figure=cpu / max(number, 1) * 1e6,
            best=min(costs),
            rate=number / took,
            p50=latencies[len(latencies) // 2] * 1e3,
            p99=latencies[len(latencies) * 99 // 100] * 1e3,
            requests=int(number),
            answer_bytes=int(size / max(number, 1)),
            client=own / took,
            others=max(machine - own - cpu - etcd, 0.0) / took,
            store=etcd / max(number, 1) * 1e6 if self.etcd is not None else None,
        )

    def load(self, name: str, make: Maker, number: int = 0) -> list[Row]:
        """Warm up, then time requests on the shared server."""
        server = self.server()
        with connections(server.address, number or self.connections) as opened:
            drive(opened, make, seconds=self.seconds / 3)
            seconds = self.seconds / WINDOWS
            return [self.measure(name, server, lambda: drive(opened, make, seconds=seconds))]


Work = Callable[[Bench], list[Row]]


def call(server: Server, method: str, path: str, body: Any = None, kind: str = "json") -> Any:
    """One request of the setup, which must succeed; its answer unless that is long."""
    request = server.address.request(method, path, objects.encode(body) if body else b"", kind)
    deadline = time.perf_counter() + 10
    with connections(server.address, 1) as (connection,):
        # A new namespace has no service account yet, so a Pod may be refused for a moment.
        while connection.call(request)[0] == 403 and time.perf_counter() < deadline:
            time.sleep(0.1)
        connection.check()
        return json.loads(connection.body) if connection.size < 60_000 else None


def collection(server: Server, namespace: str, resource: str = "configmaps") -> str:
    """The path of a namespace's objects; makes the namespace."""
    try:
        call(server, "GET", f"/api/v1/namespaces/{namespace}")
    except WorkFailedError:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        call(server, "POST", "/api/v1/namespaces", body)
    return f"/api/v1/namespaces/{namespace}/{resource}"


def creator(server: Server, path: str) -> Maker:
    """Requests that create objects with new names."""
    resource = path.rpartition("/")[2]
    if resource == "pods":  # waits for the service account
        call(server, "POST", path, objects.new(resource, "first"))
    body = objects.encode(objects.new(resource))
    return objects.numbered([server.address.request("POST", path, body)])


def fill(server: Server, make: Maker, number: int) -> None:
    """Create that many objects."""
    with connections(server.address, 16) as opened:
        drive(opened, make, count=number)


def get(bench: Bench) -> list[Row]:
    server = bench.server()
    path = collection(server, "bench-get")
    call(server, "POST", path, objects.new("configmaps", "one"))
    request = server.address.request("GET", f"{path}/one")
    return bench.load("get", objects.constant(request))


def create(name: str, resource: str) -> Work:
    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        make = creator(server, collection(server, f"bench-{name}", resource))
        rows = bench.load(name, make)
        alone = bench.etcd_alone() if resource == "configmaps" else None
        if alone is not None:
            rows[0].least_rate = (alone.rate or 0.0) * OF_ETCD_ALONE
            rows.append(alone)
        return rows

    return work


def write(name: str, method: str, resource: str, number: int) -> Work:
    """Writes to existing objects in turn."""

    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        path = collection(server, f"bench-{name}", resource)
        requests = []
        for n in range(number):
            body = call(server, "POST", path, objects.new(resource, f"object-{n}"))
            for key in ("resourceVersion", "managedFields"):
                body["metadata"].pop(key, None)
            if method == "PATCH":
                fresh = {"count": objects.COUNTER}
                body = (
                    {"metadata": {"annotations": fresh}} if resource == "pods" else {"data": fresh}
                )
            kind = MERGE if method == "PATCH" else "json"
            item = f"{path}/object-{n}"
            requests.append(server.address.request(method, item, objects.encode(body), kind))
        return bench.load(name, objects.numbered(requests))

    return work


def apply_pod(bench: Bench) -> list[Row]:
    server = bench.server()
    path = collection(server, "bench-apply", "pods") + "/applied?fieldManager=bench"
    body = objects.new("pods", "applied")
    call(server, "PATCH", path, body, APPLY)
    request = server.address.request("PATCH", path, objects.encode(body), APPLY)
    return bench.load("apply-pod", objects.constant(request), 1)


def list_many(name: str, query: str) -> Work:
    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        path = collection(server, "bench-list")
        page = call(server, "GET", f"{path}?limit=1")
        if page["metadata"].get("remainingItemCount", 0) < MANY - 1:
            fill(server, creator(server, path), MANY)
        request = server.address.request("GET", path + query)
        return bench.load(name, objects.constant(request))

    return work


def watch(name: str, number: int, creators: int = 0) -> Work:
    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        path = collection(server, f"bench-{name}")
        make = creator(server, path)
        time.sleep(1.0)  # for what controllers put into a new namespace
        version = call(server, "GET", f"{path}?limit=1")["metadata"]["resourceVersion"]
        request = server.address.request("GET", f"{path}?watch=true&resourceVersion={version}")
        watchers: list[Watcher] = []
        try:
            for _ in range(number):
                watchers.append(Watcher(server.address))
                watchers[-1].open(request)
            with connections(server.address, creators or bench.connections) as opened:

                def run(seconds: float = bench.seconds / WINDOWS) -> Sample:
                    return drive(opened, make, seconds=seconds, watchers=watchers)

                run(bench.seconds / 3)
                return [bench.measure(name, server, run)]
        finally:
            for watcher in watchers:
                watcher.sock.close()

    return work


def growth(bench: Bench) -> list[Row]:
    """Get and create on a server with few objects and on one with many.

    In turns, and the best round of each; what a round creates is deleted after it.
    """
    rounds, each = 5, 600  # and one round to warm up
    parts: dict[str, list[Row]] = {}

    def measure(name: str, server: Server, make: Maker, **length: Any) -> None:
        with connections(server.address, bench.connections) as opened:
            row = bench.measure(name, server, lambda: drive(opened, make, **length), 1)
        parts.setdefault(name, []).append(row)

    with closing(bench.start()) as small, closing(bench.start()) as large:
        servers = {FEW: small, MANY: large}
        makers = []
        for many, server in servers.items():
            held, path = collection(server, "bench-held"), collection(server, "bench-growth")
            fill(server, creator(server, held), many)
            one = objects.constant(server.address.request("GET", f"{held}/cm-00000050"))
            makers.append((many, server, one, creator(server, path), path))
        for _ in range(rounds + 1):
            for many, server, one, make, path in makers:
                measure(f"get-at-{many}", server, one, seconds=bench.seconds / rounds)
                measure(f"create-at-{many}", server, make, count=each)
                call(server, "DELETE", path)
    rows = []
    for verb in ("get", "create"):
        for many in servers:
            rows.append(min(parts[f"{verb}-at-{many}"][1:], key=lambda row: row.figure or 0.0))
        rows[-1].limit = (rows[-2].figure or 0.0) * GROWTH
    return rows


def start_fresh(bench: Bench) -> list[Row]:
    """Start on empty directories; memory of the last once it is quiet."""
    took = []
    for n in range(STARTS):
        with closing(bench.start()) as server:
            took.append(server.start_seconds)
            time.sleep(2.0 if n == STARTS - 1 else 0.0)
            memory = server.resident_mb()
    start = Row("start-fresh", statistics.median(took) * 1e3, min(took) * 1e3, "ms")
    return [start, Row("memory-idle", memory, unit="MB")]


def start_filled(bench: Bench) -> list[Row]:
    """Memory with many objects, then starts on what they left."""
    directory = Path(tempfile.mkdtemp(prefix="fairlead-bench-"))
    took = []
    try:
        with closing(bench.start(directory)) as server:
            fill(server, creator(server, collection(server, "bench-filled")), MANY)
            fill(server, creator(server, collection(server, "bench-filled", "pods")), PODS)
            time.sleep(2.0)
            filled = server.resident_mb()
        for _ in range(STARTS):
            with closing(bench.start(directory)) as server:
                took.append(server.start_seconds)
                time.sleep(1.0)
                restarted = server.resident_mb()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    start = Row("start-filled", statistics.median(took) * 1e3, min(took) * 1e3, "ms")
    return [
        Row("memory-filled", filled, unit="MB"),
        start,
        Row("memory-restarted", restarted, unit="MB"),
    ]


def works(watchers: list[int]) -> dict[str, Work]:
    """Every work by name, in the order they run."""
    return {
        "start-memory-fresh": start_fresh,
        "get": get,
        "create-configmap": create("create-configmap", "configmaps"),
        "create-pod": create("create-pod", "pods"),
        "update-configmap": write("update-configmap", "PUT", "configmaps", 64),
        "update-pod": write("update-pod", "PUT", "pods", 64),
        "patch-64": write("patch-64", "PATCH", "configmaps", 64),
        "patch-pod": write("patch-pod", "PATCH", "pods", 64),
        "patch-hot": write("patch-hot", "PATCH", "configmaps", 1),
        "apply-pod": apply_pod,
        "list-500": list_many("list-500", "?limit=500"),
        "list-all": list_many("list-all", ""),
        "list-all-rv0": list_many("list-all-rv0", "?resourceVersion=0"),
        **{f"watch-{n}": watch(f"watch-{n}", n) for n in watchers},
        **{f"watch-{n}-one": watch(f"watch-{n}-one", n, 1) for n in watchers},
        "growth": growth,
        "start-memory-filled": start_filled,
    }


def run(bench: Bench, name: str, work: Work) -> list[Row]:
    """A work's rows, or one that says why it failed."""
    try:
        rows = work(bench)
        factor = bench.factors.get(name)
        if bench.plain is not None and factor is not None:
            plain = work(bench.plain)[0]
            bench.plain.close()
            rows[0].limit = factor * (plain.figure or 0.0)
            rows.append(replace(plain, name=f"{name}-plain"))
        return rows
    except (WorkFailedError, OSError, LookupError, TypeError, ValueError) as error:
        return [Row(name, error=str(error) if isinstance(error, WorkFailedError) else repr(error))]
