"""Finds workers that hang: processes that are stopped, or whose event loop does not run, and those
that make no progress while they start.

A worker counts beats in the shared page while its loop runs, and before it is ready also while it
uses the CPU: loading a large store blocks its loop for long. The parent compares the counts once a
second; it counts its own checks, so that it does not suspect workers of a machine that slept.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import NamedTuple

from fairlead.storage.workers.page import Page, Slot

CHECK_EVERY = 1.0  # seconds
READY_CHECKS = 8  # a loop may be busy for seconds, and a machine overloaded
STARTING_CHECKS = 60  # a start may wait that long for a slow disk
BEAT_EVERY = 0.5  # seconds
_PROGRESS = 0.001  # seconds of CPU; above the error with which they are measured


class Running(NamedTuple):
    """The process of a worker."""

    pid: int
    is_ready: bool


class HangWatch:
    """The parent's view of the beats of its workers."""

    def __init__(self, page: Page) -> None:
        self._page = page
        # By worker: its process, its beats, and the number of checks since they changed.
        self._last: dict[int, tuple[Running, int, int]] = {}
        self.due = time.monotonic() + CHECK_EVERY

    def hanging(self, workers: Mapping[int, Running]) -> list[int]:
        """Return the workers that hang, each once; returns none before the check is `due`."""
        now = time.monotonic()
        if now < self.due:
            return []
        self.due = now + CHECK_EVERY
        self._last = {number: self._compared(number, worker) for number, worker in workers.items()}
        return [
            number
            for number, (worker, _, checks) in self._last.items()
            if checks == (READY_CHECKS if worker.is_ready else STARTING_CHECKS)
        ]

    def _compared(self, number: int, worker: Running) -> tuple[Running, int, int]:
        beats = self._page.slot(number).beats
        last_worker, last_beats, checks = self._last.get(number, (None, 0, 0))
        has_ended_beats = worker.is_ready and not beats
        is_silent = not has_ended_beats and (worker, beats) == (last_worker, last_beats)
        return worker, beats, checks + 1 if is_silent else 0


class StartBeats:
    """Counts beats in a thread while this process uses the CPU, from the start of a worker until it
    is ready. A process that is stopped, or waits for a disk, uses no CPU."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._ended = threading.Event()
        threading.Thread(target=self._beat, name="fairlead-start-beats", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def _beat(self) -> None:
        last = 0.0
        while not self._ended.wait(BEAT_EVERY):
            used = time.process_time() - time.thread_time()  # by all threads but this one
            if used - last > _PROGRESS:
                last = used
                self._slot.beat()
