"""The watch checker: which logs of watchers it accepts and rejects."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.operations import Operation, Outcome, Verb
from support.watch_gaps import (
    ADDED,
    DELETED,
    MODIFIED,
    Bookmark,
    Cut,
    Entry,
    Listing,
    Shown,
    WatchedEvent,
    WatchLog,
    check_watches,
    times_seen,
)


def write(verb: Verb, key: str, value: str | None, revision: int | None) -> Operation:
    at = float(revision or 0)
    return Operation("c", key, verb, at, at + 0.5, Outcome.DONE, value, revision)


WRITES = [
    write(Verb.CREATE, "a", "a1", 11),
    write(Verb.CREATE, "b", "b1", 12),
    write(Verb.PATCH, "a", "a2", 13),
    write(Verb.DELETE, "b", None, None),
    write(Verb.CREATE, "b", "b2", 15),
]
EVENTS = [
    WatchedEvent(ADDED, "a", "a1", 11),
    WatchedEvent(ADDED, "b", "b1", 12),
    WatchedEvent(MODIFIED, "a", "a2", 13),
    WatchedEvent(DELETED, "b", "b1", 14),
    WatchedEvent(ADDED, "b", "b2", 15),
]
FINAL = {"a": Shown("a2", 13), "b": Shown("b2", 15)}


def empty(at: int = 10) -> Listing:
    return Listing("w", 0, 0.1, at, {})


def log(*entries: Entry, name: str = "w") -> WatchLog:
    return WatchLog(name, [empty(), *entries])


WHOLE = log(*EVENTS, Bookmark(16), name="whole")


def gaps(*logs: WatchLog, listings: tuple[Listing, ...] = ()) -> list[str]:
    return check_watches([WHOLE, *logs], WRITES, listings, base=10)


def test_everything_once_and_in_order_is_right() -> None:
    assert not gaps(log(*EVENTS))
    assert not gaps(log(*EVENTS[:2], Cut(), *EVENTS[2:]))
    assert not gaps(log(*EVENTS[:2], Bookmark(12), Cut()))
    again = Listing("w", 20, 21, 15, FINAL)
    assert not gaps(log(*EVENTS[:2], Cut(), again, Bookmark(16)))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ([*EVENTS[:2], *EVENTS[3:]], "never heard of"),
        ([*EVENTS[:2], Bookmark(13), *EVENTS[3:]], "never heard of"),
        ([*EVENTS[:3], Bookmark(15)], "never heard of"),
        ([*EVENTS[:3], Cut(), EVENTS[2], *EVENTS[3:]], "told before, or late"),
        ([EVENTS[0], EVENTS[2], EVENTS[1]], "told before, or late"),
        ([*EVENTS[:2], Bookmark(13), EVENTS[2]], "told before, or late"),
        ([EVENTS[0], EVENTS[1]._replace(kind=MODIFIED)], "while it held"),
        ([*EVENTS[:3], EVENTS[3]._replace(value="b9")], "shows another one"),
        ([*EVENTS[:2], EVENTS[2]._replace(value="a9")], "elsewhere"),
        ([*EVENTS, Bookmark(14)], "a bookmark at 14 after 15"),
        ([*EVENTS, Listing("w", 9, 9, 12, {})], "a list at 12 after 15"),
        ([*EVENTS, WatchedEvent(MODIFIED, "b", "b3", 17)], "nobody wrote that"),
    ],
)
def test_a_stream_that_is_not_is_found(message: list[Entry], words: str) -> None:
    assert any(words in problem for problem in gaps(log(*message))), gaps(log(*message))


def test_an_event_of_a_refused_write_is_found() -> None:
    refused = replace(write(Verb.PATCH, "a", "a3", None), outcome=Outcome.CONFLICT)
    reported = log(*EVENTS, WatchedEvent(MODIFIED, "a", "a3", 16))
    assert any(
        "was refused" in watch for watch in check_watches([reported], [*WRITES, refused], base=10)
    )


def test_an_event_of_a_write_without_an_answer_is_right() -> None:
    unsure = write(Verb.PATCH, "a", "a3", None).unsure()
    reported = log(*EVENTS, WatchedEvent(MODIFIED, "a", "a3", 16))
    assert not check_watches([reported], [*WRITES, unsure], base=10)


def test_an_acknowledged_write_that_nobody_heard_of_is_found() -> None:
    more = write(Verb.CREATE, "c", "c1", 16)
    problems = check_watches([WHOLE], [*WRITES, more], base=10)
    assert any("nobody heard of" in problem for problem in problems)


def test_an_acknowledged_deletion_that_nobody_heard_of_is_found() -> None:
    more = write(Verb.DELETE, "a", None, None)
    problems = check_watches([WHOLE], [*WRITES, more], base=10)
    assert problems == ["a: 0 deletions told, 1 acknowledged, 1 possible"]


def test_deletions_that_nobody_could_hear_of_are_not_missed() -> None:
    more = write(Verb.DELETE, "b", None, None)
    later = Listing("w", 20, 20.5, 20, {"a": FINAL["a"]})
    gap = log(*EVENTS, Cut(), later, WatchedEvent(MODIFIED, "a", "a3", 21))
    patch = write(Verb.PATCH, "a", "a3", 21)
    assert not check_watches([gap], [*WRITES, more, patch], base=10)


def test_a_list_shows_what_the_events_lead_to() -> None:
    assert not gaps(listings=(Listing("c", 14, 15, 13, {"a": FINAL["a"], "b": Shown("b1", 12)}),))
    for wrong in ({}, {"a": FINAL["a"]}, FINAL):
        problems = gaps(listings=(Listing("c", 14, 15, 13, wrong),))
        assert any("shows otherwise" in problem for problem in problems), wrong


def test_a_list_is_not_older_than_what_was_acknowledged_before() -> None:
    old = Listing("c", 15.6, 15.7, 13, {"a": FINAL["a"], "b": Shown("b1", 12)})
    assert any("was acknowledged" in problem for problem in gaps(listings=(old,)))
    assert not gaps(listings=(replace(old, called=15.1),))


def test_the_first_to_see_a_value_counts() -> None:
    early, late = EVENTS[0]._replace(at=1.0), EVENTS[0]._replace(at=2.0)
    assert times_seen([log(late), log(early)]) == {"a1": 1.0}
