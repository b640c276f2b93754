"""Formats the results as a table and as JSON."""

from __future__ import annotations

import json
import platform
import time
from dataclasses import asdict
from pathlib import Path

from bench.measuring import Row
from bench.targets import TARGETS, Target

HEAD = ["work", "per s", "p50 ms", "p99 ms", "figure", "best", "previous", "wanted"]
HEAD += ["", "reference", "client", "others", "etcd"]
PREVIOUS = HEAD.index("previous")


def number(value: float | None, unit: str = "") -> str:
    if value is None:
        return ""
    return f"{value:,.{0 if value >= 100 else 1 if value >= 1 else 2}f} {unit}".strip()


def _wanted(row: Row, target: Target) -> tuple[str, str]:
    """Return the limit as text, and whether the row is within it."""
    texts: list[str] = []
    verdict = "ok"
    limit, minimum = row.limit or target.limit, row.min_rate or target.min_rate
    if limit and row.figure is not None:
        texts.append(f"≤ {number(limit, row.unit)}")
        verdict = verdict if row.ours <= limit else "OVER"
    if minimum and row.rate is not None:
        texts.append(f"≥ {number(minimum)}/s")
        verdict = verdict if row.rate >= minimum else "UNDER"
    return ", ".join(texts), verdict if texts else ""


def _cells(row: Row, before: float | None) -> list[str]:
    target = TARGETS.get(row.name, Target(row.name))
    reference = number(target.reference, row.unit)
    change = f" ({row.figure / before - 1:+.0%})" if before and row.figure else ""
    shares = [f"{share:.0%}" if share is not None else "" for share in (row.client, row.others)]
    speed = [number(value) for value in (row.rate, row.p50, row.p99)]
    figures = [number(row.figure, row.unit), number(row.best, row.unit)]
    previous = number(before, row.unit) + change
    store = number(row.store, "µs") if row.store is not None else ""
    return [row.name, *speed, *figures, previous, *_wanted(row, target), reference, *shares, store]


def previous_figures(file: Path) -> dict[str, float]:
    """Return the figures of an earlier run by row name."""
    rows = json.loads(file.read_text())["rows"]
    return {row["name"]: row["figure"] for row in rows if row["figure"] is not None}


def table(rows: list[Row], previous: dict[str, float] | None) -> str:
    """Format an aligned table, with failures below it."""
    before = previous or {}
    lines = [HEAD, *(_cells(row, before.get(row.name)) for row in rows if not row.error)]
    if previous is None:
        lines = [line[:PREVIOUS] + line[PREVIOUS + 1 :] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    out = []
    for first, *rest in lines:
        cells = [text.rjust(width) for text, width in zip(rest, widths[1:], strict=True)]
        out.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    out += [f"FAILED {row.name}: {row.error}" for row in rows if row.error]
    return "\n".join(out)


def write(file: Path, rows: list[Row], settings: dict[str, object]) -> None:
    """Write the rows with their targets, the time and the machine."""
    document = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "machine": platform.platform(),
        **settings,
        "rows": [
            {**asdict(row), "target": asdict(TARGETS.get(row.name, Target(row.name)))}
            for row in rows
        ],
    }
    file.write_text(json.dumps(document, indent=1) + "\n")
