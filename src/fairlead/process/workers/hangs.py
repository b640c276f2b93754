"""Finds workers that hang: processes that are stopped, or whose event loop does not run.

A worker counts beats in the shared page while its loop runs. The parent compares the counts once a
second; it counts its own looks, so that it does not suspect workers of a machine that slept.
"""

from __future__ import annotations

import time

from fairlead.storage.workers.page import Page

LOOK_EVERY = 1.0  # seconds
_SILENT_LOOKS = 8  # a loop may be busy for seconds, and a machine overloaded


class HangWatch:
    """What the parent knows of the beats of its workers."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._last: dict[int, tuple[int, int, int]] = {}  # worker -> pid, beats, silent looks
        self.due = time.monotonic() + LOOK_EVERY

    def look(self, pids: dict[int, int]) -> list[int]:
        """Return those of these workers, given with their pids, that hang; does nothing before it
        is `due`."""
        now = time.monotonic()
        if now < self.due:
            return []
        self.due = now + LOOK_EVERY
        self._last = {worker: self._compared(worker, pid) for worker, pid in pids.items()}
        return [worker for worker, (_, _, looks) in self._last.items() if looks == _SILENT_LOOKS]

    def _compared(self, worker: int, pid: int) -> tuple[int, int, int]:
        beats = self._page.slot(worker).beats
        last_pid, last_beats, looks = self._last.get(worker, (0, 0, 0))
        is_silent = beats > 0 and (pid, beats) == (last_pid, last_beats)
        return pid, beats, looks + 1 if is_silent else 0
