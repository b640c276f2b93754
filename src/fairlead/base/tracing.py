"""Spans of traces, as OpenTelemetry defines them. Only requests that are sampled have any: `step`
does nothing without a span around it."""

from __future__ import annotations

import re
from asyncio import Event
from collections import deque
from contextvars import ContextVar, Token
from random import getrandbits, random
from time import time_ns
from types import TracebackType
from typing import NamedTuple

from fairlead.base.metrics import REGISTRY

INTERNAL, SERVER, CLIENT = 1, 2, 3
MAX_QUEUED = 2048  # ended spans that wait for their export
BATCH = 512
_MAX_ATTRIBUTES = 32
_MILLION = 1_000_000
_TRACE_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 0x01

DROPPED = REGISTRY.counter(
    "fairlead_trace_spans_dropped",
    "Spans that were not exported, because the queue was full or the collector did not take them.",
    ("reason",),
)
Value = str | int | float | bool


class Parent(NamedTuple):
    """The span of another process that a request belongs to."""

    trace_id: bytes
    span_id: bytes
    is_sampled: bool


def parse_parent(header: str) -> Parent | None:
    """Parse a `traceparent` header; None if it is not valid."""
    match = _TRACE_PARENT.fullmatch(header.strip())
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    trace_id, span_id = bytes.fromhex(match[2]), bytes.fromhex(match[3])
    if not any(trace_id) or not any(span_id):
        return None
    return Parent(trace_id, span_id, bool(int(match[4], 16) & _SAMPLED))


class Span:
    """A sampled span. Times are Unix times in nanoseconds."""

    __slots__ = (
        *("attributes", "end", "error", "kind", "link", "name", "parent_id", "span_id", "start"),
        *("trace_id", "tracer"),
    )

    def __init__(
        self,
        tracer: Tracer,
        name: str,
        kind: int,
        trace_id: bytes,
        parent_id: bytes = b"",
        start: int = 0,
    ) -> None:
        self.tracer = tracer
        self.name = name
        self.kind = kind
        self.trace_id = trace_id
        self.span_id = _new_id(64)
        self.parent_id = parent_id
        self.start = start or time_ns()
        self.end = 0
        self.attributes: dict[str, Value] = {}
        self.error: str | None = None  # the reason of a failure, which may be empty
        self.link: Parent | None = None

    @property
    def header(self) -> str:
        """The value of `traceparent` for a call that this span describes."""
        return f"00-{self.trace_id.hex()}-{self.span_id.hex()}-01"

    def child(self, name: str, kind: int = INTERNAL, start: int = 0) -> Span:
        return Span(self.tracer, name, kind, self.trace_id, self.span_id, start)

    def note(self, attributes: dict[str, Value]) -> None:
        """Add attributes, except empty texts."""
        for name, value in attributes.items():
            if value != "" and len(self.attributes) < _MAX_ATTRIBUTES:
                self.attributes[name] = value

    def finish(self, end: int = 0) -> None:
        """End the span and hand it over for export. Further calls do nothing."""
        if not self.end:
            self.end = end or time_ns()
            self.tracer.take(self)


class Tracer:
    """Decides which requests are sampled, and queues their ended spans."""

    def __init__(self, rate: int) -> None:
        """`rate` is the number of requests in a million that are sampled without a parent."""
        self._share = rate / _MILLION
        self.ended: deque[Span] = deque()
        self.has_batch = Event()

    def should_sample(self) -> bool:
        """Decide at random whether to sample a request that has no parent."""
        return random() < self._share

    def root(self, name: str, parent: Parent | None, start: int) -> Span:
        """Begin the span of a sampled request."""
        trace_id = parent.trace_id if parent is not None else _new_id(128)
        return Span(self, name, SERVER, trace_id, parent.span_id if parent else b"", start)

    def take(self, span: Span) -> None:
        if len(self.ended) >= MAX_QUEUED:
            DROPPED.add(of=("queue full",))
            return
        self.ended.append(span)
        if len(self.ended) >= BATCH:
            self.has_batch.set()


def _new_id(bits: int) -> bytes:
    return (getrandbits(bits) or 1).to_bytes(bits // 8, "big")


CURRENT: ContextVar[Span | None] = ContextVar("span", default=None)


def current() -> Span | None:
    """The span that the running code belongs to, if the request is sampled. Tasks that outlive the
    request in which they began have none."""
    span = CURRENT.get()
    return span if span is not None and not span.end else None


class step:
    """A span around a block, if the current request is sampled."""

    __slots__ = ("_kind", "_name", "_span", "_token")

    def __init__(self, name: str, kind: int = INTERNAL) -> None:
        self._name = name
        self._kind = kind
        self._span: Span | None = None

    def __enter__(self) -> Span | None:
        parent = current()
        if parent is not None:
            self._span = parent.child(self._name, self._kind)
            self._token: Token[Span | None] = CURRENT.set(self._span)
        return self._span

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        span = self._span
        if span is not None:
            CURRENT.reset(self._token)
            if error is not None:
                span.error = str(error) or type(error).__name__
            span.finish()
