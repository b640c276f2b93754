"""Measures how continuous lists of a noisy user slow down the gets of a quiet user.

    python -m bench.noisy

The noisy user is a separate process with several connections. Wall time, as the quiet user sees it,
needs an otherwise idle machine. The CPU time of the server between each get and its answer is more
meaningful on a busy machine; the quiet user runs with real-time priority if permitted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Process

from bench.client import Address, connections, drive
from bench.server import Server, cpu_seconds_of

_OBJECTS = 5000
_SECONDS = 5.0
_PAUSE = 0.001  # between two gets
_MAPS = "/api/v1/namespaces/default/configmaps"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
# Path, format and number of connections of the lists.
_NOISE = (
    (f"{_MAPS}?limit=500", "application/json", 8),
    (f"{_MAPS}?limit=500", "application/json", 32),
    (f"{_MAPS}?limit=100", "application/json", 16),
    (_MAPS, "application/json", 8),
    (f"{_MAPS}?limit=500", _TABLE, 8),
)


def main() -> None:
    flags = [*("--authorization-mode", "AlwaysAllow"), *sys.argv[1:]]
    server = Server([sys.executable, "-m", "fairlead", "serve", *flags])
    try:
        _fill(server.address)
        alone = _quiet(server)
        print("| beside | p50 | p99 | p99 / alone | CPU p99 | / alone |\n|---|---|---|---|---|---|")
        _tell("nobody", alone, alone)
        for path, form, number in _NOISE:
            noise = Process(target=_noise, args=(server.address, path, form, number), daemon=True)
            noise.start()
            time.sleep(1.0)
            _tell(f"{path} {form} x {number}", _quiet(server), alone)
            noise.terminate()
            noise.join()
    finally:
        server.close()


def _fill(address: Address) -> None:
    bodies = (
        b'{"metadata":{"name":"m%d"},"data":{"k":"%b"}}' % (number, b"x" * 600)
        for number in range(_OBJECTS)
    )
    with connections(address, 16) as opened:
        drive(opened, lambda: address.request("POST", _MAPS, next(bodies)), count=_OBJECTS)


def _as_user(request: bytes, name: bytes, form: str = "application/json") -> bytes:
    request = request.replace(b"application/json", form.encode(), 1)
    return request.replace(b"User-Agent:", b"Impersonate-User: %b\r\nUser-Agent:" % name, 1)


def _noise(address: Address, path: str, form: str, number: int) -> None:
    request = _as_user(address.request("GET", path), b"noisy", form)
    with connections(address, number) as opened:
        drive(opened, lambda: request, seconds=10 * _SECONDS)


def _quiet(server: Server) -> tuple[float, float, float]:
    """Return the median and p99 of gets, and the p99 of the server's CPU time during a get."""
    request = _as_user(server.address.request("GET", f"{_MAPS}/m0"), b"quiet")
    waits: list[float] = []
    works: list[float] = []
    with connections(server.address, 1) as (connection,), _first():
        end = time.perf_counter() + _SECONDS
        while time.perf_counter() < end:
            began, work = time.perf_counter(), cpu_seconds_of(server.process.pid)
            connection.call(request)
            connection.check()
            waits.append(time.perf_counter() - began)
            works.append(cpu_seconds_of(server.process.pid) - work)
            time.sleep(_PAUSE)
    waits.sort()
    works.sort()
    late = len(waits) * 99 // 100
    return waits[len(waits) // 2], waits[late], works[late]


@contextmanager
def _first() -> Iterator[None]:
    """Run with real-time priority, if permitted."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    yield
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _tell(what: str, noisy: tuple[float, float, float], alone: tuple[float, float, float]) -> None:
    middle, late, work = (seconds * 1000 for seconds in noisy)
    times = f"{middle:.2f} ms | {late:.2f} ms | {noisy[1] / alone[1]:.1f}"
    print(f"| {what} | {times} | {work:.2f} ms | {noisy[2] / alone[2]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
