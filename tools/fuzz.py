"""Sends random requests to servers in both dialects. Fails if an answer is a 500, a server ends, or
its memory grows."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.object_fuzzing import Fuzzer
from support.process import ServerProcess

DIALECTS = ("kubernetes", "cluster")
MAX_GROWTH_MB = 400


def fuzz(dialect: str, count: int, seed: int) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(Path(directory), dialect).start()
        try:
            client = server.client()
            before = server.resident_bytes()
            tally = Fuzzer(client, "fuzz", server.dialect, seed).run(count)
            grown = (server.resident_bytes() - before) // 2**20
            healthy = client.get("/readyz").status == 200
        finally:
            server.kill()
    listed = ", ".join(f"{code}: {number}" for code, number in sorted(tally.statuses.items()))
    print(f"{dialect}, seed {seed}: {listed}; memory +{grown} MB")
    failures = tally.failures
    if not healthy:
        failures.append("the server is not ready afterwards")
    if grown > MAX_GROWTH_MB:
        failures.append(f"the server grew by {grown} MB")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=65_000, help="requests in all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failures = [
        failure
        for dialect in DIALECTS
        for failure in fuzz(dialect, options.count // len(DIALECTS), options.seed)
    ]
    for failure in failures[:20]:
        print(failure, file=sys.stderr)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
