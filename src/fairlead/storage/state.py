"""The state of a store: all collections at one revision, and the bounds on their history."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from fairlead.storage.collection import Collection
from fairlead.storage.metrics import HISTORY_BYTES
from fairlead.storage.version import Change

# Base of placeholder revisions where other processes write too; above any real revision.
PLACEHOLDER_REVISION: Final = 1 << 62


class State:
    """All collections at one revision. `predicts_revisions` as in `Log`; `floor` is the oldest
    revision whose state can be read, from the log if not from memory."""

    def __init__(self, history: History, *, predicts_revisions: bool) -> None:
        self.history = history
        self.predicts_revisions = predicts_revisions
        self.collections: dict[str, Collection] = {}
        self.revision = 0
        self.floor = 0
        self._next_revision = 1

    def collection(self, resource: str) -> Collection:
        collection = self.collections.get(resource)
        if collection is None:
            collection = self.collections[resource] = Collection(resource, self.history.floor)
        return collection

    def begin(self, revision: int, floor: int) -> None:
        """Start from a loaded state."""
        self.revision, self.floor = revision, floor
        self._next_revision = revision + 1 if self.predicts_revisions else PLACEHOLDER_REVISION

    @property
    def next_revision(self) -> int:
        """The predicted revision of the next write. If the log predicts revisions, all pending
        writes have lower ones."""
        return self._next_revision if self.predicts_revisions else self.revision + 1

    def predict_revision(self) -> int:
        """Return the predicted revision of a write that goes to the log now."""
        revision = self._next_revision
        self._next_revision = revision + 1
        return revision

    def advance_prediction(self) -> None:
        """Raise the next prediction above the committed revision."""
        if self._next_revision <= self.revision:
            self._next_revision = self.revision + 1

    def reset_prediction(self) -> None:
        """Reuse the revisions predicted for writes that failed."""
        if self.predicts_revisions:
            self._next_revision = self.revision + 1

    def forget_in_memory(self, floor: int) -> None:
        """Drop the history up to a revision from memory; the log still has it."""
        self.history.floor = floor
        for collection in self.collections.values():
            collection.forget(floor)


# Limits of the retained history: age, bytes in memory and bytes on disk.

_CHANGE_BYTES: Final = 600  # bytes a change takes beside its bodies
_LONGEST_INTERVAL = 10.0
_KEPT_SHARE: Final = 63 / 64  # of the memory limit, after it was exceeded
_CHANGES_PER_STEP: Final = 1000


class History:
    """Accounts for the history's size and decides up to which revision it is dropped. `floor` is
    the oldest revision whose state can be read from memory."""

    def __init__(self, retention: float, max_memory: int, max_bytes: int) -> None:
        self._retention = retention
        self._max_memory = max_memory
        self._max_bytes = max_bytes
        self._costs: deque[tuple[int, int]] = deque()  # revision and bytes of changes in memory
        self._memory = 0
        self._reported = 0  # of `_memory`, in the metric
        self._written = 0  # bytes appended: an upper bound of the superseded bytes
        self._checkpoints: deque[tuple[float, int, int]] = (
            deque()
        )  # time, revision, `_written` then
        self._dropped_bytes = 0  # `_written` at the revision up to which history was dropped
        self.floor = 0

    @property
    def interval(self) -> float:
        """Seconds between two checks."""
        return max(min(self._retention / 10, _LONGEST_INTERVAL), 0.05)

    def begin(self, revision: int, superseded: int) -> None:
        """Start with the history of an earlier process: `superseded` bytes up to a revision."""
        self._written = max(superseded, 0)
        self._checkpoints.append((asyncio.get_running_loop().time(), revision, self._written))
        self.floor = revision

    def note(self, change: Change, written: int, *, framed: bool) -> None:
        """Account for a new change: it holds the previous version and, with watchers (`framed`),
        its encoded frame."""
        cost = _CHANGE_BYTES
        if change.before is not None and change.before.body is not None:
            cost += len(change.before.body)
        if framed:
            cost += written
        self._costs.append((change.revision, cost))
        self._memory += cost
        self._written += written + _CHANGE_BYTES // 4

    def close(self) -> None:
        """Remove this history from the metric."""
        HISTORY_BYTES.add(-self._reported)
        self._reported = 0

    def _report(self) -> None:
        """Add what has changed since the last report to the metric, the sum over all stores."""
        HISTORY_BYTES.add(self._memory - self._reported)
        self._reported = self._memory

    @property
    def is_too_large(self) -> bool:
        return self._memory > self._max_memory

    def shrink(self) -> int:
        """Return the revision up to which memory drops its history: enough that it does not happen
        on every commit, little enough that it does not block the event loop for long."""
        enough = self._max_memory * _KEPT_SHARE
        return self._drop(lambda: self._memory > enough)

    def _drop(self, must_drop: Callable[[], bool]) -> int:
        floor = self.floor
        while self._costs and must_drop():
            floor, cost = self._costs.popleft()
            self._memory -= cost
        self._report()
        return max(floor, self.floor)

    def compacted(self, floor: int) -> None:
        """Account for the removal of history up to a revision."""
        self._drop(lambda: self._costs[0][0] <= floor)

    def step_to(self, floor: int) -> int:
        """Return the next revision on the way to `floor`, at most 1,000 changes ahead."""
        if len(self._costs) <= _CHANGES_PER_STEP:
            return floor
        return min(self._costs[_CHANGES_PER_STEP][0], floor)

    def due(self, revision: int) -> int:
        """Return the revision up to which history may be dropped now, in memory and on disk."""
        now = asyncio.get_running_loop().time()
        checkpoints = self._checkpoints
        if not checkpoints or checkpoints[-1][1] != revision:
            checkpoints.append((now, revision, self._written))
        floor = 0
        while checkpoints and (
            checkpoints[0][0] <= now - self._retention
            or self._written - self._dropped_bytes > self._max_bytes
        ):
            _, floor, self._dropped_bytes = checkpoints.popleft()
        self._report()
        return floor
