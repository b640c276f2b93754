"""How much history is kept: by time, by bytes in memory and by bytes on disk."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from fairlead.storage.change import Change
from fairlead.storage.metrics import HISTORY_BYTES

_A_CHANGE = 600  # bytes that a change costs beside the bodies it holds
_LONGEST_INTERVAL = 10.0
_KEPT_SHARE = 63 / 64  # of the memory, when there was too much in it
_CHANGES_A_STEP = 1000


class History:
    """Counts what the history costs and says up to where it has to go. `floor` is the oldest
    revision whose state memory can tell."""

    def __init__(self, retention: float, most_memory: int, most_bytes: int) -> None:
        self._retention = retention
        self._most_memory = most_memory
        self._most_bytes = most_bytes
        self._costs: deque[tuple[int, int]] = deque()  # revision and bytes of changes in memory
        self._memory = 0
        self._written = 0  # bytes appended, of which at most this many are superseded
        self._marks: deque[tuple[float, int, int]] = deque()  # time, revision, written until then
        self._forgotten = 0  # written up to what is given up
        self.floor = 0

    @property
    def interval(self) -> float:
        """Seconds between two looks at it."""
        return max(min(self._retention / 10, _LONGEST_INTERVAL), 0.05)

    def begin(self, revision: int, superseded: int) -> None:
        """Start with what an earlier process left: so many bytes of history up to a revision."""
        self._written = max(superseded, 0)
        self._marks.append((asyncio.get_running_loop().time(), revision, self._written))
        self.floor = revision

    def note(self, change: Change, written: int, *, framed: bool) -> None:
        """A change was made and is kept: it holds the version before it and, if somebody watches,
        its encoded frame."""
        cost = _A_CHANGE
        if change.before is not None and change.before.body is not None:
            cost += len(change.before.body)
        if framed:
            cost += written
        self._costs.append((change.revision, cost))
        self._memory += cost
        self._written += written + _A_CHANGE // 4

    @property
    def is_too_large(self) -> bool:
        return self._memory > self._most_memory

    def shrink(self) -> int:
        """The revision up to which memory has to let go: enough that it does not have to every
        time, and not so much that others have to wait for it."""
        enough = self._most_memory * _KEPT_SHARE
        return self._drop(lambda: self._memory > enough)

    def _drop(self, goes_on: Callable[[], bool]) -> int:
        floor = self.floor
        while self._costs and goes_on():
            floor, cost = self._costs.popleft()
            self._memory -= cost
        HISTORY_BYTES.set(self._memory)
        return max(floor, self.floor)

    def compacted(self, floor: int) -> None:
        """Everything up to a revision is given up."""
        self._drop(lambda: self._costs[0][0] <= floor)

    def step_to(self, floor: int) -> int:
        """A revision on the way to one that is given up, as far as memory can let go at once."""
        if len(self._costs) <= _CHANGES_A_STEP:
            return floor
        return min(self._costs[_CHANGES_A_STEP][0], floor)

    def due(self, revision: int) -> int:
        """The revision up to which everything may go now, on disk too."""
        now = asyncio.get_running_loop().time()
        marks = self._marks
        if not marks or marks[-1][1] != revision:
            marks.append((now, revision, self._written))
        floor = 0
        while marks and (
            marks[0][0] <= now - self._retention
            or self._written - self._forgotten > self._most_bytes
        ):
            _, floor, self._forgotten = marks.popleft()
        HISTORY_BYTES.set(self._memory)
        return floor
