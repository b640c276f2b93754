"""Watches: the cost of an event, and the memory of idle watches."""

from __future__ import annotations

import resource
import time
from contextlib import closing

from bench.client import Sample, Watcher, WorkFailedError, connections, drive
from bench.measuring import WINDOWS, Bench, Row, Work
from bench.server import Server
from bench.setting_up import call, collection, creator

IDLE = 10_000


def watch_request(server: Server, path: str) -> bytes:
    """Return a request for a watch from now on."""
    version = call(server, "GET", f"{path}?limit=1")["metadata"]["resourceVersion"]
    return server.address.request("GET", f"{path}?watch=true&resourceVersion={version}")


def watch(name: str, number: int, creators: int = 0) -> Work:
    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        path = collection(server, f"bench-{name}")
        make = creator(server, path)
        time.sleep(1.0)  # lets controllers populate the new namespace
        request = watch_request(server, path)
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


def idle(bench: Bench) -> list[Row]:
    """Memory of 10,000 idle watches, above that of a server with none."""
    maximum = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if maximum < IDLE + 100:
        raise WorkFailedError(f"{IDLE} connections need more than {maximum} open files (ulimit -n)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))  # the server inherits it
    watchers: list[Watcher] = []
    flags = ("--max-connections=0", "--max-connections-per-address=0")
    with closing(bench.start(None, *flags)) as server:
        try:
            request = watch_request(server, collection(server, "bench-idle"))
            time.sleep(2.0)
            before = server.resident_mb()
            for _ in range(IDLE):
                watchers.append(Watcher(server.address))
                watchers[-1].open(request)
            time.sleep(2.0)
            return [Row("watches-idle", server.resident_mb() - before, unit="MB")]
        finally:
            for watcher in watchers:
                watcher.sock.close()
