"""Searches for inputs that block the event loop or fill the memory of a server.

Each round picks a family of cases, mutates the numbers of its worst known case or draws new ones,
and measures. A case that exceeds a limit three times in a row is a finding; its numbers are then
minimized.
"""

from __future__ import annotations

import argparse
import http.client
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.attacks.families import FAMILIES, Numbers
from support.attacks.target import Damage, Target

DIALECTS = ("kubernetes", "cluster")
_TRIES = 3
_FRESH = 0.3  # share of rounds that draw new numbers
_ROUNDS_A_SERVER = 150  # then restart: the objects of setups accumulate


class Search:
    """Tracks the worst numbers of each family, and the findings."""

    def __init__(self, dialect: str, seed: int, names: list[str]) -> None:
        self.dialect = dialect
        self.findings: list[str] = []
        self.worst: dict[str, tuple[float, Numbers]] = {}
        self.refused: Counter[str] = Counter()  # cases that could not be set up
        self._random = random.Random(seed)
        self._names = names
        self._found: set[str] = set()
        self._directory = tempfile.TemporaryDirectory()
        self._servers = 0
        self._target = self._start()

    def _start(self) -> Target:
        self._servers += 1
        directory = Path(self._directory.name) / str(self._servers)
        directory.mkdir()
        return Target(directory, self.dialect)

    def close(self) -> None:
        self._target.close()
        self._directory.cleanup()

    def run(self, seconds: float) -> int:
        """Search for so many seconds; return the number of rounds."""
        until, rounds = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            name = self._names[rounds % len(self._names)]
            self._round(name)
            rounds += 1
            if rounds % _ROUNDS_A_SERVER == 0:
                self._restart()
        return rounds

    def _restart(self) -> None:
        self._target.close()
        self._target = self._start()

    def _round(self, name: str) -> None:
        numbers = self._numbers(name)
        damage = self._measured(name, numbers)
        if damage is None:
            return
        if damage.score > self.worst.get(name, (-1.0, {}))[0]:
            self.worst[name] = damage.score, numbers
        if damage.score > 1 and name not in self._found and self._confirmed(name, numbers):
            self._found.add(name)
            numbers = self._smallest(name, numbers)
            damage = self._measured(name, numbers) or damage
            self.findings.append(f"{self.dialect} {name} {numbers}: {damage}")
            print(f"FOUND {self.findings[-1]}", flush=True)

    def _numbers(self, name: str) -> Numbers:
        ranges = FAMILIES[name].ranges
        known = self.worst.get(name)
        if known is None or self._random.random() < _FRESH:
            return {range_: self._any(*ranges[range_]) for range_ in ranges}
        numbers = dict(known[1])
        changed = self._random.choice(list(ranges))
        low, high = ranges[changed]
        factor = self._random.choice((0.5, 0.8, 1.25, 2, 4))
        moved = numbers[changed] + self._random.choice((-1, 1)) if high < 20 else 0
        numbers[changed] = min(max(moved or int(numbers[changed] * factor), low), high)
        return numbers

    def _any(self, low: int, high: int) -> int:
        """Draw a number with a logarithmic distribution."""
        if high < 20:
            return self._random.randint(low, high)
        return int(max(low, 1) * (high / max(low, 1)) ** self._random.random())

    def _measured(self, name: str, numbers: Numbers) -> Damage | None:
        """Measure a case; None if it cannot be set up, e.g. because a definition is refused."""
        case = FAMILIES[name].build(self._target.dialect, numbers)
        try:
            damage = self._target.measure(case)
        except AssertionError:
            self.refused[name] += 1
            return None
        except (OSError, http.client.HTTPException) as error:
            if self._target.is_alive:
                self._restart()
                return None
            self.findings.append(f"{self.dialect} {name} {numbers}: the server ended ({error})")
            self._restart()
            return None
        if any(status >= 500 and status != 504 for status in damage.answers):
            self.findings.append(f"{self.dialect} {name} {numbers}: answered by a 500")
        return damage

    def _confirmed(self, name: str, numbers: Numbers) -> bool:
        """Whether the case exceeds a limit on fresh servers, too: caches can hide its cost."""
        for _ in range(_TRIES):
            self._restart()
            damage = self._measured(name, numbers)
            if damage is None or damage.score <= 1:
                return False
        return True

    def _smallest(self, name: str, numbers: Numbers) -> Numbers:
        """Halve each number as long as the case still exceeds a limit."""
        for item, (low, high) in FAMILIES[name].ranges.items():
            while high >= 20 and numbers[item] // 2 >= low:
                smaller = {**numbers, item: numbers[item] // 2}
                if not self._confirmed(name, smaller):
                    break
                numbers = smaller
        return numbers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for both dialects together")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    options = parser.parse_args()
    names = options.family or list(FAMILIES)
    print(f"seed {options.seed}, {len(names)} families")
    findings: list[str] = []
    with ExitStack() as stack:
        for dialect in DIALECTS:
            search = Search(dialect, options.seed, names)
            stack.callback(search.close)
            rounds = search.run(options.seconds / len(DIALECTS))
            print(f"{dialect}: {rounds} rounds; the worst of each family, 1 is allowed:")
            for name, (score, numbers) in sorted(
                search.worst.items(), key=lambda item: -item[1][0]
            ):
                print(f"  {score:5.2f}  {name} {numbers}")
            print(f"  not set up: {dict(search.refused)}")
            findings += search.findings
    print(f"{len(findings)} findings")
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
