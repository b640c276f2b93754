"""Measures workloads: windows of load, with the server's CPU time around each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.client import Maker, Sample, connections, drive
from bench.etcd import Etcd
from bench.pace import Pace
from bench.server import Server, machine_seconds, profiled

WINDOWS = 8
_MAX_WINDOWS = 24  # while the machine is slow
PATIENCE = 10.0  # seconds


@dataclass(slots=True)
class Row:
    """One line of the result. `figure` is CPU µs per request unless `unit` says otherwise."""

    name: str
    figure: float | None = None
    best: float | None = None  # the cheapest window: other tenants of the machine only add cost
    unit: str = "µs"
    rate: float | None = None
    p50: float | None = None
    p99: float | None = None
    requests: int = 0
    answer_bytes: int = 0
    client: float | None = None  # share of a core that the load generator used
    others: float | None = None  # share used by neither the load generator nor the server
    store: float | None = None  # CPU µs per request of the etcd under the server
    limit: float | None = None
    min_rate: float | None = None
    error: str = ""

    @property
    def ours(self) -> float:
        """The figure to compare: of the cheapest window if there are several."""
        return (self.figure if self.best is None else self.best) or 0.0


@dataclass(slots=True)
class Bench:
    """The settings, and the server that most workloads share."""

    command: list[str]
    seconds: float
    connections: int
    profile: Path | None = None
    profile_each: bool = False
    etcd: Etcd | None = None
    plain: Bench | None = None  # one process with the embedded store, for comparison
    factors: Mapping[str, float] = field(default_factory=dict)  # allowed cost relative to `plain`
    pace: Pace = field(default_factory=Pace)
    shared: Server | None = None
    alone: Row | None = None

    def start(self, directory: Path | None = None, *flags: str) -> Server:
        """Start a separate server, on a directory that may have been used before."""
        command = [*self.command, *flags]
        return Server(command, directory, self.etcd.flags if self.etcd is not None else None)

    def server(self) -> Server:
        """Return the shared server; starts it on first use or if it died."""
        if self.shared is None or not self.shared.alive:
            self.close()
            self.shared = self.start()
        return self.shared

    def close(self) -> None:
        if self.shared is not None:
            self.shared.close()
            self.shared = None

    def etcd_alone(self) -> Row | None:
        """Measure, once, what etcd sustains without a server in front of it."""
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
        self, name: str, server: Server, run: Callable[[], Sample], windows: int = 0
    ) -> Row:
        """Run windows and measure the server's CPU time around each: `windows` of them, or until
        enough ran while the machine was fast."""
        file = self.profile
        if file is not None and self.profile_each:
            file = file.with_stem(f"{file.stem}-{name}")
        total = [0.0] * 7
        costs: list[float] = []
        latencies: list[float] = []
        with profiled(server, file):
            quick = 0
            while len(costs) < (windows or _MAX_WINDOWS) and (windows or quick < WINDOWS):
                quick += self.pace.is_quick()
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
        """Warm up, then measure requests on the shared server."""
        server = self.server()
        with connections(server.address, number or self.connections) as opened:
            drive(opened, make, seconds=self.seconds / 3)
            seconds = self.seconds / WINDOWS
            return [self.measure(name, server, lambda: drive(opened, make, seconds=seconds))]


Work = Callable[[Bench], list[Row]]
