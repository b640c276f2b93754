"""All workloads by name."""

from __future__ import annotations

from dataclasses import replace

from bench.client import WorkFailedError
from bench.growing import growth
from bench.measuring import Bench, Row, Work
from bench.reads import READS
from bench.starts import start_filled, start_fresh
from bench.waits import WAITS
from bench.watches import idle, watch
from bench.writes import WRITES


def works(watchers: list[int]) -> dict[str, Work]:
    """Return all workloads by name, in their order of execution."""
    return {
        "start-memory-fresh": start_fresh,
        **READS,
        **WRITES,
        **{f"watch-{n}": watch(f"watch-{n}", n) for n in watchers},
        **{f"watch-{n}-one": watch(f"watch-{n}-one", n, 1) for n in watchers},
        **WAITS,
        "growth": growth,
        "watches-idle": idle,
        "start-memory-filled": start_filled,
    }


def run(bench: Bench, name: str, work: Work) -> list[Row]:
    """Return the rows of a workload, or one row with the error."""
    try:
        rows = work(bench)
        factor = bench.factors.get(name)
        if bench.plain is not None and factor is not None:
            plain = work(bench.plain)[0]
            bench.plain.close()
            rows[0].limit = factor * plain.ours
            rows.append(replace(plain, name=f"{name}-plain"))
        return rows
    except (WorkFailedError, OSError, LookupError, TypeError, ValueError) as error:
        return [Row(name, error=str(error) if isinstance(error, WorkFailedError) else repr(error))]
