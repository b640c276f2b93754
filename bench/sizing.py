"""`python -m bench.sizing`: what objects, watches and requests cost, and the tables of
docs/sizing.md that follow from it."""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bench import objects
from bench.client import Maker, Watcher, connections, drive
from bench.server import Server
from bench.setting_up import call, collection, creator, fill, standing
from bench.watches import watch_request
from fairlead.base.compiled import is_compiled

PAGE = Path(__file__).resolve().parent.parent / "docs" / "sizing.md"
BEGIN, END = "<!-- sizing: the tables -->\n", "<!-- sizing: their end -->\n"
OBJECTS = {"pods": 5_000, "configmaps": 20_000}
WATCHES = 2_000
AUDIENCE = 100  # watchers that get each event
WINDOWS, REQUESTS = 4, 1_000
CONNECTIONS = 8
_SETTLE = 2.0  # seconds in which a server does what a start or a load left it
_IDLE = 10.0
_RETENTION = 300.0  # seconds, the default of --history-retention
_HISTORY_MB = 64.0  # the default of --history-memory
_FORMS_MB = 64.0  # the default of --kept-forms-memory
_HISTORY_FILE_MB = 2048.0  # the default of --history-size
_MB = 2**20


class Cost(NamedTuple):
    """A unit, and what has that cost."""

    unit: str
    text: str


COSTS = {
    "base": Cost("MB", "a server without objects"),
    "idle": Cost("cores", "the same, doing nothing"),
    "memory-configmaps": Cost("KB", "memory of a ConfigMap of 1.1 KB"),
    "memory-pods": Cost("KB", "memory of a Pod with two containers"),
    "disk-configmaps": Cost("KB", "the same ConfigMap on disk"),
    "disk-pods": Cost("KB", "the same Pod on disk"),
    "start": Cost("ms", "CPU of loading 1,000 ConfigMaps at a start"),
    "watch": Cost("KB", "memory of an open watch with its TLS connection"),
    "get": Cost("µs", "CPU of a get"),
    "list": Cost("µs", "CPU of a list of 500 ConfigMaps"),
    "create": Cost("µs", "CPU of a create of a ConfigMap"),
    "create-pod": Cost("µs", "CPU of a create of a Pod"),
    "update": Cost("µs", "CPU of an update of a ConfigMap"),
    "event": Cost("µs", "CPU of sending one change to one watch"),
    "history": Cost("KB", "disk of one change of a ConfigMap in the history"),
    "written": Cost("KB", "bytes written to the disk for a change, with the log"),
}


class Size(NamedTuple):
    """A use to compute: objects, open watches, changes and gets a second, watches of a change."""

    name: str
    objects: int
    watches: int
    changes: float
    gets: float
    audience: int


SIZES = (
    Size("tests, a small control plane", 2_000, 50, 5, 20, 2),
    Size("a team's cluster", 20_000, 500, 50, 200, 5),
    Size("a large cluster", 100_000, 3_000, 300, 1_000, 10),
    Size("more than one process carries", 200_000, 8_000, 1_000, 3_000, 20),
)


@contextmanager
def _directory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="fairlead-sizing-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _disk_bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in (directory / "data").glob("fairlead.db*"))


