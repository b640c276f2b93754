"""Dispatch of seats in a priority level, checked against its invariants."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.api.flow_control.configuration import hand, seed_of
from fairlead.api.flow_control.queue_set import NO_SEAT, QUEUE_FULL, QueueSet, Shape, Ticket, Work

QUEUES = Shape(queues=8, hand=2, length=5)


@dataclass
class Level:
    """A queue set, the holders of its seats, and the time."""

    queues: QueueSet
    now: float = 0.0
    waiting: list[Ticket] = field(default_factory=list)
    seated: list[Ticket] = field(default_factory=list)
    direct: list[Work] = field(default_factory=list)

    def arrive(self, flow: int, seats: int = 1) -> str:
        wanted = Work(seats)
        if self.queues.take(seats):
            self.direct.append(wanted)
            return "seated"
        ticket = Ticket(wanted, flow)
        shape = self.queues.shape
        refusal = self.queues.enter(ticket, hand(flow, shape.queues, shape.hand), self.now)
        if refusal:
            return refusal
        self.waiting.append(ticket)
        self.hand_out()
        return "seated" if ticket in self.seated else "waiting"

    def hand_out(self) -> None:
        for ticket in self.queues.seated(self.now):
            self.waiting.remove(ticket)
            self.seated.append(ticket)

    def finish(self, number: int) -> None:
        if self.direct and number % 2:
            self.queues.give_back(self.direct.pop(number % len(self.direct)).seats, self.now)
        elif self.seated:
            self.queues.finish(self.seated.pop(number % len(self.seated)), self.now)
        self.hand_out()

    def leave(self, number: int) -> None:
        if self.waiting:
            self.queues.leave(self.waiting.pop(number % len(self.waiting)), self.now)
            self.hand_out()

    def holding(self) -> list[int]:
        return [item.seats for item in self.direct] + [item.work.seats for item in self.seated]

    def check(self) -> None:
        held = self.holding()
        assert self.queues.in_use == sum(held)
        assert self.queues.executing == len(held)
        assert self.queues.waiting == len(self.waiting)
        assert sum(held) <= self.queues.limit or len(held) == 1, "only a wide one has more, alone"
        if self.waiting:  # somebody's request does not fit, or it would not wait
            assert held
            widest = max(ticket.work.seats for ticket in self.waiting)
            assert sum(held) + widest > self.queues.limit
        queued = [len(queue.waiting) for queue in self.queues.queues.values()]
        assert sum(queued) == len(self.waiting)
        assert max(queued, default=0) <= self.queues.shape.length


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("arrive"), st.integers(0, 5), st.integers(1, 7)),
        st.tuples(st.just("finish"), st.integers(0, 50), st.just(0)),
        st.tuples(st.just("leave"), st.integers(0, 50), st.just(0)),
        st.tuples(st.just("wait"), st.integers(1, 1000), st.just(0)),
        st.tuples(st.just("resize"), st.integers(1, 6), st.integers(1, 8)),
    ),
    max_size=80,
)


@given(STEPS)
def test_seats_are_never_exceeded_and_never_idle_while_somebody_fits(
    steps: list[tuple[str, int, int]],
) -> None:
    level = Level(QueueSet(4, QUEUES))
    for step, number, seats in steps:
        match step:
            case "arrive":
                level.arrive(number, seats)
            case "finish":
                level.finish(number)
            case "leave":
                level.leave(number)
            case "wait":
                level.now += number / 1000
            case "resize":
                if sum(level.holding()) > number:  # fewer seats are waited for
                    continue
                level.queues.reshape(number, Shape(seats, min(seats, 2), 5), level.now)
                level.hand_out()
        level.check()


@given(STEPS)
def test_whoever_waits_is_seated_when_the_others_are_done(
    steps: list[tuple[str, int, int]],
) -> None:
    level = Level(QueueSet(4, QUEUES))
    for step, number, seats in steps:
        if step == "arrive":
            level.arrive(number, seats)
        elif step == "wait":
            level.now += number / 1000
    while level.holding():
        level.now += 0.01
        level.finish(0 if level.seated else 1)
    assert not level.waiting
    assert level.queues.is_idle
    assert not level.queues.queues


def served(seconds: dict[int, float], seats: dict[int, int], until: float) -> dict[int, float]:
    """Return the seat-seconds of flows that always have requests waiting, each flow with its own
    length."""
    shape = Shape(queues=64, hand=1, length=1000)
    queues = QueueSet(8, shape)
    assert queues.take(8)
    hands = {flow: (place,) for place, flow in enumerate(seconds)}
    used = dict.fromkeys(seconds, 0.0)
    running: list[tuple[float, int, Ticket]] = []
    now = 0.0

    def fill(flow: int) -> None:
        assert queues.enter(Ticket(Work(seats[flow]), flow), hands[flow], now) == ""

    for flow in seconds:
        for _ in range(20):
            fill(flow)
    queues.give_back(8, now)
    while now < until:
        for ticket in queues.seated(now):
            running.append((now + seconds[ticket.owner], len(running), ticket))
            fill(ticket.owner)
        running.sort(key=lambda item: item[0])
        now, _, ticket = running.pop(0)
        queues.finish(ticket, now)
        used[ticket.owner] += seconds[ticket.owner] * seats[ticket.owner]
    return used


@settings(max_examples=40)
@given(
    st.sampled_from([0.001, 0.003, 0.01]),
    st.sampled_from([0.001, 0.003, 0.01]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2, 4]),
)
def test_flows_that_never_pause_get_the_same(
    one: float, other: float, one_seats: int, other_seats: int
) -> None:
    """For any length and width of requests, within the work of all seats in a few of them."""
    longest = max(one, other)
    used = served({0: one, 1: other}, {0: one_seats, 1: other_seats}, until=50 * longest)
    assert abs(used[0] - used[1]) <= 8 * 4 * longest


def test_a_quiet_flow_does_not_wait_behind_all_of_a_noisy_one() -> None:
    level = Level(QueueSet(1, Shape(queues=64, hand=4, length=50)))
    for _ in range(40):
        level.arrive(flow=1)
    level.arrive(flow=10**9)
    order = []
    while level.holding():
        level.now += 0.003
        before = set(level.seated)
        level.finish(0 if level.seated else 1)
        order += [ticket.owner for ticket in level.seated if ticket not in before]
    assert order.index(10**9) <= 5


def test_a_newcomer_does_not_pay_for_seats_that_were_kept_free() -> None:
    """Wide requests leave seats empty, so their flows get less than the time allows."""
    level = Level(QueueSet(4, Shape(queues=64, hand=1, length=500)))
    for _ in range(100):
        level.arrive(flow=1, seats=3)
    for _ in range(50):
        level.now += 0.1
        level.finish(0 if level.seated else 1)
    level.arrive(flow=2, seats=3)
    for _ in range(3):
        level.now += 0.1
        level.finish(0)
    assert all(ticket.owner == 1 for ticket in level.waiting)


def test_a_wide_request_is_not_overtaken_for_ever() -> None:
    level = Level(QueueSet(4, Shape(queues=64, hand=1, length=50)))
    for _ in range(4):
        level.arrive(flow=1)
    assert level.arrive(flow=2, seats=4) == "waiting"
    for _ in range(20):
        level.arrive(flow=1)
        level.now += 0.003
        level.finish(0 if level.seated else 1)
        if any(ticket.work.seats == 4 for ticket in level.seated):
            return
    pytest.fail("it still waits")


def test_a_request_wider_than_all_seats_runs_alone() -> None:
    level = Level(QueueSet(2, QUEUES))
    assert level.arrive(flow=1, seats=5) == "seated"
    assert level.arrive(flow=1) == "waiting"


def test_without_queues_nobody_waits() -> None:
    level = Level(QueueSet(1))
    assert [level.arrive(1), level.arrive(1)] == ["seated", NO_SEAT]


def test_a_full_queue_takes_nobody() -> None:
    level = Level(QueueSet(1, Shape(queues=1, hand=1, length=2)))
    outcomes = [level.arrive(flow) for flow in range(4)]
    assert outcomes == ["seated", "waiting", "waiting", QUEUE_FULL]


def test_requests_wait_in_the_queue_with_the_least_to_do() -> None:
    level = Level(QueueSet(1, Shape(queues=4, hand=2, length=10)))
    level.arrive(flow=0)
    for _ in range(6):
        level.arrive(flow=0)
    lengths = [len(queue.waiting) for queue in level.queues.queues.values()]
    assert lengths == [3, 3]


def test_new_seats_are_given_to_those_who_wait() -> None:
    level = Level(QueueSet(1, QUEUES))
    for flow in range(4):
        level.arrive(flow)
    level.queues.reshape(3, QUEUES, level.now)
    level.hand_out()
    assert len(level.waiting) == 1


@given(st.text(), st.text(), st.integers(1, 500), st.data())
def test_a_flow_has_the_same_hand_of_different_queues_each_time(
    schema: str, user: str, queues: int, data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, min(queues, 8)))
    dealt = hand(seed_of(schema, user), queues, size)
    assert len(set(dealt)) == size
    assert all(0 <= index < queues for index in dealt)
    assert dealt == hand(seed_of(schema, user), queues, size)


def test_hands_are_dealt_evenly_and_rarely_twice() -> None:
    """Of 128 queues in hands of 6: the reference's own level for workloads."""
    hands = [hand(seed_of("workload", f"user-{number}"), 128, 6) for number in range(2000)]
    assert len(set(map(frozenset, hands))) == len(hands)
    uses = [0] * 128
    for dealt in hands:
        for index in dealt:
            uses[index] += 1
    assert min(uses) > 50  # 94 on average
    assert max(uses) < 150
    noisy = set(hands[0])
    assert sum(set(dealt) <= noisy for dealt in hands[1:]) == 0, "nobody is shut out by one other"
