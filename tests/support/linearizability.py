"""Checks that a history could have been produced by a single register per key.

Each key is checked alone: a history is linearizable exactly if each key's is. The checker searches
(Wing and Gong, with Lowe's memoization) for an order of the operations in which every answer is
correct and no operation precedes one that had returned when it was called. A write with an unknown
outcome may be placed anywhere after its call, or nowhere.

These shorten the search without changing its result: an operation that changes nothing and is
correct now is taken at once; unsure writes whose values were never seen are equivalent; and a key's
revisions rise in the order of its writes, which the API guarantees.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from support.operations import Operation, Outcome, Value, Verb

MAX_STEPS = 200_000
MAX_STEPS_NARROWING = 2_000  # a report that is not minimal is still useful
UNSEEN = "(a value that nobody saw)"


class Undecided(Exception):
    """The search was abandoned."""


class State(NamedTuple):
    value: Value
    highest: int  # the highest revision written so far


EMPTY = State(None, 0)


@dataclass(frozen=True, slots=True)
class Violation:
    key: str
    what: str
    window: Sequence[Operation] = ()

    def __str__(self) -> str:
        return "\n  ".join([f"{self.key}: {self.what}", *map(str, self.window)])


class Known:
    """The values seen in a key's history, with their revisions."""

    def __init__(self, history: Iterable[Operation]) -> None:
        self.revisions: dict[str, int] = {}
        self.values: dict[int, str] = {}
        self.problems: list[str] = []
        for operation in history:
            if operation.revision is not None and operation.value is not None:
                self._note(operation.value, operation.revision)

    def _note(self, value: str, revision: int) -> None:
        if self.revisions.setdefault(value, revision) != revision:
            self.problems.append(f"{value} has revisions {self.revisions[value]} and {revision}")
        if self.values.setdefault(revision, value) != value:
            self.problems.append(f"{revision} is of {self.values[revision]} and of {value}")

    def expects(self, operation: Operation, value: str) -> bool:
        return operation.expected is None or self.values.get(operation.expected) == value

    def written(self, operation: Operation) -> Value:
        """Return what a write leaves behind, as far as it was observed."""
        if operation.verb is Verb.DELETE or operation.value is None:
            return None
        return operation.value if operation.value in self.revisions else UNSEEN


def check(
    histories: Iterable[Operation],
    seen: Mapping[str, float] | None = None,
    max_steps: int = MAX_STEPS,
) -> list[Violation]:
    """Return the violations in a history of many keys. `seen` has the times at which others, such
    as watchers, saw values: they had been written by then. Raises Undecided, see `MAX_STEPS`."""
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for operation in histories:
        by_key[operation.key].append(operation)
    results = [check_key(key, history, seen or {}, max_steps) for key, history in by_key.items()]
    return [violation for violation in results if violation is not None]


def check_key(
    key: str,
    history: Sequence[Operation],
    seen: Mapping[str, float],
    max_steps: int = MAX_STEPS,
) -> Violation | None:
    """Return the shortest violation of linearizability in one key's history, if any."""
    history = [operation for operation in history if tells_something(operation)]
    known = Known(history)
    if known.problems:
        return Violation(key, "; ".join(known.problems))
    if Search(known, settle(history, seen), max_steps).succeeds():
        return None
    window = shortest_window(known, history, seen)
    return Violation(key, "no order explains these answers", window)


def tells_something(operation: Operation) -> bool:
    if operation.outcome is Outcome.UNKNOWN:
        return operation.writes
    return operation.outcome is not Outcome.REFUSED


class Settled(NamedTuple):
    """The operations whose answers must be explained, and the writes that may have happened."""

    sure: list[Operation]
    unsure: list[Operation]


def settle(
    history: Sequence[Operation], seen: Mapping[str, float], end: float = math.inf
) -> Settled:
    """Return what was known of a history at a time. A write with an unknown outcome whose value was
    seen had happened by then."""
    observed = {value: at for value, at in seen.items() if at <= end}
    for operation in history:
        if operation.verb is Verb.GET and operation.value is not None and operation.returned <= end:
            observed[operation.value] = min(
                operation.returned, observed.get(operation.value, math.inf)
            )
    settled = Settled([], [])
    for operation in history:
        if operation.outcome is not Outcome.UNKNOWN and operation.returned <= end:
            settled.sure.append(operation)
        elif operation.called > end or not operation.writes:
            continue
        elif operation.value in observed:
            happened = replace(operation, outcome=Outcome.DONE, returned=observed[operation.value])
            settled.sure.append(happened)
        else:
            settled.unsure.append(operation.unsure())
    return settled


def forget_before(settled: Settled, start: float) -> Settled:
    """Drop the answers of operations that returned before a time: their writes may have happened at
    any time since their call."""
    sure = [item for item in settled.sure if item.returned >= start]
    forgotten = [item for item in settled.sure if item.returned < start and item.is_acknowledged]
    return Settled(sure, [*settled.unsure, *forgotten])