def _written_bytes(server: Server) -> int:
    """The bytes that the process has sent to the disk."""
    lines = Path(f"/proc/{server.process.pid}/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("write_bytes")).split()[1])


class Sizing:
    """Measures all costs; each step starts its own server and takes less than two minutes."""

    def __init__(self, command: list[str], scale: float) -> None:
        self._command = command
        self._scale = scale
        self.costs: dict[str, float] = {}

    def _count(self, number: int) -> int:
        return max(int(number * self._scale), 20)

    def run(self) -> None:
        for step in (self._base, self._stored, self._watched, self._requests, self._changed):
            begun = time.perf_counter()
            step()
            name = step.__name__.strip("_")
            print(f"sizing: {name} took {time.perf_counter() - begun:.0f} s", file=sys.stderr)

    def _base(self) -> None:
        with closing(Server(self._command)) as server:
            time.sleep(_SETTLE)
            self.costs["base"] = server.resident_mb()
            before = server.cpu_seconds()
            time.sleep(_IDLE)
            self.costs["idle"] = (server.cpu_seconds() - before) / _IDLE

    def _stored(self) -> None:
        """Start a server on a directory, fill that, and start one again, which has no history in
        memory."""
        for kind, most in OBJECTS.items():
            number = self._count(most)
            with _directory() as directory:
                Server(self._command, directory).close()
                empty = _disk_bytes(directory)
                with closing(Server(self._command, directory)) as server:
                    start, memory = self._started(server)
                    fill(server, creator(server, collection(server, "sizing", kind)), number)
                self.costs[f"disk-{kind}"] = (_disk_bytes(directory) - empty) / 1024 / number
                with closing(Server(self._command, directory)) as server:
                    full_start, full_memory = self._started(server)
                self.costs[f"memory-{kind}"] = (full_memory - memory) * 1024 / number
                self.costs["start"] = (full_start - start) / number * 1e6

    @staticmethod
    def _started(server: Server) -> tuple[float, float]:
        """The CPU seconds of a start, and the memory after it."""
        seconds = server.cpu_seconds()
        time.sleep(_SETTLE)
        return seconds, server.resident_mb()

    def _watched(self) -> None:
        maximum = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))
        number = min(self._count(WATCHES), maximum - 100)
        watchers: list[Watcher] = []
        with closing(Server(self._command)) as server:
            try:
                request = watch_request(server, collection(server, "sizing"))
                time.sleep(_SETTLE)
                before = server.resident_mb()
                for _ in range(number):
                    watchers.append(Watcher(server.address))
                    watchers[-1].open(request)
                time.sleep(_SETTLE)
                self.costs["watch"] = (server.resident_mb() - before) * 1024 / number
            finally:
                for watcher in watchers:
                    watcher.sock.close()

    def _requests(self) -> None:
        with closing(Server(self._command)) as server:
            path = collection(server, "sizing")
            fill(server, creator(server, path), 600)
            get = server.address.request("GET", f"{path}/cm-00000050")
            self.costs["get"] = self._cost(server, objects.constant(get), 4 * REQUESTS)
            page = server.address.request("GET", f"{path}?limit=500")
            self.costs["list"] = self._cost(server, objects.constant(page), REQUESTS // 10)
            created = creator(server, collection(server, "sizing-create"))
            self.costs["create"] = self._cost(server, created, REQUESTS)
            pods = creator(server, collection(server, "sizing-pods", "pods"))
            self.costs["create-pod"] = self._cost(server, pods, REQUESTS // 2)
            self.costs["event"] = self._event(server)

    def _event(self, server: Server) -> float:
        """A create beside watches, less a create beside none."""
        path = collection(server, "sizing-events")
        make, request = creator(server, path), watch_request(server, path)
        watchers: list[Watcher] = []
        try:
            for _ in range(AUDIENCE):
                watchers.append(Watcher(server.address))
                watchers[-1].open(request)
            whole = self._cost(server, make, REQUESTS // 2, watchers)
            return max(whole - self.costs["create"] / AUDIENCE, 0.0)
        finally:
            for watcher in watchers:
                watcher.sock.close()

    def _cost(
        self, server: Server, make: Maker, count: int, watchers: list[Watcher] | None = None
    ) -> float:
        """The CPU microseconds of a request, or of an event, in the cheapest of some windows: other
        users of the machine only add to it."""
        costs = []
        with connections(server.address, CONNECTIONS) as opened:
            for _ in range(WINDOWS):
                before = server.cpu_seconds()
                sample = drive(opened, make, count=self._count(count), watchers=watchers or ())
                costs.append((server.cpu_seconds() - before) / sample.number * 1e6)
        return min(costs)

    def _changed(self) -> None:
        """Update some objects over and over: each change stays in the history."""
        count = self._count(4 * REQUESTS)
        with _directory() as directory:
            with closing(Server(self._command, directory)) as server:
                make = self._updates(server)
            before = _disk_bytes(directory)
            with closing(Server(self._command, directory)) as server:
                make = self._updates(server)
                written = _written_bytes(server)
                with connections(server.address, CONNECTIONS) as opened:
                    drive(opened, make, count=count)
                self.costs["written"] = (_written_bytes(server) - written) / 1024 / count
                self.costs["update"] = self._cost(server, make, REQUESTS)
            changes = count + WINDOWS * self._count(REQUESTS)
            self.costs["history"] = (_disk_bytes(directory) - before) / 1024 / changes

    def _updates(self, server: Server) -> Maker:
        requests = []
        for path in standing(server, "sizing-update", "configmaps", 64):
            body = call(server, "GET", path.partition("?")[0])
            for key in ("resourceVersion", "managedFields"):
                body["metadata"].pop(key, None)
            body["data"]["count"] = objects.COUNTER
            requests.append(server.address.request("PUT", path, objects.encode(body)))
        return objects.numbered(requests)


def needs(costs: dict[str, float], size: Size) -> tuple[float, float, float, float]:
    """The formula: memory in MB, cores, disk in MB, and MB a second that are written."""
    stored = size.objects * costs["memory-configmaps"] / 1024
    history = size.changes * _RETENTION * costs["history"] / 1024
    memory = (
        costs["base"]
        + stored
        + size.watches * costs["watch"] / 1024
        + min(history, _HISTORY_MB)
        + min(stored, _FORMS_MB)
    )
    cores = costs["idle"] + 1e-6 * (
        size.changes * (costs["update"] + size.audience * costs["event"]) + size.gets * costs["get"]
    )
    disk = size.objects * costs["disk-configmaps"] / 1024 + min(history, _HISTORY_FILE_MB)
    return memory, cores, disk, size.changes * costs["written"] / 1024


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def tables(costs: dict[str, float], note: str) -> str:
    """The tables in Markdown."""
    lines = ["| name | cost | |", "|---|---|---|"]
    lines += [
        f"| `{name}` | {_number(costs[name])} {cost.unit} | {cost.text} |"
        for name, cost in COSTS.items()
    ]
    lines += ["", note, ""]
    lines += [
        "| | objects | watches | changes/s | gets/s | watches of a change | memory | CPU | disk |"
        " written |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for size in SIZES:
        memory, cores, disk, rate = needs(costs, size)
        given = (size.objects, size.watches, size.changes, size.gets, size.audience)
        lines.append(
            f"| {size.name} | {' | '.join(f'{value:,}' for value in given)}"
            f" | {memory:,.0f} MB | {cores:.2f} cores | {disk:,.0f} MB | {rate:.2f} MB/s |"
        )
    return "\n".join(lines) + "\n"


def machine() -> str:
    """A sentence about the machine and what else ran on it."""
    text = Path("/proc/cpuinfo").read_text()
    models = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    model = models[0] if models else platform.machine()
    form = "compiled modules" if is_compiled() else "plain Python"
    day, cores = f"{datetime.now(UTC):%Y-%m-%d}", len(os.sched_getaffinity(0))
    return (
        f"Measured on {day} on {cores} cores of {model}, CPython"
        f" {platform.python_version()}, {form}. The load average was"
        f" {os.getloadavg()[0]:.1f}: CPU is that of the server's processes, in the cheapest of"
        f" {WINDOWS} windows; others on the machine only add to it."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sizing", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the tables of docs/sizing.md")
    parser.add_argument("--scale", type=float, default=1.0, help="share of all counts (default 1)")
    arguments = parser.parse_args()
    sizing = Sizing([sys.executable, "-m", "fairlead", "serve"], arguments.scale)
    note = machine()
    sizing.run()
    text = tables(sizing.costs, note)
    print(text)
    if arguments.write:
        page = PAGE.read_text()
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}{text}{END}{after}")


if __name__ == "__main__":
    main()
