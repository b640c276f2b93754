"""Memory that all workers of a server share: how far the store has come, and what each has open.

Every word has one writer. A word is eight aligned bytes, so that whoever reads one sees what was
written before or after, nothing in between.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from time import monotonic_ns

_WORD = 8
# What is read all the time has a line of the processor's cache for itself.
_REVISION, _FLOOR, _WELL_UNTIL, _SEALS, _HEAD = 0, 1, 2, 3, 8
READING, WRITING, CONNECTIONS, COMING, _PID, _READY, _SLOT = 0, 1, 2, 3, 4, 5, 8
_ADDRESSES = 4096
_WELL_FOR = 5_000_000_000  # nanoseconds: an owner may be busy for long


class Page:
    """Made before the workers are. Worker 0 writes the revision, each one its own slot."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        slots_end = _HEAD + workers * _SLOT
        self._memory = mmap.mmap(-1, slots_end * _WORD + workers * _ADDRESSES * 4)
        whole = memoryview(self._memory)
        self._words = whole[: slots_end * _WORD].cast("Q")
        self._columns = [self._words[_HEAD + kind :: _SLOT] for kind in range(_SLOT)]
        self._addresses = whole[slots_end * _WORD :].cast("I")

    @property
    def revision(self) -> int:
        """The newest revision that anybody may have been told of."""
        return self._words[_REVISION]

    @property
    def floor(self) -> int:
        """The oldest revision whose state the owner of the log can tell."""
        return self._words[_FLOOR]

    def reach(self, revision: int) -> None:
        """For the owner, before it tells anybody of the revision."""
        self._words[_REVISION] = revision

    def set_floor(self, floor: int) -> None:
        """For the owner."""
        self._words[_FLOOR] = floor

    @property
    def seals(self) -> bool:
        """Whether the owner keeps some values under keys."""
        return bool(self._words[_SEALS])

    def say_seals(self, seals: bool) -> None:
        """For the owner."""
        self._words[_SEALS] = seals

    @property
    def healthy(self) -> bool:
        """Whether the owner has said of late that it can write."""
        return monotonic_ns() < self._words[_WELL_UNTIL]

    def set_healthy(self, healthy: bool) -> None:
        """For the owner, again and again: one that says nothing any more stands still."""
        self._words[_WELL_UNTIL] = monotonic_ns() + _WELL_FOR if healthy else 0

    def slot(self, worker: int) -> Slot:
        start = _HEAD + worker * _SLOT
        addresses = self._addresses[worker * _ADDRESSES : (worker + 1) * _ADDRESSES]
        return Slot(self, self._words[start : start + _SLOT], addresses)

    def total(self, kind: int) -> int:
        """The sum over all workers of READING, WRITING, CONNECTIONS or COMING."""
        return sum(self._columns[kind])

    def of_address(self, address: str) -> int:
        """How many connections there are of a client's address; more if another one falls into
        the same place, of which there are many."""
        return sum(self._addresses[_place(address) :: _ADDRESSES])

    def loads(self) -> Iterator[int]:
        """The connections of each worker that takes some."""
        for pid, ready, count, coming in zip(
            *(self._columns[kind] for kind in (_PID, _READY, CONNECTIONS, COMING)), strict=True
        ):
            if pid and ready:
                yield count + coming


class Slot:
    """What one worker counts; `counts` are its requests under way, READING and WRITING."""

    def __init__(self, page: Page, words: memoryview, addresses: memoryview) -> None:
        self.page = page
        self._words = words
        self._addresses = addresses
        self.counts = words[: WRITING + 1]

    def clear(self) -> None:
        """For the parent: the worker has ended, and with it what it had under way."""
        for place in range(len(self._words)):
            self._words[place] = 0
        self._addresses[:] = memoryview(bytes(self._addresses.nbytes)).cast("I")

    def occupy(self, pid: int) -> None:
        """For the parent: there is a worker."""
        self._words[_PID] = pid

    def set_ready(self, ready: bool) -> None:
        """Whether it takes connections."""
        self._words[_READY] = ready

    @property
    def load(self) -> int:
        return self._words[CONNECTIONS] + self._words[COMING]

    def expect(self, by: int) -> None:
        """Connections that were accepted and are not counted otherwise yet."""
        self._words[COMING] += by

    def connected(self, address: str, by: int) -> None:
        self._words[CONNECTIONS] += by
        self._addresses[_place(address)] += by

    @property
    def connections(self) -> int:
        """Of all workers."""
        return self.page.total(CONNECTIONS)

    def of_address(self, address: str) -> int:
        """Of all workers."""
        return self.page.of_address(address)


def _place(address: str) -> int:
    """The processes of one parent have the hash's secret in common, clients do not know it."""
    return hash(address) % _ADDRESSES
