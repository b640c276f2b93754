"""The checkers find faults: each round runs on a server with a planted fault."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.chaos.fleets import FLAGS, Fleet, Single, Workers
from support.chaos.planted import prelude
from support.chaos.rounds import Report, play_round

SECONDS = 2.0
MAX_ROUNDS = 5


def find(
    expected: str,
    directory: Path,
    fault: str,
    seconds: float = SECONDS,
    *faults: str,
    kind: type = Single,
) -> None:
    """Play rounds until one reports the expected problem: on a busy machine little happens in the
    time of a round."""
    for number in range(MAX_ROUNDS):
        data = directory / str(number)
        data.mkdir()
        report = _play(data, fault, seconds, faults, kind)
        if any(expected in problem for problem in report.problems):
            return
    pytest.fail(report.evidence)


def _play(
    directory: Path, fault: str, seconds: float, faults: tuple[str, ...], kind: type
) -> Report:
    async def round_() -> Report:
        fleet: Fleet = kind(directory, FLAGS, prelude(fault))
        try:
            await fleet.start()
            return await play_round(fleet, 1, seconds, faults or ("none",))
        finally:
            await fleet.close()

    return asyncio.run(round_())


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("show_an_older_version", "no order explains these answers"),
        ("swap_without_comparing", "no order explains these answers"),
        ("drop_an_event", "never heard of"),
        ("tell_an_event_twice", "told before, or late"),
        ("leave_out_of_lists", "shows otherwise"),
    ],
)
def test_a_planted_fault_is_found(fault: str, expected: str, tmp_path: Path) -> None:
    find(expected, tmp_path, fault)


def test_a_write_that_was_acknowledged_before_its_commit_is_missed(tmp_path: Path) -> None:
    find("no order explains", tmp_path, "answer_before_the_commit", 3.0, "kill the server")


def test_a_bookmark_that_is_ahead_of_what_was_told_is_found(tmp_path: Path) -> None:
    # Bookmarks come shortly before a watch ends.
    find("told before, or late", tmp_path, "mark_too_far", 6.0)


def test_a_read_that_is_older_than_what_was_acknowledged_elsewhere_is_found(
    tmp_path: Path,
) -> None:
    find("no order explains", tmp_path, "read_without_catching_up", kind=Workers)
