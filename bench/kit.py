"""The testing kit: how long a test suite waits for its server.

    python -m bench.kit

Measures starts, resets and a run of ten tests of an operator (bench/operator_suite). Prints best
and median in wall time, which depends on the load of the machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from fairlead.testing import Cluster

_STARTS, _RESETS, _RUNS = 7, 20, 3
_OBJECTS = 1000
_SUITE = Path(__file__).parent / "operator_suite"


def main() -> None:
    _tell("start to ready, in the test's process", list(_starts()))
    _tell(f"restore, {_OBJECTS} objects, all of which are gone", list(_resets(_OBJECTS)))
    _tell(f"restore, {_OBJECTS} objects, of which 10 were added", list(_resets(10)))
    _tell("ten tests of an operator, all in all", list(_runs()))


def _tell(what: str, seconds: list[float]) -> None:
    best, middle = min(seconds) * 1000, median(seconds) * 1000
    print(f"| {what} | {best:,.1f} ms | {middle:,.1f} ms |", flush=True)


def _starts() -> Iterator[float]:
    for _ in range(_STARTS):
        began = time.perf_counter()
        with Cluster():
            yield time.perf_counter() - began


def _resets(changes: int) -> Iterator[float]:
    """Yield the time of a restore after so many changed objects."""
    with Cluster() as cluster:
        maps = cluster.admin.resource("configmaps")
        for number in range(_OBJECTS):
            maps.create({"metadata": {"name": f"m{number}"}, "data": {"k": "v" * 500}})
        with cluster.snapshot() as snapshot:
            for _ in range(_RESETS):
                if changes == _OBJECTS:
                    maps.delete_collection()
                else:
                    for number in range(changes):
                        maps.create({"metadata": {"name": f"n{number}"}})
                cluster.wait_idle()
                began = time.perf_counter()
                snapshot.restore()
                yield time.perf_counter() - began


def _runs() -> Iterator[float]:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "fairlead.testing.plugin"]
    words += ["-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(_SUITE), str(_SUITE)]
    words += ["-o", "fairlead_flags=--simulate-nodes 1"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for _ in range(_RUNS):
        began = time.perf_counter()
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        took = time.perf_counter() - began
        match = re.search(r"(\d+) passed", done.stdout)
        if done.returncode or match is None or match[1] != "10":
            raise SystemExit(done.stdout)
        yield took


if __name__ == "__main__":
    main()
