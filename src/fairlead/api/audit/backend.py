"""Where events go, and what a request has to wait for."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from fairlead.api.audit.metrics import ERRORS
from fairlead.api.audit.policy import REQUEST, Limits
from fairlead.api.audit.record import Record
from fairlead.base.logs import Tally

Outcome = bool | Awaitable[bool]  # whether an event was stored, at once or later
Shape = Callable[[Record], bytes | None]  # what is stored; None if it is left out

logger = logging.getLogger("fairlead.api.audit")
_lost = Tally(logger, logging.ERROR, "audit events are lost")


def lose(plugin: str, why: str, count: int = 1) -> None:
    """Count events that nobody will read; call it on the event loop."""
    ERRORS.add(count, of=(plugin,))
    _lost.add(plugin, why)


class Sink(Protocol):
    """Stores events that have their final form. What it cannot store it loses with a count."""

    def deliver(self, event: bytes) -> Outcome:
        """Store an event before anything else happens."""

    async def deliver_aside(self, events: list[bytes]) -> bool:
        """Store events without holding anybody up."""

    async def close(self) -> None: ...


class Backend(Protocol):
    """Takes records as they are now; False means that the request must not go on."""

    def take(self, record: Record) -> Outcome: ...

    async def close(self) -> None: ...


class Blocking:
    """Requests wait for their events to be stored. If that fails they go on all the same, unless
    the mode is strict."""

    def __init__(self, shape: Shape, sink: Sink, *, strict: bool) -> None:
        self._shape = shape
        self._sink = sink
        self._deliver = sink.deliver
        self._strict = strict

    def take(self, record: Record) -> Outcome:
        event = self._shape(record)
        if event is None:
            return True
        outcome = self._deliver(event)
        if self._strict:
            return outcome
        return True if isinstance(outcome, bool) else _whatever(outcome)

    async def close(self) -> None:
        await self._sink.close()


async def _whatever(outcome: Awaitable[bool]) -> bool:
    await outcome
    return True


def in_json(before: str, after: str) -> Shape:
    """Events as they are, with what stands before and after their fields."""
    return partial(Record.json, before=before, after=after)


def truncated(limits: Limits, before: str, after: str) -> Shape:
    """Events without the objects they carry where they are too long with them; what is too long
    even so is lost."""

    def shape(record: Record) -> bytes | None:
        event = record.json(before, after)
        if len(event) > limits.event and record.level >= REQUEST:
            event = record.json(before, after, cut=True)
        if len(event) <= limits.event:
            return event
        lose("truncate", "event is too large even after truncating")
        return None

    return shape


class Both:
    """Several backends; all of them are given every event."""

    def __init__(self, backends: Sequence[Backend]) -> None:
        self._backends = backends

    def take(self, record: Record) -> Outcome:
        outcomes = [backend.take(record) for backend in self._backends]
        waiting = [one for one in outcomes if not isinstance(one, bool)]
        stored = all(one for one in outcomes if isinstance(one, bool))
        return _all_of(waiting, stored) if waiting else stored

    async def close(self) -> None:
        for backend in self._backends:
            await backend.close()


async def _all_of(waiting: list[Awaitable[bool]], stored: bool) -> bool:
    for one in waiting:
        stored = await one and stored
    return stored
