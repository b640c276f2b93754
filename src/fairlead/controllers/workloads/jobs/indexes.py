"""Sets of completion indexes, kept and written as runs: `1,3-5,7`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice

_SHORTEST_RANGE = 3  # shorter runs are written number by number
_MOST_DIGITS = 10


class Indexes:
    """A set of numbers from 0 on."""

    __slots__ = ("_runs",)

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        """Runs are pairs of a first and a last number, in any order."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(runs):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        self._runs = merged

    @classmethod
    def parse(cls, text: str, limit: int) -> Indexes:
        """Read the written form up to a limit; what cannot be read is left out."""
        found = (_run(part) for part in text.split(","))
        runs = ((run[0], min(run[1], limit - 1)) for run in found if run is not None)
        return cls((first, last) for first, last in runs if first <= last)

    def __str__(self) -> str:
        return ",".join(part for run in self._runs for part in _written(*run))

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._runs, number, key=lambda run: run[0])
        return at > 0 and number <= self._runs[at - 1][1]

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self._runs)

    def joined(self, numbers: Iterable[int]) -> Indexes:
        """The set with some more in it."""
        return Indexes([*self._runs, *((number, number) for number in numbers)])

    def first_missing(self, count: int, limit: int) -> list[int]:
        """The first numbers below a limit that are not in it, at most so many."""
        return list(islice(self._missing(limit), count))

    def _missing(self, limit: int) -> Iterator[int]:
        start = 0
        for first, last in self._runs:
            yield from range(start, min(first, limit))
            start = last + 1
        yield from range(start, limit)


def _run(text: str) -> tuple[int, int] | None:
    first, dash, last = text.partition("-")
    numbers = [first, last] if dash else [first, first]
    if not all(one.isascii() and one.isdigit() and len(one) <= _MOST_DIGITS for one in numbers):
        return None
    return int(numbers[0]), int(numbers[1])


def _written(first: int, last: int) -> Iterator[str]:
    if last - first + 1 >= _SHORTEST_RANGE:
        yield f"{first}-{last}"
    else:
        yield from map(str, range(first, last + 1))
