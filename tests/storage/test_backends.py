"""The contract of every backend; each one joins by its factory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.backends import OTHERS, THINGS, MemoryBackend, write

from fairlead.storage.backend import (
    Backend,
    Compacted,
    ConditionFailed,
    Conflict,
    Precondition,
    Row,
    Write,
)
from fairlead.storage.sqlite.backend import SqliteBackend

Factory = Callable[[Path], Backend]

FACTORIES: dict[str, Factory] = {
    "memory": lambda directory: MemoryBackend(),
    "sqlite": lambda directory: SqliteBackend(directory),
}


@pytest.fixture(params=FACTORIES)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    created = FACTORIES[request.param](tmp_path)
    created.open()
    assert list(created.heads()) == []
    yield created
    created.close()


def state(backend: Backend, revision: int, resource: str = THINGS) -> dict[str, int]:
    rows = backend.state(resource, revision, "", None, 0).rows
    return {row.key: row.revision for row in rows}


def compact(backend: Backend, floor: int) -> None:
    while backend.compact(floor):
        pass


def test_backend_gives_revisions_in_the_order_of_writes(backend: Backend) -> None:
    assert backend.append([write("a"), write("b")]) == [1, 2]
    assert backend.append([write("c")]) == [3]
    assert backend.revision == 3


def test_a_write_over_another_revision_than_the_expected_is_refused(backend: Backend) -> None:
    backend.append([write("a")])
    outcomes = backend.append(
        [write("a"), write("a", expected=7), write("b", expected=1), write("a", b"2", 1)]
    )
    assert [type(outcome) for outcome in outcomes] == [Conflict, Conflict, Conflict, int]
    assert state(backend, backend.revision) == {"a": 2}


def test_a_write_can_build_on_one_of_the_same_batch(backend: Backend) -> None:
    first = write("a", b"1")
    second = write("a", b"2", first)
    third = write("a", None, second)
    assert backend.append([first, second, third, write("a", b"4")]) == [1, 2, 3, 4]
    assert [row.value for row in backend.heads()] == [b"4"]


def test_backend_refuses_a_write_that_builds_on_a_refused_write(backend: Backend) -> None:
    backend.append([write("a")])
    refused = write("a", b"1", 9)
    outcomes = backend.append([refused, write("a", b"2", refused)])
    assert [type(outcome) for outcome in outcomes] == [Conflict, Conflict]


def test_a_deleted_key_can_be_used_again(backend: Backend) -> None:
    backend.append([write("a")])
    backend.append([write("a", None, 1)])
    assert isinstance(backend.append([write("a", None, 2)])[0], Conflict)
    assert backend.append([write("a", b"again")]) == [3]


def test_backend_keeps_equal_keys_of_two_resources_apart(backend: Backend) -> None:
    assert backend.append([write("a"), write("a", resource=OTHERS)]) == [1, 2]
    assert state(backend, 2) == {"a": 1}
    assert state(backend, 2, OTHERS) == {"a": 2}
    assert [step.row.revision for step in backend.changes(OTHERS, 0, 2)] == [2]


def test_a_precondition_that_another_key_exists(backend: Backend) -> None:
    needs = (Precondition(OTHERS, "ns"),)
    [refused] = backend.append([write("a", requires=needs)])
    assert isinstance(refused, ConditionFailed)
    assert refused.condition == needs[0]
    backend.append([write("ns", resource=OTHERS)])
    assert backend.append([write("a", requires=needs)]) == [2]
    backend.append([write("ns", None, 1, resource=OTHERS)])
    assert isinstance(backend.append([write("b", requires=needs)])[0], ConditionFailed)


def test_a_precondition_on_the_revision_of_another_key(backend: Backend) -> None:
    backend.append([write("quota", resource=OTHERS)])
    assert backend.append([write("a", requires=(Precondition(OTHERS, "quota", 1),))]) == [2]
    backend.append([write("quota", b"2", 1, resource=OTHERS)])
    outcomes = backend.append([write("b", requires=(Precondition(OTHERS, "quota", 1),))])
    assert isinstance(outcomes[0], ConditionFailed)


def test_a_precondition_sees_what_comes_before_it_in_the_batch(backend: Backend) -> None:
    needs = (Precondition(OTHERS, "ns"),)
    created = write("ns", resource=OTHERS)
    gone = write("ns", None, created, resource=OTHERS)
    outcomes = backend.append(
        [created, write("a", requires=needs), gone, write("b", requires=needs)]
    )
    assert outcomes[:3] == [1, 2, 3]
    assert isinstance(outcomes[3], ConditionFailed)


def test_backend_changes_have_the_value_before_and_after(backend: Backend) -> None:
    backend.append([write("a", b"1"), write("b", b"2")])
    backend.append([write("a", b"3", 1)])
    backend.append([write("a", None, 3)])
    backend.append([write("a", b"5")])
    steps = backend.changes(THINGS, 1, 5)
    assert [
        (step.row.revision, step.row.key, step.before and step.before.value, step.row.value)
        for step in steps
    ] == [(2, "b", None, b"2"), (3, "a", b"1", b"3"), (4, "a", b"3", None), (5, "a", None, b"5")]
    assert [step.row.revision for step in backend.changes(THINGS, 1, 3)] == [2, 3]
    assert backend.changes(THINGS, 5, 5) == []


def test_backend_changes_come_in_pieces_that_make_up_all(backend: Backend) -> None:
    backend.append([write(f"k{n}", b"x" * 20_000) for n in range(1200)])
    numbers: list[int] = []
    sizes: list[int] = []
    while steps := backend.changes(THINGS, numbers[-1] if numbers else 0, 1200):
        numbers += [step.row.revision for step in steps]
        sizes.append(len(steps))
    assert numbers == list(range(1, 1201))
    assert max(sizes) < 600


def test_backend_has_the_state_at_every_revision(backend: Backend) -> None:
    backend.append([write("a"), write("b")])
    backend.append([write("a", b"3", 1)])
    backend.append([write("b", None, 2)])
    backend.append([write("b")])
    assert [state(backend, revision) for revision in range(6)] == [
        {},
        {"a": 1},
        {"a": 1, "b": 2},
        {"a": 3, "b": 2},
        {"a": 3},
        {"a": 3, "b": 5},
    ]


def test_a_state_is_read_in_parts(backend: Backend) -> None:
    backend.append([write(f"ns/{name}") for name in "edcba"] + [write("nt/a"), write("m/a")])
    rows, more = backend.state(THINGS, 7, "ns/", "ns0", 2)
    assert ([row.key for row in rows], more) == (["ns/a", "ns/b"], 3)
    rows, more = backend.state(THINGS, 7, "ns/b", "ns0", 0)
    assert ([row.key for row in rows], more) == (["ns/c", "ns/d", "ns/e"], 0)
    assert backend.state(THINGS, 7, "ns/e", "ns0", 0) == ([], 0)


def test_compaction_keeps_the_state_at_the_floor_and_what_came_after(backend: Backend) -> None:
    backend.append([write("a"), write("b")])
    backend.append([write("a", b"3", 1)])
    backend.append([write("b", None, 2)])
    backend.append([write("a", b"5", 3)])
    compact(backend, 4)
    assert backend.floor == 4
    assert state(backend, 4) == {"a": 3}
    assert state(backend, 5) == {"a": 5}
    [step] = backend.changes(THINGS, 4, 5)
    assert step.before is not None
    assert step.before.value == b"3"
    for call in (lambda: backend.changes(THINGS, 3, 5), lambda: state(backend, 3)):
        with pytest.raises(Compacted):
            call()


def test_compaction_leaves_nothing_of_what_was_deleted(backend: Backend) -> None:
    backend.append([write(f"k{n}", b"x" * 1000) for n in range(2000)])
    backend.append([write(f"k{n}", None, n + 1) for n in range(2000)])
    compact(backend, 4000)
    assert list(backend.heads()) == []
    assert state(backend, 4000) == {}
    assert backend.append([write("a")]) == [4001]


def test_backend_rows_say_what_was_written(backend: Backend) -> None:
    value = bytes(range(256))
    backend.append([Write(OTHERS, "ns/é☃", "example.com/v1", value, 0)])
    assert list(backend.heads()) == [Row(1, OTHERS, "ns/é☃", 0, "example.com/v1", value)]


def test_backend_that_was_probed_and_recovered_takes_further_writes(backend: Backend) -> None:
    backend.append([write("a")])
    backend.probe()
    backend.recover()
    backend.check()
    assert backend.append([write("a", b"2", 1), write("new", resource="core/new")]) == [2, 3]
    assert state(backend, 3) == {"a": 2}


def test_backend_steps_of_all_resources_come_in_the_order_of_revisions(backend: Backend) -> None:
    backend.append([write("a"), write("b", resource=OTHERS)])
    backend.append([write("a", None, 1), write("c")])
    pairs: list[Row] = []
    while rows := backend.feed(pairs[-1].revision if pairs else 1, 4):
        pairs += rows
    assert [(row.revision, row.resource, row.key) for row in pairs] == [
        (2, OTHERS, "b"),
        (3, THINGS, "a"),
        (4, THINGS, "c"),
    ]
    assert pairs[1].value is None
    compact(backend, 3)
    with pytest.raises(Compacted):
        backend.feed(2, 4)
