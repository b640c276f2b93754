"""`python -m bench`: measure the server and print a table."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from bench.client import WorkFailedError
from bench.etcd import Etcd
from bench.measuring import Bench, Row
from bench.report import previous_figures, table, write
from bench.targets import ON_ETCD, WITH_WORKERS
from bench.works import run, works


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure the server: rate, latency and server CPU time per request.",
        epilog="Works: " + ", ".join(works([100, 1000])) + ".",
    )
    add = parser.add_argument
    add("-k", nargs="+", default=[], metavar="WORD", help="only works whose name has one of these")
    add("--seconds", type=float, default=3.0, help="measured per work (default 3)")
    add("--connections", type=int, default=16, help="keep-alive connections (default 16)")
    add("--watchers", type=int, nargs="+", default=[100, 1000], help="default: 100 1000")
    add("--storage", choices=("sqlite", "etcd"), default="sqlite", help="under the server")
    add("--workers", type=int, default=1, help="processes of the server (default 1)")
    add("--server-args", default="", help="more flags for the server: --server-args='--a=1 --b'")
    add("--server-command", default="", help="instead of `python -m fairlead serve`")
    add("--profile", type=Path, help="py-spy of the measured window (.svg, .json, else raw)")
    add("--json", type=Path, default=Path("bench/results.json"), help="where results go")
    add("--compare", type=Path, help="an earlier JSON file to print beside")
    return parser.parse_args()


def main() -> int:
    """Run the selected workloads; return 1 if one failed."""
    options = _arguments()
    previous = previous_figures(options.compare) if options.compare else None
    chosen = {
        name: work
        for name, work in works(options.watchers).items()
        if not options.k or any(word in name for word in options.k)
    }
    if not chosen:
        print("bench: no work has such a name", file=sys.stderr)
        return 2
    command = shlex.split(options.server_command) or [sys.executable, "-m", "fairlead", "serve"]
    command += shlex.split(options.server_args)
    plain = Bench(command, options.seconds, options.connections)
    if options.workers > 1:
        command = [*command, f"--workers={options.workers}"]
    bench = replace(plain, command=command, profile=options.profile, profile_each=len(chosen) > 1)
    if options.storage == "etcd":
        bench.plain, bench.factors = plain, ON_ETCD
    elif options.workers > 1:
        bench.plain, bench.factors = plain, WITH_WORKERS
    rows: list[Row] = []
    load = os.getloadavg()[0]
    try:
        bench.etcd = Etcd() if options.storage == "etcd" else None
        for name, work in chosen.items():
            print(f"bench: {name}", file=sys.stderr, flush=True)
            rows += run(bench, name, work)
    except WorkFailedError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    finally:
        bench.close()
        if bench.etcd is not None:
            bench.etcd.close()
    settings: dict[str, object] = {
        "seconds": options.seconds,
        "connections": options.connections,
        "command": command,
    }
    settings |= {"storage": options.storage, "load": load, "turn": bench.pace.minimum * 1e9}
    write(options.json, rows, settings)
    print(table(rows, previous))
    return 1 if any(row.error for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
