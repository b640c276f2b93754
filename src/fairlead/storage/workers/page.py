"""Shared memory of all workers of a server: the progress of the store and the load of each worker.

Every word has one writer. A word is eight aligned bytes, so reads and writes of it are atomic.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from time import monotonic_ns

_WORD = 8
# Frequently read words get a cache line of their own.
_REVISION, _FLOOR, _HEALTHY_UNTIL, _SEALS, _HEAD = 0, 1, 2, 3, 8
READING, WRITING, CONNECTIONS, _PID, _READY, _BEATS, _SLOT = 0, 1, 2, 3, 4, 5, 8
_ADDRESSES = 4096
_HEALTHY_NS = 5_000_000_000  # nanoseconds; an owner may be busy for long


class Page:
    """The shared memory, created before the workers are forked. Worker 0 writes the head, each
    worker its own slot."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        slots_end = _HEAD + workers * _SLOT
        self._memory = mmap.mmap(-1, slots_end * _WORD + workers * _ADDRESSES * 4)
        memory = memoryview(self._memory)
        self._words = memory[: slots_end * _WORD].cast("Q")
        self._columns = [self._words[_HEAD + kind :: _SLOT] for kind in range(_SLOT)]
        self._addresses = memory[slots_end * _WORD :].cast("I")

    @property
    def revision(self) -> int:
        """The newest revision that may have been acknowledged to any client."""
        return self._words[_REVISION]

    @property
    def floor(self) -> int:
        """The oldest revision whose state the owner of the log can read."""
        return self._words[_FLOOR]

    def set_revision(self, revision: int) -> None:
        """Set the revision, before it is acknowledged. Called by the owner."""
        self._words[_REVISION] = revision

    def set_floor(self, floor: int) -> None:
        """Called by the owner."""
        self._words[_FLOOR] = floor

    @property
    def seals(self) -> bool:
        """Whether the owner encrypts some values."""
        return bool(self._words[_SEALS])

    def set_encrypts(self, seals: bool) -> None:
        """Called by the owner."""
        self._words[_SEALS] = seals

    @property
    def healthy(self) -> bool:
        """Whether the owner has reported within the last 5 seconds that it can write."""
        return monotonic_ns() < self._words[_HEALTHY_UNTIL]

    def set_healthy(self, healthy: bool) -> None:
        """Report health. The owner calls it periodically, so a stalled owner counts as
        unhealthy."""
        self._words[_HEALTHY_UNTIL] = monotonic_ns() + _HEALTHY_NS if healthy else 0

    def slot(self, worker: int) -> Slot:
        start = _HEAD + worker * _SLOT
        addresses = self._addresses[worker * _ADDRESSES : (worker + 1) * _ADDRESSES]
        return Slot(self, self._words[start : start + _SLOT], addresses)

    def total(self, kind: int) -> int:
        """Return the sum over all workers of READING, WRITING, CONNECTIONS or COMING."""
        return sum(self._columns[kind])

    def connections_from(self, address: str) -> int:
        """Return the number of connections from a client address. Addresses share 4,096 counters,
        so collisions can make it too high."""
        return sum(self._addresses[_counter(address) :: _ADDRESSES])

    def loads(self) -> Iterator[int]:
        """Yield the connection count of each worker that accepts connections."""
        kinds = (_PID, _READY, CONNECTIONS)
        for pid, ready, count in zip(*(self._columns[kind] for kind in kinds), strict=True):
            if pid and ready:
                yield count


class Slot:
    """The counters of one worker; `counts` are its requests in progress, READING and WRITING."""

    def __init__(self, page: Page, words: memoryview, addresses: memoryview) -> None:
        self.page = page
        self._words = words
        self._addresses = addresses
        self.counts = words[: WRITING + 1]

    def clear(self) -> None:
        """Reset all counters after the worker has ended. Called by the parent."""
        for index in range(len(self._words)):
            self._words[index] = 0
        self._addresses[:] = memoryview(bytes(self._addresses.nbytes)).cast("I")

    def occupy(self, pid: int) -> None:
        """Register a started worker. Called by the parent."""
        self._words[_PID] = pid

    def set_ready(self, ready: bool) -> None:
        """Set whether the worker accepts connections."""
        self._words[_READY] = ready

    def beat(self) -> None:
        """Show that the worker's event loop runs."""
        self._words[_BEATS] += 1

    def end_beats(self) -> None:
        self._words[_BEATS] = 0

    @property
    def beats(self) -> int:
        """Return the beats so far; 0 before the first and after the last."""
        return self._words[_BEATS]

    @property
    def load(self) -> int:
        return self._words[CONNECTIONS]

    def count_connection(self, address: str, change: int) -> None:
        self._words[CONNECTIONS] += change
        self._addresses[_counter(address)] += change

    @property
    def connections(self) -> int:
        """Connections of all workers."""
        return self.page.total(CONNECTIONS)

    def connections_from(self, address: str) -> int:
        """Connections of all workers from an address."""
        return self.page.connections_from(address)


def _counter(address: str) -> int:
    """Return the counter of an address. All processes of one parent share the hash seed; clients do
    not know it, so they cannot force collisions."""
    return hash(address) % _ADDRESSES
