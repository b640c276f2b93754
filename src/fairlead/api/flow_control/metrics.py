"""Metrics of priority and fairness, under the names of the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fairlead.api.flow_control.borrowing import DEMAND, LevelSeats
from fairlead.api.flow_control.queue_set import QueueSet
from fairlead.base.metrics import REGISTRY, Labels

_LEVEL: Final[tuple[str, ...]] = ("priority_level",)
_FLOW: Final[tuple[str, ...]] = ("priority_level", "flow_schema")
_SECONDS: Final[tuple[float, ...]] = (
    0.0,
    0.005,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    30.0,
)
_LENGTHS: Final[tuple[float, ...]] = (0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0)
_SEATS: Final[tuple[float, ...]] = (1.0, 2.0, 4.0, 10.0)
_WATCHERS: Final[tuple[float, ...]] = (0.0, 1.0, 10.0, 100.0, 1000.0, 10_000.0)


class Counts:
    """The counters of a flow schema in a level. Plain numbers, because every request updates
    them."""

    __slots__ = (
        "dispatched", "executing", "execution", "in_use", "labels", "seats", "waiting",
        "waiting_seats",
    )  # fmt: skip

    def __init__(self, level: str, schema: str) -> None:
        self.labels = (level, schema)
        self.dispatched = self.executing = self.in_use = 0
        self.waiting = self.waiting_seats = 0
        self.execution = EXECUTION.row((level, schema, "regular"))
        self.seats = SEATS.row(self.labels)


_known: Final[dict[Labels, Counts]] = {}
_levels: Final[dict[str, QueueSet]] = {}
_seats: Final[dict[str, LevelSeats]] = {}  # of levels that lend; none in releases without lending


def counts_of(level: str, schema: str) -> Counts:
    """The counters of a schema in a level; a recreated schema continues with its old counters."""
    counts = _known.get((level, schema))
    if counts is None:
        counts = _known[level, schema] = Counts(level, schema)
    return counts


def show_level(name: str, queues: QueueSet | None, seats: LevelSeats | None = None) -> None:
    if queues is not None:
        _levels[name] = queues
    else:
        _levels.pop(name, None)
    if seats is not None:
        _seats[name] = seats


def hide_level(name: str) -> None:
    _levels.pop(name, None)
    _seats.pop(name, None)
    DEMAND.rows.pop((name,), None)


def waiting_requests() -> int:
    """Requests in all queues."""
    return sum(counts.waiting for counts in _known.values())


def _by_flow(name: str, lends: bool | None = None) -> Callable[[], dict[Labels, float]]:
    """Values of flows, or of those whose levels do or do not lend."""
    return lambda: {
        labels: getattr(counts, name)
        for labels, counts in _known.items()
        if lends is None or (labels[0] in _seats) is lends
    }


def _by_level(name: str) -> Callable[[], dict[Labels, float]]:
    return lambda: {(level,): getattr(queues, name) for level, queues in _levels.items()}


def _limits() -> dict[Labels, float]:
    return {(level,): set_.limit for level, set_ in _levels.items() if level not in _seats}


def _by_seats(name: str) -> Callable[[], dict[Labels, float]]:
    return lambda: {(level,): getattr(seats, name) for level, seats in _seats.items()}


_NAME: Final = "apiserver_flowcontrol_"
REJECTED: Final = REGISTRY.counter(
    f"{_NAME}rejected_requests", "Requests that were rejected, by reason.", (*_FLOW, "reason")
)
DISPATCHED = REGISTRY.counter(
    f"{_NAME}dispatched_requests", "Requests that began to execute.", _FLOW
)
DISPATCHED.read = _by_flow("dispatched")
for _end, _labels, _text, _values in (
    ("current_inqueue_requests", _FLOW, "Requests waiting in queues.", _by_flow("waiting")),
    ("current_executing_requests", _FLOW, "Requests being executed.", _by_flow("executing")),
    ("request_concurrency_in_use", _FLOW, "Seats in use.", _by_flow("in_use", lends=False)),
    ("request_concurrency_limit", _LEVEL, "Seats of a priority level.", _limits),
    ("current_r", _LEVEL, "Virtual time of a priority level.", _by_level("r")),
    ("current_executing_seats", _FLOW, "Seats in use.", _by_flow("in_use", lends=True)),
    (
        "current_inqueue_seats",
        _FLOW,
        "Seats that queued requests wait for.",
        _by_flow("waiting_seats", lends=True),
    ),
    (
        "nominal_limit_seats",
        _LEVEL,
        "Seats of a priority level by its shares.",
        _by_seats("nominal"),
    ),
    ("lower_limit_seats", _LEVEL, "Seats that a level never lends.", _by_seats("lower")),
    ("upper_limit_seats", _LEVEL, "Seats of a level with all it may borrow.", _by_seats("upper")),
    ("current_limit_seats", _LEVEL, "Seats that a level has now.", _by_seats("current")),
    (
        "demand_seats_high_watermark",
        _LEVEL,
        "Most seats that a level could use in the last period.",
        _by_seats("high"),
    ),
    (
        "demand_seats_average",
        _LEVEL,
        "Average of the seats that a level could use in the last period.",
        _by_seats("average"),
    ),
    (
        "demand_seats_stdev",
        _LEVEL,
        "Standard deviation of the seats that a level could use in the last period.",
        _by_seats("deviation"),
    ),
    ("demand_seats_smoothed", _LEVEL, "Demand of the last minutes.", _by_seats("smoothed")),
    ("target_seats", _LEVEL, "Seats that a level should have by its demand.", _by_seats("target")),
):
    REGISTRY.gauge(_NAME + _end, _text, _labels).read = _values
FAIR_FRACTION = REGISTRY.gauge(
    f"{_NAME}seat_fair_frac", "Part of its target that a level gets which no bound holds."
)
FAIR_FRACTION.common = True  # each process has its own, and their sum says nothing
QUEUE_LENGTH: Final = REGISTRY.histogram(
    f"{_NAME}request_queue_length_after_enqueue",
    "Length of a queue after a request was added to it.",
    _LENGTHS,
    _FLOW,
)
WAITED: Final = REGISTRY.histogram(
    f"{_NAME}request_wait_duration_seconds",
    "Time that requests waited in a queue, by whether they were executed in the end.",
    _SECONDS,
    (*_FLOW, "execute"),
)
EXECUTION: Final = REGISTRY.histogram(
    f"{_NAME}request_execution_seconds",
    "Time that requests held a seat.",
    _SECONDS,
    (*_FLOW, "type"),
)
SEATS: Final = REGISTRY.histogram(
    f"{_NAME}work_estimated_seats", "Estimated seats per request.", _SEATS, _FLOW
)
WATCHERS: Final = REGISTRY.histogram(
    f"{_NAME}watch_count_samples", "Watchers that a write notifies.", _WATCHERS, _FLOW
)
NO_ROOM: Final = REGISTRY.counter(
    f"{_NAME}request_dispatch_no_accommodation",
    "Requests that had to wait because too few seats were free.",
    _FLOW,
)
