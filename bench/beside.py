"""`python -m bench.beside --reference KUBE_APISERVER`: measure the same works on this server and on
a reference with its etcd, in one run on one machine. Prints the ratios, and writes them with the
machine to `beside.json`, from which `bench.document` makes a table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from bench import customs, objects
from bench.measuring import Bench, Row, Work
from bench.reads import READS
from bench.report import number
from bench.setting_up import many
from bench.starts import start_fresh
from bench.targets import RATIOS
from bench.watches import watch
from bench.works import run
from bench.writes import APPLIES, WRITES

RESULTS = Path(__file__).with_name("beside.json")


def _list_many(name: str, query: str) -> Work:
    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        request = server.address.request("GET", many(server) + query)
        return bench.load(name, objects.constant(request), 1)

    return work


def _memory_after(bench: Bench) -> list[Row]:
    """The memory of the server that did all works before this one."""
    return [Row("memory-after", bench.server().resident_mb(), unit="MB")]


WORKS: dict[str, Work] = {
    "start-memory-fresh": start_fresh,
    **{name: READS[name] for name in ("get", "get-pod-proto", "list-pods")},
    "list-20000": _list_many("list-20000", ""),
    "list-20000-rv0": _list_many("list-20000-rv0", "?resourceVersion=0"),
    **WRITES,
    **APPLIES,
    "create-custom": customs.create,
    "apply-custom": customs.apply,
    "watch-100-one": watch("watch-100-one", 100, 1),
    "memory-after": _memory_after,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.beside", description=__doc__)
    add = parser.add_argument
    add("--reference", type=Path, required=True, help="a kube-apiserver; etcd is on the PATH")
    add("-k", nargs="+", default=[], metavar="WORD", help="only works whose name has one of these")
    add("--seconds", type=float, default=3.0, help="measured per work (default 3)")
    add("--connections", type=int, default=16, help="keep-alive connections (default 16)")
    add("--json", type=Path, default=RESULTS, help="where results go")
    return parser.parse_args()


def _pairs(ours: Bench, theirs: Bench, words: list[str]) -> Iterator[dict[str, Any]]:
    """Measure each work on both servers, and yield the figures by row."""
    for name, work in WORKS.items():
        if words and not any(word in name for word in words):
            continue
        print(f"bench: {name}", file=sys.stderr, flush=True)
        other = {row.name: row for row in run(theirs, name, work)}
        for row in run(ours, name, work):
            beside = other.get(row.name)
            error = row.error or ("not measured" if beside is None else beside.error)
            # Averages: garbage collections of the reference fall into some windows only.
            figures = (row.figure, beside.figure) if beside is not None and not error else (0, 0)
            yield {
                "name": row.name,
                "unit": row.unit,
                "ours": figures[0],
                "reference": figures[1],
                "ratio": (figures[0] or 0.0) / figures[1] if figures[1] else None,
                "limit": RATIOS.get(row.name),
                "error": error,
            }


def _processor() -> str:
    """Return the name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> int:
    """Measure both; return 1 if a work failed."""
    options = _arguments()
    version = subprocess.check_output([options.reference, "--version"], text=True).split()[-1]
    command = [sys.executable, "-m", "fairlead", "serve"]
    reference = [sys.executable, "-m", "bench.reference", str(options.reference)]
    load, rows = os.getloadavg()[0], []
    with ExitStack() as opened:
        ours = opened.enter_context(closing(Bench(command, options.seconds, options.connections)))
        theirs = opened.enter_context(
            closing(Bench(reference, options.seconds, options.connections))
        )
        for row in _pairs(ours, theirs, options.k):
            rows.append(row)
            unit, ratio, limit = row["unit"], row["ratio"], row["limit"]
            verdict = "" if not limit or not ratio else "ok" if ratio <= limit else "OVER"
            figures = f"{number(row['ours'], unit):>12} {number(row['reference'], unit):>12}"
            shown = row["error"] or f"{figures}  {ratio:.3f}  {number(limit)} {verdict}"
            print(f"{row['name']:26} {shown}", flush=True)
    document = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        "reference": version,
        "seconds": options.seconds,
        "load": load,
        "rows": rows,
    }
    options.json.write_text(json.dumps(document, indent=1) + "\n")
    return int(any(row["error"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
