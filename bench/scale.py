"""`python -m bench.scale`: how long simulated nodes take to run many pods, and what that costs."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.server import Server, profiled
from bench.setting_up import call

NAMESPACES = 10
REPLICAS = 1_000  # of a Deployment
IDLE_SECONDS = 60.0
_APPS = "/apis/apps/v1/namespaces"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale",
        description="Start Deployments on simulated nodes, until all their pods are ready.",
    )
    add = parser.add_argument
    add("--nodes", type=int, default=1_000, help="simulated nodes (default 1000)")
    add("--pods", type=int, default=50_000, help="in Deployments of 1000 (default 50000)")
    add("--idle", type=float, default=IDLE_SECONDS, help="seconds of idling (default 60)")
    add("--minutes", type=float, default=15.0, help="give up after so many (default 15)")
    add("--server-args", default="", help="more flags for the server: --server-args='--a=1 --b'")
    add("--profile", type=Path, help="py-spy of the time until all are ready")
    return parser.parse_args()


def deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}}
    container = {"name": "web", "image": "nginx:1.27", "resources": resources}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _ready(server: Server) -> int:
    """The number of ready pods of all Deployments."""
    lists = (call(server, "GET", f"{_APPS}/scale-{n}/deployments") for n in range(NAMESPACES))
    return sum(each["status"].get("readyReplicas", 0) for found in lists for each in found["items"])


def _run_pods(server: Server, pods: int, deadline: float) -> None:
    for number in range(NAMESPACES):
        call(server, "POST", "/api/v1/namespaces", {"metadata": {"name": f"scale-{number}"}})
    for number in range(pods // REPLICAS):
        path = f"{_APPS}/scale-{number % NAMESPACES}/deployments"
        call(server, "POST", path, deployment(f"web-{number}"))
    while (ready := _ready(server)) < pods // REPLICAS * REPLICAS:
        if time.perf_counter() > deadline:
            sys.exit(f"bench: only {ready} pods are ready")
        time.sleep(1.0)


def main() -> None:
    options = _arguments()
    flags = ["--simulate-nodes", str(options.nodes), *shlex.split(options.server_args)]
    command = [sys.executable, "-m", "fairlead", "serve", *flags]
    with closing(Server(command)) as server:
        began = time.perf_counter()
        with profiled(server, options.profile):
            _run_pods(server, options.pods, began + options.minutes * 60)
            print(f"{options.pods} pods on {options.nodes} nodes")
            print(f"until all are ready: {time.perf_counter() - began:.0f} s")
        print(f"CPU until then: {server.cpu_seconds():.0f} s")
        print(f"memory: {server.resident_mb():.0f} MB", flush=True)
        time.sleep(options.idle)  # events and statuses that are written later
        before = server.cpu_seconds()
        time.sleep(options.idle)
        used = (server.cpu_seconds() - before) / options.idle
        print(f"idle: {used * 100:.1f} % of a core, {server.resident_mb():.0f} MB")


if __name__ == "__main__":
    main()
