"""Start time and memory, empty and filled."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench.client import connections
from bench.measuring import PATIENCE, Bench, Row
from bench.server import Server
from bench.setting_up import HELD, collection, creator, fill
from bench.targets import ABOVE_IDLE_AND_STORED

STARTS = 5
STARTS_FILLED = 3
PODS = 6_000
FILLED = 100_000


def start_fresh(bench: Bench) -> list[Row]:
    """Start on empty directories; measure the memory of the last server once it is idle."""
    took = []
    for n in range(STARTS):
        bench.pace.wait(PATIENCE)
        with closing(bench.start()) as server:
            took.append(server.start_seconds)
            time.sleep(2.0 if n == STARTS - 1 else 0.0)
            memory = server.resident_mb()
    return [_starts("start-fresh", took), Row("memory-idle", memory, unit="MB")]


def start_filled(bench: Bench) -> list[Row]:
    """Measure memory with many objects, then starts on even more of them."""
    directory = Path(tempfile.mkdtemp(prefix="fairlead-bench-"))
    took = []
    try:
        with closing(bench.start(directory)) as server:
            time.sleep(2.0)
            idle = server.resident_mb()
            paths = [collection(server, "bench-filled", item) for item in ("configmaps", "pods")]
            make = creator(server, paths[0])
            fill(server, make, HELD)
            fill(server, creator(server, paths[1]), PODS)
            time.sleep(2.0)
            filled = Row("memory-filled", server.resident_mb(), unit="MB")
            stored = sum(_size(server, path) for path in paths)
            filled.limit = ABOVE_IDLE_AND_STORED + idle + stored
            fill(server, make, FILLED - HELD - PODS)
        for _ in range(STARTS_FILLED):
            bench.pace.wait(PATIENCE)
            with closing(bench.start(directory)) as server:
                took.append(server.start_seconds)
                time.sleep(2.0)
                restarted = server.resident_mb()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return [
        filled,
        _starts("start-filled", took),
        Row("memory-restarted", restarted, unit="MB"),
    ]


def _starts(name: str, took: list[float]) -> Row:
    return Row(name, statistics.median(took) * 1e3, min(took) * 1e3, "ms")


def _size(server: Server, path: str) -> float:
    """Return the size in MB of the objects of a collection, as sent."""
    with connections(server.address, 1) as (connection,):
        connection.call(server.address.request("GET", path))
        connection.check()
        return connection.size / 2**20
