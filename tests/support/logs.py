"""Logs for tests of the store: in memory, and as bad as a disk can be."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from fairlead.storage.log import Record, StorageError


class MemoryLog:
    """Keeps records in a list. `failing` makes appends fail; `gate` can be cleared to hold them
    up; `batches` has the sizes of what was appended."""

    def __init__(self) -> None:
        self.kept: list[Record] = []
        self.compacted = 0
        self.failing = False
        self.failing_compactions = 0
        self.compactions = 0
        self.batches: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def open(self) -> int:
        return self.compacted

    def records(self) -> Iterator[Record]:
        return iter(list(self.kept))

    def append(self, records: list[Record]) -> None:
        self.entered.set()
        self.gate.wait(10)
        if self.failing:
            raise StorageError("the disk is full")
        self.kept += records
        self.batches.append(len(records))

    def compact(self, revision: int, superseded: Iterable[int]) -> None:
        if self.failing_compactions:
            self.failing_compactions -= 1
            raise StorageError("the disk is busy")
        gone = set(superseded)
        self.kept = [record for record in self.kept if record.revision not in gone]
        self.compacted = revision
        self.compactions += 1

    def size(self) -> int:
        return sum(len(record.value or b"") for record in self.kept)

    def close(self) -> None:
        pass


def thing(number: object = 0, **labels: str) -> dict[str, Any]:
    """An object in the form in which the store takes it."""
    metadata: dict[str, Any] = {"name": "n"}
    if labels:
        metadata["labels"] = labels
    return {"metadata": metadata, "data": {"n": str(number)}}
