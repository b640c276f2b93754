"""Checks that requests do not cost more when more objects are stored."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from bench import objects
from bench.client import Maker, connections, drive
from bench.measuring import Bench, Row
from bench.server import Server
from bench.setting_up import call, collection, creator, fill
from bench.targets import GROWTH

FEW = 100
MANY = 11_000


def growth(bench: Bench) -> list[Row]:
    """Measure get and create on a server with few objects and on one with many.

    The servers alternate, and the best round of each counts. Objects that a round creates are
    deleted after it.
    """
    rounds, each = 5, 600  # plus one round to warm up
    parts: dict[str, list[Row]] = {}

    def measure(name: str, server: Server, make: Maker, **length: Any) -> None:
        with connections(server.address, bench.connections) as opened:
            row = bench.measure(name, server, lambda: drive(opened, make, **length), 1)
        parts.setdefault(name, []).append(row)

    with closing(bench.start()) as small, closing(bench.start()) as large:
        servers = {FEW: small, MANY: large}
        makers = []
        for many, server in servers.items():
            held, path = collection(server, "bench-held"), collection(server, "bench-growth")
            fill(server, creator(server, held), many)
            get = objects.constant(server.address.request("GET", f"{held}/cm-00000050"))
            makers.append((many, server, get, creator(server, path), path))
        for _ in range(rounds + 1):
            for many, server, get, make, path in makers:
                measure(f"get-at-{many}", server, get, seconds=bench.seconds / rounds)
                measure(f"create-at-{many}", server, make, count=each)
                call(server, "DELETE", path)
    rows = []
    for verb in ("get", "create"):
        for many in servers:
            rows.append(min(parts[f"{verb}-at-{many}"][1:], key=lambda row: row.ours))
        rows[-1].limit = rows[-2].ours * GROWTH
    return rows
