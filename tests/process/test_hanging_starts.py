"""A worker that hangs before it is ready is replaced; one that is only slow is not."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.etcd import Etcd, needs_etcd
from support.process import FreshServer, ServerProcess
from support.waiting import await_value, eventually
from support.workers import Workers

pytestmark = pytest.mark.usefixtures("new_interpreters")

# The parent is patient with a start for a few seconds only.
HASTY = "import fairlead.process.workers.hangs as h; h.CHECK_EVERY = 0.25; h.STARTING_CHECKS = 12"
KILLED = "a worker hangs at its start and is killed"


def start_with_first_worker_stopped(server: ServerProcess) -> int:
    """Start a server, and stop its first worker as soon as there is one; return the worker's
    pid."""
    workers = Workers(server)
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(server.start)
        eventually(lambda: server.process is not None, "the parent runs")
        first: int = await_value(workers.pids)[0]
        os.kill(first, signal.SIGSTOP)
        starting.result()
    return first


def opening_late(tmp_path: Path, what: str) -> str:
    """Return a prelude of a server in which the first process that opens the store does something
    else before."""
    first = tmp_path / "first"
    first.touch()
    program = f"""
import threading, time
from pathlib import Path
from fairlead.storage.sqlite.backend import SqliteBackend
open_store = SqliteBackend.open

def open_late(backend):
    if Path({str(first)!r}).exists():
        Path({str(first)!r}).unlink()
        {what}
    open_store(backend)

SqliteBackend.open = open_late
"""
    return f"{HASTY}; exec({program!r})"


def test_an_owner_that_is_stopped_before_it_is_ready_is_replaced(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, flags=("--workers", "2"), prelude=HASTY)
    try:
        stopped = start_with_first_worker_stopped(server)
        assert server.client().get("/readyz").status == 200
        assert stopped not in Workers(server).pids()
        log = server.log.read_text()
        assert KILLED in log
        assert "a worker is started again" in log
    finally:
        server.kill()


@needs_etcd
def test_the_first_worker_over_etcd_is_replaced_as_well(tmp_path: Path) -> None:
    etcd = Etcd(tmp_path / "etcd").start()
    flags = ("--workers", "2", "--storage", "etcd", "--etcd-servers", etcd.url)
    server = ServerProcess(tmp_path, flags=flags, prelude=HASTY)
    try:
        stopped = start_with_first_worker_stopped(server)
        assert server.client().get("/readyz").status == 200
        assert stopped not in Workers(server).pids()
    finally:
        server.kill()
        etcd.close()


def test_a_successor_that_is_stopped_before_it_is_ready_is_replaced(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--workers", "2", prelude=HASTY)
    workers = Workers(server)
    known = workers.pids()
    os.kill(workers.owner(), signal.SIGKILL)
    (successor,) = await_value(lambda: [pid for pid in workers.pids() if pid not in known])
    os.kill(successor, signal.SIGSTOP)
    eventually(lambda: successor not in workers.pids(), "it is killed")
    workers.await_all(2)
    assert KILLED in server.log.read_text()


def test_an_owner_whose_store_blocks_is_replaced(fresh_server: FreshServer, tmp_path: Path) -> None:
    prelude = opening_late(tmp_path, "threading.Event().wait()")
    server = fresh_server("--workers", "2", prelude=prelude)
    assert server.client().get("/readyz").status == 200
    assert KILLED in server.log.read_text()


def test_an_owner_that_loads_for_long_is_not_replaced_nor_those_who_wait_for_it(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    busy = "end = time.monotonic() + 6; all(time.monotonic() < end for _ in iter(int, 1))"
    prelude = opening_late(tmp_path, busy)
    server = fresh_server("--workers", "2", prelude=prelude)
    assert server.client().get("/readyz").status == 200
    assert "is killed" not in server.log.read_text()
