"""Lets a day pass for a server in a few minutes, by its clock, and checks that it needs no more
memory, files, tasks and disk at the end than in the middle."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.soak import Sample, Soak, growth


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=24, help="of the server's clock")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        soak = Soak(Path(directory))
        began = time.monotonic()
        samples = asyncio.run(soak.play(options.hours))
    print(" ".join(f"{name:>10}" for name in Sample._fields))
    for sample in samples:
        print(" ".join(f"{value:>10}" for value in sample))
    problems = soak.problems + growth(samples)
    for problem in problems[:20]:
        print(problem, file=sys.stderr)
    seconds = time.monotonic() - began
    print(f"{options.hours} hours, {soak.requests} requests, {seconds:.0f} s")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
