"""Replays the recorded scenarios in each dialect and release and checks the committed floors.

`tools/parity.floor` has a line for each: dialect, release and the number of answers that must be
equal. A floor only rises; half a percent of slack is left for timing. Every scenario file runs
against a fresh server, several at a time: most of the time is spent in timeouts. The scenarios are
in ../shared/parity, or in the directory that FAIRLEAD_PARITY names.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

HERE = Path(__file__).resolve().parent
PLACE = Path(os.environ.get("FAIRLEAD_PARITY") or HERE.parent.parent / "shared" / "parity")
RUNNER = PLACE / "parity.py"
FLOOR = HERE / "parity.floor"
SLACK = 0.005
AT_ONCE = 5  # scenario files
SIDE_BY_SIDE = 8  # scenarios of a file

ADMIN = "parity-admin"
USERS = {
    "alice": ("alice", "dev"),
    "bob": ("bob", "ops,dev"),
    "node1": ("system:node:node1", "system:nodes"),
}
SERVER_FLAGS = (
    "--authorization-mode=Node,RBAC",
    "--controllers=*,bootstrapsigner,tokencleaner",
    "--enable-bootstrap-token-auth",
    "--enable-admission-plugins=NodeRestriction",
    "--service-cluster-ip-range=10.0.0.0/24",
)
FIGURES = re.compile(
    r"(\d+) of (\d+) answers equal, (\d+) with the same status code, (\d+) of (\d+) scenarios whole"
)


class ParityError(Exception):
    """The scenarios could not be run."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of answers and of those that equal the recording."""

    equal: int = 0
    answers: int = 0
    same_status: int = 0
    whole: int = 0
    scenarios: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            self.equal + other.equal,
            self.answers + other.answers,
            self.same_status + other.same_status,
            self.whole + other.whole,
            self.scenarios + other.scenarios,
        )

    def __str__(self) -> str:
        return (
            f"{self.equal} of {self.answers} answers equal, {self.same_status} with the same"
            f" status code, {self.whole} of {self.scenarios} scenarios whole"
        )


def token_file(directory: Path) -> Path:
    lines = [f'{ADMIN},admin,uid-admin,"system:masters"']
    for name, (user, groups) in USERS.items():
        lines.append(f'parity-{name},{user},uid-{name},"{groups}"')
    path = directory / "tokens.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@dataclass(frozen=True, slots=True)
class Target:
    """A dialect and a release to check."""

    dialect: str
    release: str

    def __str__(self) -> str:
        return f"{self.dialect} {self.release}"

    @property
    def scenarios(self) -> Path:
        """The directory of the release's recordings."""
        return PLACE / ("scenarios" if self.release == "1.25" else f"scenarios-{self.release}")


@contextmanager
def server(target: Target) -> Iterator[str]:
    """Run a fresh server; yields its address."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        command = [sys.executable, "-m", "fairlead", "serve"]
        command += ["--dialect", target.dialect, "--release", target.release]
        command += ["--data-dir", str(directory / "data"), "--secure-port", "0"]
        command += ["--token-auth-file", str(token_file(directory)), *SERVER_FLAGS]
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        try:
            match = re.search(r"https://\S+", process.stdout.readline())
            if match is None:
                raise ParityError(f"the server did not start: {(directory / 'log').read_text()}")
            yield match[0]
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
            process.stdout.close()


def check(target: Target, file: Path, words: str) -> tuple[Figures, str]:
    """Run one scenario file; return its figures and the printed differences."""
    with server(target) as address:
        command = [sys.executable, str(RUNNER), "check", "--base", address, "--token", ADMIN]
        command += ["--dialect", target.dialect, "-k", words, "-j", str(SIDE_BY_SIDE)]
        for name in USERS:
            command += ["--user", f"{name}=parity-{name}"]
        done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
    match = FIGURES.search(done.stdout)
    if match is None:
        raise ParityError(f"{file.stem}: {done.stderr or done.stdout}")
    return Figures(*map(int, match.groups())), done.stdout[: match.start()]


def check_all(target: Target, files: list[Path], words: str, verbose: bool) -> Figures:
    """Run all files, several at a time, and print a line for each."""
    total, started = Figures(), monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = [(file, pool.submit(check, target, file, words)) for file in files]
        for file, future in running:
            figures, differences = future.result()
            if verbose:
                print(differences, end="")
            print(f"  {target} {file.stem}: {figures}", flush=True)
            total += figures
    print(f"{target}: {total} ({monotonic() - started:.0f} s)", flush=True)
    return total


def floors() -> dict[Target, int]:
    rows = (line.split() for line in FLOOR.read_text().splitlines())
    return {Target(dialect, release): int(count) for dialect, release, count in rows}


def chosen_files(scenarios: Path, names: list[str]) -> list[Path]:
    """Return the scenario files, the longest first; raises ParityError if one is missing."""
    files = [scenarios / f"{name}.yaml" for name in names] or list(scenarios.glob("*.yaml"))
    missing = [str(path) for path in (RUNNER, *files) if not path.is_file()]
    if missing or not files:
        raise ParityError(f"there is no {', '.join(missing) or scenarios / '*.yaml'}")
    return sorted(files, key=lambda path: -path.read_text().count("until:"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", choices=("kubernetes", "cluster"), help="only this one")
    parser.add_argument("--release", choices=("1.25", "1.36"), help="only this one")
    parser.add_argument("-k", default="", help="only scenarios whose name contains this")
    parser.add_argument("-v", action="store_true", help="print every difference")
    parser.add_argument("names", nargs="*", help="only these scenario files, e.g. crud")
    options = parser.parse_args()
    failed = False
    try:
        for target, floor in floors().items():
            if options.dialect not in (None, target.dialect):
                continue
            if options.release not in (None, target.release):
                continue
            files = chosen_files(target.scenarios, options.names)
            total = check_all(target, files, options.k, options.v)
            partial = bool(options.names or options.k)
            if not partial and total.equal < floor * (1 - SLACK):
                print(f"parity: {target} has {total.equal} equal answers, the floor is {floor}")
                failed = True
    except ParityError as error:
        print(f"parity: {error}", file=sys.stderr)
        return 1
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
