"""Metrics of priority and fairness, under the names of the reference."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.api.flow_control.queue_set import QueueSet
from fairlead.base.metrics import REGISTRY, Labels

_LEVEL = ("priority_level",)
_FLOW = ("priority_level", "flow_schema")
_SECONDS = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_LENGTHS = (0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0)
_SEATS = (1.0, 2.0, 4.0, 10.0)
_WATCHERS = (0.0, 1.0, 10.0, 100.0, 1000.0, 10_000.0)


class Counts:
    """The counters of a flow schema in a level. Plain numbers, because every request updates
    them."""

    __slots__ = ("dispatched", "executing", "execution", "in_use", "labels", "seats", "waiting")

    def __init__(self, level: str, schema: str) -> None:
        self.labels = (level, schema)
        self.dispatched = self.executing = self.in_use = self.waiting = 0
        self.execution = EXECUTION.row((level, schema, "regular"))
        self.seats = SEATS.row(self.labels)


_known: dict[Labels, Counts] = {}
_levels: dict[str, QueueSet] = {}


def counts_of(level: str, schema: str) -> Counts:
    """The counters of a schema in a level; a recreated schema continues with its old counters."""
    counts = _known.get((level, schema))
    if counts is None:
        counts = _known[level, schema] = Counts(level, schema)
    return counts


def show_level(name: str, queues: QueueSet) -> None:
    _levels[name] = queues


def hide_level(name: str) -> None:
    _levels.pop(name, None)


def _by_flow(name: str) -> Callable[[], dict[Labels, float]]:
    return lambda: {labels: getattr(counts, name) for labels, counts in _known.items()}


def _by_level(name: str) -> Callable[[], dict[Labels, float]]:
    return lambda: {(level,): getattr(queues, name) for level, queues in _levels.items()}


_NAME = "apiserver_flowcontrol_"
REJECTED = REGISTRY.counter(
    f"{_NAME}rejected_requests", "Requests that were rejected, by reason.", (*_FLOW, "reason")
)
DISPATCHED = REGISTRY.counter(
    f"{_NAME}dispatched_requests", "Requests that began to execute.", _FLOW
)
DISPATCHED.read = _by_flow("dispatched")
for _end, _labels, _text, _values in (
    ("current_inqueue_requests", _FLOW, "Requests waiting in queues.", _by_flow("waiting")),
    ("current_executing_requests", _FLOW, "Requests being executed.", _by_flow("executing")),
    ("request_concurrency_in_use", _FLOW, "Seats in use.", _by_flow("in_use")),
    ("request_concurrency_limit", _LEVEL, "Seats of a priority level.", _by_level("limit")),
    ("current_r", _LEVEL, "Virtual time of a priority level.", _by_level("r")),
):
    REGISTRY.gauge(_NAME + _end, _text, _labels).read = _values
QUEUE_LENGTH = REGISTRY.histogram(
    f"{_NAME}request_queue_length_after_enqueue",
    "Length of a queue after a request was added to it.",
    _LENGTHS,
    _FLOW,
)
WAITED = REGISTRY.histogram(
    f"{_NAME}request_wait_duration_seconds",
    "Time that requests waited in a queue, by whether they were executed in the end.",
    _SECONDS,
    (*_FLOW, "execute"),
)
EXECUTION = REGISTRY.histogram(
    f"{_NAME}request_execution_seconds",
    "Time that requests held a seat.",
    _SECONDS,
    (*_FLOW, "type"),
)
SEATS = REGISTRY.histogram(
    f"{_NAME}work_estimated_seats", "Estimated seats per request.", _SEATS, _FLOW
)
WATCHERS = REGISTRY.histogram(
    f"{_NAME}watch_count_samples", "Watchers that a write notifies.", _WATCHERS, _FLOW
)
NO_ROOM = REGISTRY.counter(
    f"{_NAME}request_dispatch_no_accommodation",
    "Requests that had to wait because too few seats were free.",
    _FLOW,
)
