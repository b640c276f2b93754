"""`python -m bench.quick`: checks in about a minute that requests do not cost much more than
before.

The cost of each case is compared with `baseline.json`, which `--renew` writes. A case fails at 1.5
times its baseline; `bench.counting` describes what is counted, and why it varies little between
runs. Plain and compiled modules have separate baselines, and so have the two ways of counting.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from bench.client import Maker, Watcher, WorkFailedError, connections, drive
from bench.counting import Counter, counter
from bench.quick_cases import CASES
from bench.server import Server
from bench.setting_up import collection
from bench.watches import watch_request

BASELINE = Path(__file__).with_name("baseline.json")
MAX_RATIO = 1.5
WARM = 30
WATCHERS = 20


@contextmanager
def _watchers(server: Server, namespace: str) -> Iterator[list[Watcher]]:
    """Open watchers of the ConfigMaps of a namespace, none if it is empty."""
    with ExitStack() as opened:
        watchers: list[Watcher] = []
        for _ in range(WATCHERS if namespace else 0):
            watcher = Watcher(server.address)
            opened.callback(watcher.sock.close)
            watcher.open(watch_request(server, collection(server, namespace)))
            watchers.append(watcher)
        yield watchers


def _costs(counting: Counter, wanted: str) -> dict[str, float]:
    """Return the cost of a request of each case with `wanted` in its name: the least of the rounds,
    since noise only adds to it."""
    server = counting.server
    makers: dict[str, Maker] = {}
    cases = {name: case for name, case in CASES.items() if wanted in name}
    for name, case in cases.items():
        needed = WARM + case.number * counting.times * counting.rounds
        makers[name] = case.prepare(server, needed)
        with connections(server.address, 1) as opened:
            drive(opened, makers[name], count=WARM)
    counting.begin()
    costs: dict[str, float] = {}
    for name, case in cases.items():
        number = case.number * counting.times
        with (
            connections(server.address, 1) as opened,
            _watchers(server, case.watched) as watchers,
        ):

            def run(count: int = number) -> None:
                drive(opened, makers[name], count=count, watchers=watchers)  # noqa: B023

            result = min(counting.spent(run) for _ in range(counting.rounds))
        costs[name] = result / number
        print(f"quick: {name}: {costs[name]:,.0f} {counting.unit} a request", file=sys.stderr)
    return costs


def _compiled() -> bool:
    spec = importlib.util.find_spec("fairlead")
    places = spec.submodule_search_locations if spec is not None else None
    return any(any(Path(place).rglob("*.so")) for place in places or ())


def table(costs: dict[str, float], baseline: dict[str, float]) -> tuple[str, list[str]]:
    """Return the table of costs and baselines, and the failed cases."""
    lines, failed = [f"{'case':<22}{'now':>14}{'baseline':>14}{'times':>8}"], []
    for name, cost in costs.items():
        known = baseline.get(name)
        if known is None or cost > known * MAX_RATIO:
            failed.append(name)
        beside = f"{known:>14,.0f}{cost / known:>8.2f}" if known else f"{'none':>14}"
        lines.append(f"{name:<22}{cost:>14,.0f}{beside}")
    return "\n".join(lines), failed


def main() -> int:
    """Count and compare; return 1 if a case costs too much, 2 if it could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.quick", description=__doc__)
    parser.add_argument("--renew", action="store_true", help="write the baseline")
    parser.add_argument("--cpu", action="store_true", help="CPU time, also where valgrind is")
    parser.add_argument("-k", default="", metavar="TEXT", help="only cases with this in the name")
    options = parser.parse_args()
    os.environ["PYTHONHASHSEED"] = "0"  # for the server: a fixed order of sets
    with tempfile.TemporaryDirectory(prefix="fairlead-quick-") as directory:
        try:
            counting = counter(Path(directory), options.cpu)
            with closing(counting.server):
                costs = _costs(counting, options.k)
        except WorkFailedError as error:
            print(f"quick: {error}", file=sys.stderr)
            return 2
    kept: dict[str, Any] = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    key = f"{counting.unit}, {'compiled' if _compiled() else 'plain'}"
    if options.renew:
        known = kept.get(key, {}).get("a request", {}) if options.k else {}
        whole = {**known, **{name: round(cost) for name, cost in costs.items()}}
        kept[key] = {"python": platform.python_version(), "a request": whole}
        BASELINE.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        return 0
    text, failed = table(costs, kept.get(key, {}).get("a request", {}))
    print(f"{key}\n{text}")
    if failed:
        print(f"quick: over {MAX_RATIO} times the baseline, or not in it: {', '.join(failed)}")
        print("quick: where that is right, `make bench-baseline` and say why in the commit")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
