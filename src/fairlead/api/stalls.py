"""Detects when the event loop is blocked, and by which request.

A thread schedules a callback on the loop. If it does not run within 100 ms, the thread notes the
current task, waits for the end of the stall, then logs and counts it.
"""

from __future__ import annotations

import asyncio
import threading
import time

from fairlead.api.observer import InFlightRequests
from fairlead.base.logs import Logger
from fairlead.base.metrics import REGISTRY

logger = Logger("fairlead")

LONGEST = 0.1  # seconds that the loop may be held
# Seconds between probes, with and without requests in progress. A stall that begins right after a
# probe is measured too short by that much.
_PERIOD, _IDLE_PERIOD = 0.02, 0.05

STALLS = REGISTRY.counter(
    "fairlead_event_loop_stalls", "Stalls: a callback occupied the event loop for more than 100 ms."
)
STALL_SECONDS = REGISTRY.counter(
    "fairlead_event_loop_stall_seconds", "Total duration of these stalls."
)


class StallMonitor:
    """Monitors the running event loop from `start` until `stop`."""

    def __init__(self, requests: InFlightRequests) -> None:
        self._requests = requests
        self._alive = threading.Event()
        self._cpu = 0.0  # CPU time of the loop's thread at its last response
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="fairlead-stalls", daemon=True)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._cpu = time.thread_time()
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        try:
            while not self._stopped.wait(_PERIOD if self._requests else _IDLE_PERIOD):
                self._look()
        except RuntimeError:
            pass  # the loop was closed

    def _look(self) -> None:
        """Probe the loop, and report a stall if it responds late."""
        self._alive.clear()
        began, cpu = time.monotonic(), self._cpu
        self._loop.call_soon_threadsafe(self._sign)
        if self._alive.wait(LONGEST):
            return
        culprit = self._culprit()
        while not self._alive.wait(LONGEST):
            if self._stopped.is_set():
                return
        seconds = time.monotonic() - began
        self._loop.call_soon_threadsafe(self._report, culprit, seconds, self._cpu - cpu)

    def _sign(self) -> None:
        self._cpu = time.thread_time()
        self._alive.set()

    def _culprit(self) -> dict[str, object]:
        """The fields that describe what runs on the loop."""
        task = asyncio.current_task(self._loop)
        request = self._requests.of(task)
        if request is None:
            if task is None:
                return {"cause": "a callback"}
            return {"cause": "a task", "task": task.get_name()}
        user = getattr(request, "user", None)
        return {
            "cause": "a request",
            "method": request.method,
            "path": request.path,
            "user": user.name if user is not None else "",
            "audit_id": request.audited.id if request.audited is not None else "",
        }

    def _report(self, culprit: dict[str, object], seconds: float, cpu_seconds: float) -> None:
        STALLS.add()
        STALL_SECONDS.add(seconds)
        logger.warning(
            "the event loop was blocked",
            stall=round(seconds, 3),
            cpu_seconds=round(cpu_seconds, 3),
            **culprit,
        )
