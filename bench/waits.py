"""Measures the wait for a small answer while the server handles large requests of other clients.

The other clients are a separate process. Waits are wall time and need an otherwise idle machine;
the waiting client runs with real-time priority if permitted, and the best of several rounds counts.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from multiprocessing import Process

from bench import objects
from bench.client import (
    MERGE,
    PROTOBUF,
    TABLE,
    Address,
    Connection,
    Maker,
    WorkFailedError,
    connections,
    drive,
)
from bench.measuring import Bench, Row, Work
from bench.setting_up import collection, creator, fill, many, standing

ROUNDS = 3
ENOUGH_SECONDS = 6.0  # of rounds, for formats that take long
PAUSE = 0.0005  # between two small requests
MIXED_SECONDS = 10.0
PATIENCE = 120.0
# Query, Accept and Accept-Encoding of the large list.
LONG = {
    "json": ("", "json", "identity"),
    "gzip": ("", "json", "gzip"),
    "pretty": ("?pretty=true", "json", "identity"),
    "yaml": ("", "yaml", "identity"),
    "proto": ("", PROTOBUF, "identity"),
    "table": ("", TABLE, "identity"),
}


def stalls(form: str) -> Work:
    """The longest wait for /livez while 20,000 ConfigMaps are sent in a format."""
    query, accept, encoding = LONG[form]
    name = f"stall-{form}"

    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        path = many(server) + query
        long = server.address.request("GET", path, accept=accept, encoding=encoding)
        short = server.address.request("GET", "/livez")
        longest: list[float] = []
        began = time.perf_counter()
        while len(longest) < ROUNDS and time.perf_counter() < began + ENOUGH_SECONDS:
            with _others(
                lambda: _send(server.address, objects.constant(long), 1, count=1)
            ) as process:
                waits = _waits(server.address, short, process.is_alive)
            if process.exitcode:
                raise WorkFailedError(f"the list as {form} failed")
            longest.append(max(waits) * 1e3)
        return [Row(name, statistics.median(longest), min(longest), "ms")]

    return work


def mixed(bench: Bench) -> list[Row]:
    """Gets one at a time, beside 8 connections that read, list, patch and create."""
    server = bench.server()
    pods = collection(server, "bench-mixed", "pods")
    fill(server, creator(server, pods), 500)
    maps = standing(server, "mixed", "configmaps", 64)
    ask = server.address.request
    value = objects.encode({"data": {"count": f"changed-{objects.COUNTER}"}})
    new = creator(server, collection(server, "bench-mixed-new"))
    patches = objects.numbered([ask("PATCH", path, value, MERGE) for path in maps])
    get = objects.constant(ask("GET", maps[0].partition("?")[0]))
    page = f"{pods}?limit=500"
    lists = [objects.constant(ask("GET", page, accept=form)) for form in ("json", TABLE, PROTOBUF)]
    others = cycle([get, new, patches, lists[0], get, new, patches, lists[1], get, new, lists[2]])

    def send() -> None:
        _send(server.address, lambda: next(others)(), 8, seconds=MIXED_SECONDS)

    with _others(send) as process:
        waits = sorted(_waits(server.address, get(), process.is_alive))
    if process.exitcode:
        raise WorkFailedError("the load beside failed")
    p50, p99, late = (waits[int(len(waits) * part)] * 1e3 for part in (0.5, 0.99, 0.999))
    return [Row("get-mixed", late, unit="ms", p50=p50, p99=p99, requests=len(waits))]


def _send(
    address: Address, make: Maker, number: int, *, seconds: float = 0.0, count: int = 0
) -> None:
    with connections(address, number) as opened:
        drive(opened, make, seconds=seconds, count=count)


@contextmanager
def _others(run: Callable[[], None]) -> Iterator[Process]:
    """Run a function in another process during the block, and wait for its end."""
    process = Process(target=run, daemon=True)
    process.start()
    try:
        yield process
        process.join(PATIENCE)
    finally:
        process.kill()
        process.join()


def _waits(address: Address, request: bytes, going_on: Callable[[], bool]) -> list[float]:
    """Return the duration of each request, sent one after the other while `going_on`."""
    waits: list[float] = []
    with connections(address, 1) as (connection,), _going_first():
        _call(connection, request)
        while going_on() or not waits:
            waits.append(_call(connection, request))
            time.sleep(PAUSE)
    return waits


def _call(connection: Connection, request: bytes) -> float:
    began = time.perf_counter()
    connection.call(request)
    connection.check()
    return time.perf_counter() - began


@contextmanager
def _going_first() -> Iterator[None]:
    """Run with real-time priority, if permitted."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


WAITS: dict[str, Work] = {
    **{f"stall-{form}": stalls(form) for form in LONG},
    "get-mixed": mixed,
}
