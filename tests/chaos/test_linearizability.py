"""The linearizability checker: accepts exactly the histories of a register."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.linearizability import Violation, check, check_revisions
from support.operations import Operation, Outcome, Verb

SEEDS = range(40)
CLIENTS = 6
KEYS = 2


class Register:
    """One object with a resourceVersion, as a correct server keeps it."""

    def __init__(self, revisions: itertools.count[int]) -> None:
        self.value: str | None = None
        self.revision = 0
        self._revisions = revisions

    def apply(self, verb: Verb, value: str | None, expected: int | None) -> Outcome:
        if verb is Verb.CREATE:
            if self.value is not None:
                return Outcome.CONFLICT
        elif self.value is None:
            return Outcome.ABSENT
        elif expected is not None and expected != self.revision:
            return Outcome.CONFLICT
        if verb is not Verb.GET:
            self.value = None if verb is Verb.DELETE else value
            self.revision = next(self._revisions)
        return Outcome.DONE


def simulate(seed: int, count: int = 250, unsure: float = 0.05) -> list[Operation]:
    """Return a history of clients that wait for their answers. Each operation takes effect between
    its call and its return; some get no answer, and may take effect much later."""
    dice = random.Random(seed)
    revisions = itertools.count(1)
    registers = {f"key-{n}": Register(revisions) for n in range(KEYS)}
    free_at = [0.0] * CLIENTS
    reported: dict[str, list[int]] = {key: [-1] for key in registers}
    planned = []
    for number in range(count):
        client = min(range(CLIENTS), key=free_at.__getitem__)
        called = free_at[client] + dice.random()
        lost = dice.random() < unsure
        effect = called + dice.random() * (50 if lost else 1)
        free_at[client] = returned = effect + dice.random() if not lost else called + 1
        verb = dice.choices(list(Verb), weights=[2, 4, 3, 2, 1])[0]
        key = dice.choice(list(registers))
        planned.append((effect, called, returned, lost, client, verb, key, f"value-{number}"))
    history = []
    for _, called, returned, lost, client, verb, key, value in sorted(planned):
        guess = reported[key][-1] if dice.random() < 0.8 else dice.choice(reported[key])
        takes_one = verb is Verb.UPDATE or (verb is Verb.DELETE and dice.random() < 0.5)
        expected = guess if takes_one else None
        if lost and dice.random() < 0.5:
            outcome = Outcome.UNKNOWN  # and it never happens
        else:
            outcome = registers[key].apply(verb, value, expected)
        done = outcome is Outcome.DONE
        if done and not lost and verb is not Verb.DELETE:
            reported[key].append(registers[key].revision)
        output = registers[key].value if verb is Verb.GET and done else value
        operation = Operation(
            *(f"client-{client}", key, verb, called, returned, outcome),
            value=output if verb is not Verb.DELETE and (verb is not Verb.GET or done) else None,
            revision=registers[key].revision if done and verb is not Verb.DELETE else None,
            expected=expected,
        )
        if lost:
            operation = operation.unsure()
        if not lost or verb is not Verb.GET:
            history.append(operation)
    dice.shuffle(history)
    return history


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_register_answered_is_linearizable(seed: int) -> None:
    history = simulate(seed)
    assert not check(history)
    assert not check_revisions(history)


def test_many_lost_answers_are_no_reason_to_give_up() -> None:
    assert not check(simulate(1, count=600, unsure=0.4))


def done(verb: Verb, at: float, value: str | None = None, **facts: Any) -> Operation:
    return Operation("c", "key", verb, at, at + 0.5, Outcome.DONE, value, **facts)


def get(at: float, value: str | None, revision: int | None) -> Operation:
    if value is None:
        return replace(done(Verb.GET, at), outcome=Outcome.ABSENT)
    return done(Verb.GET, at, value, revision=revision)


CREATED = done(Verb.CREATE, 0, "a", revision=1)
UPDATED = done(Verb.UPDATE, 1, "b", revision=2, expected=1)


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param([get(2, "a", 1)], id="a stale read"),
        pytest.param([get(2, None, None)], id="a lost acknowledged write"),
        pytest.param(
            [done(Verb.UPDATE, 2, "c", revision=3, expected=1)], id="a swap over what was gone"
        ),
        pytest.param([done(Verb.DELETE, 2), get(3, "b", 2)], id="a resurrection"),
        pytest.param([get(2, "b", 2), get(3, "a", 1), get(4, "b", 2)], id="a step back between"),
        pytest.param([done(Verb.CREATE, 2, "c", revision=3)], id="created twice"),
        pytest.param([get(2, "d", 3)], id="a value that nobody wrote"),
        pytest.param([get(2, "b", 7)], id="another revision of the same write"),
        pytest.param([done(Verb.PATCH, 2, "c", revision=1)], id="a revision that was given before"),
        pytest.param(
            [replace(done(Verb.UPDATE, 2, "c", expected=2), outcome=Outcome.CONFLICT)],
            id="a conflict without a cause",
        ),
        pytest.param(
            [replace(done(Verb.PATCH, 2, "c"), outcome=Outcome.ABSENT)], id="missing while there"
        ),
        pytest.param(
            [done(Verb.PATCH, 2, "c").unsure(), get(3, "c", 3), get(4, "b", 2)],
            id="an unsure write that was seen and gone again",
        ),
    ],
)
def test_a_wrong_answer_is_found(rest: list[Operation]) -> None:
    assert check([CREATED, UPDATED, *rest])


def test_an_unsure_write_may_happen_late_or_never() -> None:
    late = replace(UPDATED, called=1, returned=math.inf, outcome=Outcome.UNKNOWN, revision=None)
    assert not check([CREATED, late, get(2, "a", 1), get(9, "b", 2)])
    assert not check([CREATED, late, get(2, "a", 1), get(9, "a", 1)])
    assert check([CREATED, late, get(2, "b", 2), get(9, "a", 1)])


def test_an_unsure_write_explains_a_conflict_and_its_deletion_an_absence() -> None:
    refused = replace(done(Verb.UPDATE, 2, "c", expected=1), outcome=Outcome.CONFLICT)
    assert check([CREATED, refused])
    assert not check([CREATED, done(Verb.PATCH, 1, "x").unsure(), refused])
    assert check([CREATED, get(2, None, None)])
    assert not check([CREATED, done(Verb.DELETE, 1).unsure(), get(2, None, None)])


def test_a_value_that_a_watcher_saw_was_written_by_then() -> None:
    unsure = done(Verb.PATCH, 1, "x").unsure()
    history = [CREATED, unsure, get(3, "a", 1)]
    assert not check(history)
    assert check(history, seen={"x": 2.0})


def test_the_report_names_the_shortest_window() -> None:
    noise = simulate(3, count=80, unsure=0)
    start = max(item.returned for item in noise) + 1
    moved = [
        replace(item, called=item.called + start, returned=item.returned + start)
        for item in (CREATED, UPDATED, get(2, "a", 1))
    ]
    earlier = [replace(item, key="key") for item in noise if item.key == "key-0"]
    gone = [done(Verb.DELETE, start - 0.6)] if final_value(earlier) else []
    shift = [raised(item) for item in moved]
    (result,) = check([*earlier, *gone, *shift, get(start + 9, "b", 1002)])
    assert list(result.window) == shift[1:] or list(result.window) == shift
    assert "get key a" in str(result)


def final_value(history: list[Operation]) -> bool:
    """Whether the object exists at the end: only one answer to a last get is right."""
    at = max(operation.returned for operation in history) + 0.01
    return bool(check([*history, get(at, None, None)] if history else []))


def raised(operation: Operation) -> Operation:
    """With revisions that nothing before has."""
    return replace(
        operation,
        revision=operation.revision + 1000 if operation.revision else None,
        expected=operation.expected + 1000 if operation.expected else None,
    )


def test_revisions_rise_over_all_keys_with_time() -> None:
    other = replace(UPDATED, key="other", revision=1)
    (result,) = check_revisions([CREATED, other])
    assert "went back" in str(result)
    overlapping = replace(other, called=CREATED.called)
    assert not check_revisions([CREATED, overlapping])


Mutation = Callable[[list[Operation], random.Random], bool]


def lost_write(history: list[Operation], dice: random.Random) -> bool:
    """An acknowledged write is lost: the value before it is read at the end."""
    writes = [
        operation
        for operation in history
        if operation.is_acknowledged and operation.verb is not Verb.DELETE
    ]
    last = max(writes, key=lambda item: item.revision or 0)
    if any(operation.outcome is Outcome.UNKNOWN for operation in history):
        return False
    before = [write for write in writes if write.key == last.key and write is not last]
    old = max(before, key=lambda item: item.revision or 0)
    end = max(operation.returned for operation in history) + 1
    history.append(replace(get(end, old.value, old.revision), key=last.key))
    return True


def stale_read(history: list[Operation], dice: random.Random) -> bool:
    """A get returns a value that was replaced before its call."""
    gets = [
        operation
        for operation in history
        if operation.verb is Verb.GET and operation.outcome is Outcome.DONE
    ]
    dice.shuffle(gets)
    for item in gets:
        older = [
            write
            for write in history
            if write.is_acknowledged and write.key == item.key and write.revision
            if write.revision < (item.revision or 0)
        ]
        replaced = [
            write
            for write in older
            if any(
                later.returned < item.called and (later.revision or 0) > (write.revision or 0)
                for later in older
            )
        ]
        if replaced:
            read = dice.choice(replaced)
            history[history.index(item)] = replace(item, value=read.value, revision=read.revision)
            return True
    return False


def forgotten_acknowledgement(history: list[Operation], dice: random.Random) -> bool:
    """An acknowledged write is followed by a creation, as if there was nothing."""
    end = max(operation.returned for operation in history) + 1
    newest = max(operation.revision or 0 for operation in history) + 1
    key = history[0].key
    for at in (end, end + 1):
        newest += 1
        operation = done(Verb.CREATE, at, f"again-{at}", revision=newest)
        history.append(replace(operation, key=key))
    return True


@pytest.mark.parametrize("mutate", [lost_write, stale_read, forgotten_acknowledgement])
@pytest.mark.parametrize("seed", range(15))
def test_a_mutated_history_is_rejected(mutate: Mutation, seed: int) -> None:
    history = simulate(seed, unsure=0.0)
    if not mutate(history, random.Random(seed)):
        pytest.skip("nothing to mutate in this one")
    result = check(history)
    assert result
    assert all(isinstance(item, Violation) and item.window for item in result)
