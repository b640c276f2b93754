"""Audit backends: where events are stored, and whether requests wait for that."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from fairlead.api.audit.metrics import ERRORS
from fairlead.api.audit.policy import REQUEST, Limits
from fairlead.api.audit.record import Record
from fairlead.base.logs import Logger, Tally

Outcome = bool | Awaitable[bool]  # whether an event was stored, at once or later
Shape = Callable[[Record], bytes | None]  # encodes a record; None to drop it

logger = Logger("fairlead.api.audit")
_lost = Tally(logger, logging.ERROR, "audit events are lost")


def count_lost(plugin: str, reason: str, count: int = 1) -> None:
    """Count and log lost events. Must be called on the event loop."""
    ERRORS.add(count, of=(plugin,))
    _lost.add(plugin, reason)


class Sink(Protocol):
    """Stores encoded events. Events that cannot be stored are counted as lost."""

    def deliver(self, event: bytes) -> Outcome:
        """Store an event at once."""

    async def deliver_in_background(self, events: list[bytes]) -> bool:
        """Store events without blocking the event loop."""

    async def close(self) -> None: ...


class Backend(Protocol):
    """Accepts records in their current state. False means that the request must be rejected."""

    def accept(self, record: Record) -> Outcome: ...

    async def close(self) -> None: ...


class Blocking:
    """Requests wait until their events are stored. A failure rejects the request in strict mode
    only."""

    def __init__(self, shape: Shape, sink: Sink, *, strict: bool) -> None:
        self._shape = shape
        self._sink = sink
        self._deliver = sink.deliver
        self._strict = strict

    def accept(self, record: Record) -> Outcome:
        event = self._shape(record)
        if event is None:
            return True
        outcome = self._deliver(event)
        if self._strict:
            return outcome
        return True if isinstance(outcome, bool) else _ignoring_failure(outcome)

    async def close(self) -> None:
        await self._sink.close()


async def _ignoring_failure(outcome: Awaitable[bool]) -> bool:
    await outcome
    return True


def in_json(prefix: str, suffix: str) -> Shape:
    """Encode whole events, with a prefix and a suffix."""
    return partial(Record.json, prefix=prefix, suffix=suffix)


def truncated(limits: Limits, prefix: str, suffix: str) -> Shape:
    """Encode events, without their objects if the event exceeds the limit otherwise. Drops and
    counts events that exceed it even so."""

    def shape(record: Record) -> bytes | None:
        event = record.json(prefix, suffix)
        if len(event) > limits.event and record.level >= REQUEST:
            event = record.json(prefix, suffix, truncate=True)
        if len(event) <= limits.event:
            return event
        count_lost("truncate", "event is too large even after truncating")
        return None

    return shape


class SeveralBackends:
    """Sends every event to several backends."""

    def __init__(self, backends: Sequence[Backend]) -> None:
        self._backends = backends

    def accept(self, record: Record) -> Outcome:
        outcomes = [backend.accept(record) for backend in self._backends]
        waiting = [outcome for outcome in outcomes if not isinstance(outcome, bool)]
        stored = all(outcome for outcome in outcomes if isinstance(outcome, bool))
        return _all_of(waiting, stored) if waiting else stored

    async def close(self) -> None:
        for backend in self._backends:
            await backend.close()


async def _all_of(waiting: list[Awaitable[bool]], stored: bool) -> bool:
    for outcome in waiting:
        stored = await outcome and stored
    return stored
