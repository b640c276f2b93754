"""Writes of objects that all differ: only the shape repeats, so that the server's caches by content
do not help.

`python -m bench.unlike` prints the CPU of the server per request; with `--source DIR` twice or more
it alternates between servers of several source trees, which is the way to compare them on a shared
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import count, cycle
from typing import Any

from bench import objects
from bench.client import APPLY, MERGE, Maker, connections, drive
from bench.server import SOURCE, Server
from bench.setting_up import call, collection

STANDING = 2000  # objects that are patched and applied to in turn: too many for the caches


def new(resource: str, number: int) -> dict[str, Any]:
    """Return an object with its own texts, labels, images and sizes."""
    parsed: dict[str, Any] = json.loads(
        objects.with_number(objects.encode(objects.new(resource)), number)
    )
    return parsed


Work = Callable[[Server], Maker]


def create(resource: str) -> Work:
    def work(server: Server) -> Maker:
        path = collection(server, f"unlike-{resource}", resource)
        if resource == "pods":  # waits for the service account
            call(server, "POST", path, objects.new("pods", "first"))
        numbers = count(1)
        return lambda: server.address.request(
            "POST", path, objects.encode(new(resource, next(numbers)))
        )

    return work


def _standing(server: Server, name: str, resource: str) -> Iterator[tuple[str, int]]:
    """Return the paths and numbers of existing objects, applied by the manager of the bench."""
    path = collection(server, f"unlike-{name}", resource)
    if resource == "pods":
        call(server, "POST", path, objects.new("pods", "first"))
    paths = []
    with connections(server.address, 1) as (connection,):
        for number in range(STANDING):
            body = new(resource, number)
            item = f"{path}/{body['metadata']['name']}?fieldManager=bench"
            connection.call(server.address.request("PATCH", item, objects.encode(body), APPLY))
            connection.check()
            paths.append((item, number))
    return cycle(paths)


def apply_label(server: Server) -> Maker:
    """Applies that change one label of a Pod each."""
    standing, fresh = _standing(server, "apply", "pods"), count()

    def make() -> bytes:
        path, number = next(standing)
        body = new("pods", number)
        body["metadata"]["labels"]["release"] = f"changed-{next(fresh)}"
        return server.address.request("PATCH", path, objects.encode(body), APPLY)

    return make


def patch(resource: str) -> Work:
    """Merge patches that change one value each."""

    def work(server: Server) -> Maker:
        standing, fresh = _standing(server, f"patch-{resource}", resource), count()

        def make() -> bytes:
            path, _ = next(standing)
            changed = {"count": f"changed-{next(fresh)}"}
            is_pod = resource == "pods"
            body = {"metadata": {"annotations": changed}} if is_pod else {"data": changed}
            return server.address.request("PATCH", path, objects.encode(body), MERGE)

        return make

    return work


WORKS: dict[str, Work] = {
    "create-configmap": create("configmaps"),
    "create-pod": create("pods"),
    "apply-label": apply_label,
    "patch-configmap": patch("configmaps"),
    "patch-pod": patch("pods"),
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.unlike", description=__doc__)
    add = parser.add_argument
    add("-k", nargs="+", default=list(WORKS), choices=WORKS, metavar="WORK", help=", ".join(WORKS))
    add("--source", action="append", help="a src directory; several are measured in turns")
    add("--rounds", type=int, default=5, help="windows a work (default 5)")
    add("--number", type=int, default=1500, help="requests a window (default 1500)")
    add("--connections", type=int, default=16, help="keep-alive connections (default 16)")
    return parser.parse_args()


def _started(source: str) -> Server:
    """Start a server of a source tree, which takes precedence in the module path."""
    before = os.environ.get("PYTHONPATH", "")
    script = f"import sys; sys.path.insert(0, {source!r}); import runpy; sys.argv[0] = 'fairlead';"
    script += " runpy.run_module('fairlead', run_name='__main__', alter_sys=True)"
    os.environ["PYTHONPATH"] = before
    return Server([sys.executable, "-c", script, "serve"])


def measured(servers: dict[str, Server], work: Work, options: argparse.Namespace) -> None:
    with ExitStack() as opened:
        runs = []
        for source, server in servers.items():
            make = work(server)
            ways = opened.enter_context(connections(server.address, options.connections))
            drive(ways, make, count=options.number)
            runs.append((source, server, ways, make))
        costs: dict[str, list[float]] = {source: [] for source in servers}
        for _ in range(options.rounds):
            for source, server, ways, make in runs:
                bodies = [make() for _ in range(options.number)]  # made before the clock starts
                before = server.cpu_seconds()
                drive(ways, iter(bodies).__next__, count=options.number)
                costs[source].append((server.cpu_seconds() - before) / options.number * 1e6)
    for source, result in costs.items():
        mean = sum(result) / len(result)
        print(f"  {min(result):8.0f} µs at best {mean:8.0f} on average   {source}", flush=True)


def main() -> None:
    options = _arguments()
    with ExitStack() as running:
        servers: dict[str, Server] = {}
        for source in options.source or [str(SOURCE)]:
            servers[source] = running.enter_context(closing(_started(source)))
        for name in options.k:
            print(name, flush=True)
            measured(servers, WORKS[name], options)


if __name__ == "__main__":
    main()
