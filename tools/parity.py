"""Starts a server in each dialect, replays the recorded scenarios, and holds the committed floor.

`tools/parity.floor` has a line a dialect: its name and how many answers must be equal. A floor
only rises; half a percent of slack is left for timing.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNNER = HERE.parent.parent / "shared" / "parity" / "parity.py"
FLOOR = HERE / "parity.floor"
SLACK = 0.005

ADMIN = "parity-admin"
USERS = {
    "alice": ("alice", "dev"),
    "bob": ("bob", "ops,dev"),
    "node1": ("system:node:node1", "system:nodes"),
}
SERVER_FLAGS = (
    "--authorization-mode=Node,RBAC",
    "--enable-bootstrap-token-auth",
    "--enable-admission-plugins=NodeRestriction",
    "--service-cluster-ip-range=10.0.0.0/24",
)


def token_file(directory: Path) -> Path:
    lines = [f'{ADMIN},admin,uid-admin,"system:masters"']
    for name, (user, groups) in USERS.items():
        lines.append(f'parity-{name},{user},uid-{name},"{groups}"')
    path = directory / "tokens.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@contextmanager
def server(dialect: str) -> Iterator[str]:
    """A fresh server; gives its address."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        log = (directory / "log").open("wb")
        command = [sys.executable, "-m", "fairlead", "serve", "--dialect", dialect]
        command += ["--data-dir", str(directory / "data"), "--secure-port", "0"]
        command += ["--token-auth-file", str(token_file(directory)), *SERVER_FLAGS]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"https://\S+", line)
        if found is None:
            sys.exit(f"the server did not start: {(directory / 'log').read_text()}")
        try:
            yield found[0]
        finally:
            process.terminate()
            process.wait(30)


def check(dialect: str, files: list[str], words: str, quiet: bool) -> int:
    """How many answers are equal."""
    with server(dialect) as address:
        command = [sys.executable, str(RUNNER), "check", "--base", address, "--token", ADMIN]
        command += ["--dialect", dialect, "-k", words, *(["-q"] if quiet else [])]
        for name in USERS:
            command += ["--user", f"{name}=parity-{name}"]
        done = subprocess.run([*command, *files], stdout=subprocess.PIPE, text=True, check=False)
    print(f"{dialect}:", done.stdout if not quiet else done.stdout.strip().splitlines()[-1])
    equal = re.search(r"(\d+) of \d+ answers equal", done.stdout)
    return int(equal[1]) if equal else 0


def floors() -> dict[str, int]:
    rows = (line.split() for line in FLOOR.read_text().splitlines())
    return {name: int(count) for name, count in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", choices=("kubernetes", "cluster"), help="only this one")
    parser.add_argument("-k", default="", help="only scenarios whose name contains this")
    parser.add_argument("-v", action="store_true", help="print every difference")
    parser.add_argument("names", nargs="*", help="only these scenario files, e.g. crud")
    options = parser.parse_args()
    if not RUNNER.exists():
        print(f"parity: skipped, there is no {RUNNER}")
        return 0
    scenarios = RUNNER.parent / "scenarios"
    files = [str(path) for path in sorted(scenarios.glob("*.yaml"))]
    if options.names:
        files = [str(scenarios / f"{name}.yaml") for name in options.names]
    partial = bool(options.names or options.k)
    failed = False
    for dialect, floor in floors().items():
        if options.dialect in (None, dialect):
            equal = check(dialect, files, options.k, quiet=not options.v)
            if not partial and equal < floor * (1 - SLACK):
                print(f"parity: {dialect} has {equal} equal answers, the floor is {floor}")
                failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
