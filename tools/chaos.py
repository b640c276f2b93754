"""Kills, stops and disconnects parts of servers under load, and checks that the answers are
linearizable and that watchers missed no event."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.chaos.fleets import FLAGS, Fleet, OnEtcd, Single, Workers
from support.chaos.rounds import play_round

SCENARIOS: dict[str, Callable[[Path], Fleet]] = {
    "single": Single,
    "workers": Workers,
    "etcd": OnEtcd,
    "etcd-workers": partial(OnEtcd, flags=(*FLAGS, "--workers=2")),
}
ROUND_SECONDS = 30.0


async def play(scenario: str, seconds: float, seed: int, keep: Path | None) -> int:
    """Play rounds on one fleet; return the number of problems."""
    directory = Path(tempfile.mkdtemp(prefix=f"fairlead-chaos-{scenario}-"))
    fleet = SCENARIOS[scenario](directory)
    deadline = time.monotonic() + seconds
    problems = 0
    try:
        await fleet.start()
        while (left := deadline - time.monotonic()) > 0:
            report = await play_round(fleet, seed, min(ROUND_SECONDS, max(left, 5.0)))
            print(f"{scenario}, {report.evidence if report.problems else report}", flush=True)
            problems += len(report.problems)
            if keep is not None and report.problems:
                (keep / f"{scenario}-{seed}.txt").write_text(report.history)
            seed += 1
    finally:
        await fleet.close()
        if keep is not None:
            shutil.copytree(directory, keep / scenario, dirs_exist_ok=True)
        shutil.rmtree(directory, ignore_errors=True)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="over all scenarios")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenario", choices=["all", *SCENARIOS], default="all")
    parser.add_argument("--keep", type=Path, help="where logs, data and histories of failures go")
    options = parser.parse_args()
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    chosen = list(SCENARIOS) if options.scenario == "all" else [options.scenario]
    if shutil.which("etcd") is None:
        print("there is no etcd command (Debian: etcd-server): its scenarios are left out")
        chosen = [name for name in chosen if "etcd" not in name]
    each = options.minutes * 60 / max(len(chosen), 1)
    problems = sum(asyncio.run(play(item, each, options.seed, options.keep)) for item in chosen)
    print(f"{problems} problems")
    return 1 if problems or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