def shortest_window(
    known: Known, history: Sequence[Operation], seen: Mapping[str, float]
) -> list[Operation]:
    """Return the operations up to the first that cannot be explained, from the last start without
    which they could be. Both ends are found by bisection, since a shorter history is never harder
    to explain."""

    def fails(settled: Settled) -> bool:
        try:
            return not Search(known, settled, MAX_STEPS_NARROWING).succeeds()
        except Undecided:
            return False

    ends = sorted({operation.returned for operation in history if operation.returned < math.inf})
    at = bisect_left(ends, True, key=lambda end: fails(settle(history, seen, end)))
    settled = settle(history, seen, ends[min(at, len(ends) - 1)])
    starts = sorted({item.called for item in settled.sure})
    # The first start from which everything can be explained: the one before is the last that fails.
    at = bisect_left(starts, True, key=lambda start: not fails(forget_before(settled, start)))
    kept = forget_before(settled, starts[max(at - 1, 0)])
    return sorted(kept.sure, key=lambda item: item.called)


class Search:
    """Searches for an order of one key's operations, depth first, without recursion."""

    def __init__(self, known: Known, settled: Settled, max_steps: int = MAX_STEPS) -> None:
        self._known = known
        self._max_steps = max_steps
        self._sure = sorted(settled.sure, key=lambda item: item.called)
        self._classes = self._alike(settled.unsure)
        self._all = (1 << len(self._sure)) - 1

    def _alike(self, unsure: list[Operation]) -> list[list[Operation]]:
        """Group equivalent unsure writes. Within a group, the first remaining one can stand for any
        other that was called."""
        classes: dict[object, list[Operation]] = defaultdict(list)
        for item in sorted(unsure, key=lambda item: item.called):
            classes[item.verb, item.expected, self._known.written(item)].append(item)
        return list(classes.values())

    def succeeds(self) -> bool:
        start = (0, (0,) * len(self._classes), EMPTY)
        tried = {start}
        stack = [self._following(*start)]
        steps = 0
        if not self._sure:
            return True
        while stack:
            config = next(stack[-1], None)
            if config is None:
                stack.pop()
                continue
            if config[0] == self._all:
                return True
            if config not in tried:
                tried.add(config)
                stack.append(self._following(*config))
                steps += 1
                if steps > self._max_steps:
                    raise Undecided(f"{len(self._sure)} operations, {steps} steps")
        return False

    def _following(
        self, done: int, used: tuple[int, ...], state: State
    ) -> Iterator[tuple[int, tuple[int, ...], State]]:
        """Yield the states that one more operation can reach."""
        candidates, bound = self._candidates(done)
        writes: list[tuple[int, State]] = []
        for at in candidates:
            operation = self._sure[at]
            following = self._apply(operation, state)
            if following is state:
                yield done | 1 << at, used, state
                return
            if following is not None:
                writes.append((done | 1 << at, following))
        for more, following in writes:
            yield more, used, following
        for number, group in enumerate(self._classes):
            count = used[number]
            if count < len(group) and group[count].called <= bound:
                unsure = self._apply(group[count], state)
                if unsure is not None:
                    yield done, (*used[:number], count + 1, *used[number + 1 :]), unsure

    def _candidates(self, done: int) -> tuple[list[int], float]:
        """Return the operations that could be next: called before any other remaining one
        returned."""
        open_: list[int] = []
        bound = math.inf
        at = (~done & (done + 1)).bit_length() - 1  # the lowest remaining one
        while at < len(self._sure):
            operation = self._sure[at]
            if operation.called > bound:
                break
            if not done >> at & 1:
                open_.append(at)
                bound = min(bound, operation.returned)
            at += 1
        return [at for at in open_ if self._sure[at].called <= bound], bound

    def _apply(self, operation: Operation, state: State) -> State | None:
        """Return the state after an operation with its outcome, None if that is impossible."""
        value, outcome = state.value, operation.outcome
        if outcome is Outcome.ABSENT:
            return state if value is None else None
        if operation.verb is Verb.GET:
            return state if value == operation.value else None
        if operation.verb is Verb.CREATE:
            possible = value is None
        else:
            possible = value is not None and self._known.expects(operation, value)
        if outcome is Outcome.CONFLICT:
            return state if value is not None and not possible else None
        return self._write(operation, state) if possible else None

    def _write(self, operation: Operation, state: State) -> State | None:
        written = self._known.written(operation)
        revision = operation.revision
        if revision is None and written is not None:
            revision = self._known.revisions.get(written)
        if revision is None:
            return State(written, state.highest)
        return State(written, revision) if revision > state.highest else None


def check_revisions(history: Iterable[Operation]) -> list[Violation]:
    """Over all keys: a write that began after another was acknowledged has a higher revision."""
    writes = [write for write in history if write.is_acknowledged and write.revision is not None]
    by_end = sorted(writes, key=lambda write: write.returned)
    violations: list[Violation] = []
    at = 0
    highest: Operation | None = None
    for write in sorted(writes, key=lambda write: write.called):
        while at < len(by_end) and by_end[at].returned < write.called:
            if highest is None or (by_end[at].revision or 0) > (highest.revision or 0):
                highest = by_end[at]
            at += 1
        if highest is not None and (write.revision or 0) <= (highest.revision or 0):
            violations.append(Violation(write.key, "the revision went back", (highest, write)))
    return violations
