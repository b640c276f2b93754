"""Backends for tests of the store: in memory, and with the faults of a bad disk."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from fairlead.storage.backend import (
    Compacted,
    ConditionFailed,
    Conflict,
    Fault,
    Outcome,
    Precondition,
    Row,
    Slice,
    Step,
    StorageError,
    Write,
)

THINGS, OTHERS = "core/things", "example.com/things"
FULL = StorageError("the disk is full", Fault.PASSING)


class MemoryBackend:
    """Keeps rows in a list. If set, `failure` is raised by appends and probes; clearing `gate`
    blocks appends; `batches` has the sizes of all appends."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.revision = 0
        self.floor = 0
        self.failure: BaseException | None = None
        self.fail_once: BaseException | None = None  # raised by the next append
        self.unsound: BaseException | None = None  # raised by `recover`
        self.damage: BaseException | None = None  # raised by `check`
        self.failing_compactions = 0
        self.compactions = 0
        self.recoveries = 0
        self.probes = 0
        self.piece = 500
        self.batches: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def lock(self) -> None:
        pass

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def heads(self) -> Iterator[Row]:
        yield from self._state(self.revision)

    def _state(self, revision: int) -> list[Row]:
        newest: dict[tuple[str, str], Row] = {}
        for row in self.rows:
            if row.revision <= revision:
                newest[(row.resource, row.key)] = row
        return [row for row in newest.values() if row.value is not None]

    def append(self, writes: Sequence[Write]) -> list[Outcome]:
        self.entered.set()
        self.gate.wait(10)
        if self.fail_once is not None:
            error, self.fail_once = self.fail_once, None
            raise error
        if self.failure is not None:
            raise self.failure
        outcomes: list[Outcome] = []
        for write in writes:
            live = {(row.resource, row.key): row.revision for row in self._state(self.revision)}
            current = live.get((write.resource, write.key), 0)
            unmet = [
                require for require in write.requires if not require.holds(live.get(require[:2], 0))
            ]
            if write.expected_revision() != current:
                outcomes.append(Conflict(write.key))
            elif unmet:
                outcomes.append(ConditionFailed(unmet[0]))
            else:
                self.revision += 1
                write.revision = self.revision
                self.rows.append(
                    Row(
                        self.revision,
                        write.resource,
                        write.key,
                        current,
                        write.api_version,
                        write.value,
                    )
                )
                outcomes.append(self.revision)
        self.batches.append(len(writes))
        return outcomes

    def _check_kept(self, revision: int) -> None:
        if revision < self.floor:
            raise Compacted(revision)

    def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        self._check_kept(after)
        known = {row.revision: row for row in self.rows}
        pairs = [row for row in self.rows if after < row.revision <= upto]
        steps = [
            Step(row, known.get(row.previous))
            for row in pairs
            if resource in ("", row.resource) and key in ("", row.key)
        ]
        return steps[: self.piece]

    def feed(self, after: int, upto: int) -> list[Row]:
        self._check_kept(after)
        return [row for row in self.rows if after < row.revision <= upto][: self.piece]

    def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        self._check_kept(revision)
        rows = sorted(
            (
                row
                for row in self._state(revision)
                if row.resource == resource
                and row.key > after
                and (below is None or row.key < below)
            ),
            key=lambda row: row.key,
        )
        taken = rows[: min(limit or self.piece, self.piece)]
        return Slice(taken, len(rows) - len(taken))

    def compact(self, floor: int) -> bool:
        if self.failing_compactions:
            self.failing_compactions -= 1
            raise FULL
        gone = {row.previous for row in self.rows if row.revision <= floor}
        gone |= {row.revision for row in self.rows if row.revision <= floor and row.value is None}
        self.rows = [row for row in self.rows if row.revision not in gone]
        self.floor = max(self.floor, floor)
        self.compactions += 1
        return False

    def probe(self) -> None:
        self.probes += 1
        if self.failure is not None:
            raise self.failure

    def recover(self) -> None:
        self.recoveries += 1
        if self.unsound is not None:
            raise self.unsound

    def check(self) -> None:
        if self.damage is not None:
            raise self.damage

    def stop_check(self) -> None:
        pass

    def size(self) -> int:
        return sum(len(row.value or b"") for row in self.rows)


def thing(number: object = 0, **labels: str) -> dict[str, Any]:
    """Return an object as the store accepts it."""
    metadata: dict[str, Any] = {"name": "n"}
    if labels:
        metadata["labels"] = labels
    return {"metadata": metadata, "data": {"n": str(number)}}


def write(
    key: str,
    value: bytes | None = b"{}",
    expected: int | Write = 0,
    requires: tuple[Precondition, ...] = (),
    resource: str = THINGS,
) -> Write:
    """Return a write, of THINGS unless another resource is given."""
    return Write(resource, key, "v1", value, expected, requires)
