"""`python -m bench.extremes`: very many objects, definitions and watches.

Minutes a work, so it is not part of `python -m bench`. Each work has a server of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from bench import objects
from bench.client import (
    Connection,
    Maker,
    Sample,
    Watcher,
    WorkFailedError,
    connections,
    drive,
)
from bench.measuring import Bench, Row
from bench.report import number
from bench.server import Server
from bench.setting_up import call, collection, fill
from bench.watches import watch_request

SIZES = (100, 10_000, 1_000_000)
WATCHERS_OF_GROWTH = 20
DEFINITIONS, EACH = 300, 100
WATCHERS, CHANGES = 10_000, 20
DELETED = 100_000
_PAUSE = 2.0  # seconds until the controllers have seen what was created
_LONGEST = 600.0  # seconds for a deletion

_NO_LIMITS = ("--max-connections=0", "--max-connections-per-address=0")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Print = Callable[[Row], None]


def _small(server: Server, path: str) -> Maker:
    """Make requests that create objects with little more than a name."""
    value = {"metadata": {"name": f"cm-{objects.COUNTER}"}, "data": {"number": objects.COUNTER}}
    return objects.numbered([server.address.request("POST", path, objects.encode(value))])


def _grown(bench: Bench, size: int, show: Print) -> None:
    """Measure a server with so many objects, then start it again."""
    directory = Path(tempfile.mkdtemp(prefix="fairlead-extremes-"))
    try:
        with closing(bench.start(directory)) as server:
            path, new = (collection(server, f"bench-{name}") for name in ("held", "new"))
            fill(server, _small(server, path), size)
            time.sleep(_PAUSE)
            get = server.address.request("GET", f"{path}/cm-{size // 2:08d}")
            page = server.address.request("GET", f"{path}?limit=500")
            for name, make in {
                "get": objects.constant(get),
                "list-500": objects.constant(page),
                "create": _small(server, new),
            }.items():
                show(_measured(bench, f"{name}-at-{size}", server, make))
            show(_watched(bench, f"event-at-{size}", server, path, size))
            show(Row(f"memory-at-{size}", server.resident_mb(), unit="MB"))
        with closing(bench.start(directory)) as server:
            show(Row(f"start-at-{size}", server.start_seconds, unit="s"))
            time.sleep(_PAUSE)
            show(Row(f"memory-after-start-at-{size}", server.resident_mb(), unit="MB"))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def growth(bench: Bench, show: Print) -> None:
    for size in SIZES:
        _grown(bench, size, show)


def _measured(bench: Bench, name: str, server: Server, make: Maker) -> Row:
    with connections(server.address, bench.connections) as opened:
        drive(opened, make, seconds=bench.seconds / 3)
        return bench.measure(name, server, lambda: drive(opened, make, seconds=bench.seconds / 8))


@contextmanager
def _watching(server: Server, path: str, count: int) -> Iterator[list[Watcher]]:
    request = watch_request(server, path)
    with ExitStack() as opened:
        watchers = []
        for _ in range(count):
            watchers.append(Watcher(server.address))
            opened.callback(watchers[-1].sock.close)
            watchers[-1].open(request)
        yield watchers


def _watched(bench: Bench, name: str, server: Server, path: str, size: int) -> Row:
    """Measure an event to one of 20 watchers, one create at a time."""
    value = {"metadata": {"name": f"cm-x{objects.COUNTER}"}, "data": {"number": objects.COUNTER}}
    make = objects.numbered([server.address.request("POST", path, objects.encode(value))])
    with (
        _watching(server, path, WATCHERS_OF_GROWTH) as watchers,
        connections(server.address, 1) as opened,
    ):

        def run() -> Sample:
            return drive(opened, make, count=200, watchers=watchers)

        run()
        return bench.measure(name, server, run)


def _definition(number: int) -> dict[str, object]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    group = f"group{number % 30}.example.com"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"kinds{number}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": f"Kind{number}", "plural": f"kinds{number}"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def definitions(bench: Bench, show: Print) -> None:
    """300 definitions with 100 objects each."""
    directory = Path(tempfile.mkdtemp(prefix="fairlead-extremes-"))
    try:
        with closing(bench.start(directory)) as server:
            before, began = server.resident_mb(), time.perf_counter()
            for n in range(DEFINITIONS):
                call(server, "POST", _DEFINITIONS, _definition(n))
            namespace = collection(server, "bench-kinds").removesuffix("/configmaps")
            paths = [
                f"/apis/group{n % 30}.example.com/v1{namespace.removeprefix('/api/v1')}/kinds{n}"
                for n in range(DEFINITIONS)
            ]
            while not _is_served(server, paths[-1]):
                time.sleep(0.1)
            took = time.perf_counter() - began
            show(Row("definitions-served", took, unit="s"))
            for n, path in enumerate(paths):
                body = {
                    "apiVersion": f"group{n % 30}.example.com/v1",
                    "kind": f"Kind{n}",
                    "metadata": {"name": f"one-{objects.COUNTER}"},
                    "spec": {"number": objects.COUNTER},
                }
                request = server.address.request("POST", path, objects.encode(body))
                fill(server, objects.numbered([request]), EACH)
            time.sleep(_PAUSE)
            memory = server.resident_mb() - before
            show(Row("definitions-memory", memory, unit="MB"))
            get = objects.constant(server.address.request("GET", f"{paths[7]}/one-00000007"))
            show(_measured(bench, "definitions-get", server, get))
        with closing(bench.start(directory)) as server:
            show(Row("definitions-start", server.start_seconds, unit="s"))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _is_served(server: Server, path: str) -> bool:
    try:
        call(server, "GET", f"{path}?limit=1")
    except WorkFailedError:
        return False
    return True


def watches(bench: Bench, show: Print) -> None:
    """Changes that 10,000 watchers see."""
    maximum = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if maximum < WATCHERS + 100:
        raise WorkFailedError(f"{WATCHERS} connections need more than {maximum} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))  # the server inherits it
    with closing(bench.start(None, *_NO_LIMITS)) as server:
        path = collection(server, "bench-watched")
        make = _small(server, path)
        time.sleep(_PAUSE)
        before = server.resident_mb()
        with (
            _watching(server, path, WATCHERS) as watchers,
            connections(server.address, 1) as opened,
        ):
            show(Row("watches-memory", server.resident_mb() - before, unit="MB"))
            drive(opened, make, count=2, watchers=watchers)
            began, spent = time.perf_counter(), server.cpu_seconds()
            sample = drive(opened, make, count=CHANGES, watchers=watchers)
            took = time.perf_counter() - began
            cost = (server.cpu_seconds() - spent) / sample.number * 1e6
            show(Row("watches-event", cost, rate=sample.number / took))


class _Gets:
    """Gets of one object, one at a time, in a thread, with their latencies in ms."""

    def __init__(self, server: Server, path: str) -> None:
        self._request = server.address.request("GET", path)
        self._connection = Connection(server.address)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.latencies: list[float] = []

    def _run(self) -> None:
        while not self._is_over.wait(0.005):
            began = time.perf_counter()
            self._connection.call(self._request)
            self._connection.check()
            self.latencies.append((time.perf_counter() - began) * 1e3)

    def __enter__(self) -> _Gets:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._connection.sock.close()


def deletion(bench: Bench, show: Print) -> None:
    """Delete a namespace with 100,000 objects while others read."""
    with closing(bench.start()) as server:
        path, other = (collection(server, f"bench-{name}") for name in ("deleted", "other"))
        fill(server, _small(server, path), DELETED)
        fill(server, _small(server, other), 1)
        time.sleep(_PAUSE)
        namespace = path.removesuffix("/configmaps")
        began = time.perf_counter()
        with _Gets(server, f"{other}/cm-00000001") as gets:
            call(server, "DELETE", namespace)
            while time.perf_counter() - began < _LONGEST:
                try:
                    call(server, "GET", namespace)
                except WorkFailedError:
                    break
                time.sleep(0.1)
            took = time.perf_counter() - began
        ordered = sorted(gets.latencies)
        show(Row("deletion", took, unit="s"))
        p50, p99 = (ordered[int(len(ordered) * part)] for part in (0.5, 0.99))
        show(Row("deletion-get", ordered[-1], unit="ms", p50=p50, p99=p99))


WORKS = {"growth": growth, "definitions": definitions, "watches": watches, "deletion": deletion}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.extremes", description=__doc__)
    add = parser.add_argument
    add("-k", nargs="+", default=list(WORKS), choices=WORKS, metavar="WORK", help=", ".join(WORKS))
    add("--seconds", type=float, default=3.0, help="measured per case (default 3)")
    add("--json", type=Path, help="where results go")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []

    def show(row: Row) -> None:
        figure = row.ours if row.best is not None else row.figure
        more = [
            f"{name} {number(value)}"
            for name, value in {"per s": row.rate, "p50": row.p50, "p99": row.p99}.items()
            if value is not None
        ]
        print(f"{row.name:30} {number(figure, row.unit):>12}  {', '.join(more)}", flush=True)
        rows.append({"name": row.name, "figure": figure, "unit": row.unit, "p99": row.p99})

    bench = Bench([sys.executable, "-m", "fairlead", "serve"], options.seconds, 16)
    for name in options.k:
        WORKS[name](bench, show)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
