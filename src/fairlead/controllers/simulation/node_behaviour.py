"""Behaviour of simulated nodes, from their annotations (docs/simulation.md).

A state or a pressure lasts until the time in its annotation `…-until`, or until the annotation is
removed. A duration in `…-until` is replaced by the time at which it is over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from fairlead.codec.types.times import format_micro_time, format_time, parse_time
from fairlead.controllers.simulation.behaviour import PREFIX, BehaviourError, parse_delay

READY, NOT_READY, UNREACHABLE, REBOOTING = "ready", "not-ready", "unreachable", "rebooting"
_STATES = (READY, NOT_READY, UNREACHABLE, REBOOTING)
# The condition that a pressure sets.
PRESSURES = {"memory": "MemoryPressure", "disk": "DiskPressure", "pid": "PIDPressure"}

NODE_STATE, PRESSURE, BOOTED = f"{PREFIX}node-state", f"{PREFIX}pressure", f"{PREFIX}booted"
HANDLERS = f"{PREFIX}runtime-handlers"
OF_NODES = (NODE_STATE, PRESSURE, BOOTED, HANDLERS)
_HANDLER = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_REBOOT = "10s"  # how long a reboot takes unless said


def until(key: str) -> str:
    """The annotation with the end of a state or a pressure."""
    return f"{key}-until"


@dataclass(frozen=True, slots=True)
class NodeBehaviour:
    """`pressures` are types of conditions. `booted` is when the node came up last, if it was
    rebooted. `handlers` are those of runtime classes that it has; None: all."""

    state: str = READY
    pressures: tuple[str, ...] = ()
    booted: int | None = None
    handlers: tuple[str, ...] | None = None
    problems: tuple[str, ...] = ()


HEALTHY = NodeBehaviour()


def node_behaviour(annotations: Mapping[str, str] | None) -> NodeBehaviour:
    """Parse the annotations of a node. Invalid ones are listed in `problems` and ignored."""
    given = annotations or {}
    values: dict[str, Any] = {}
    problems = []
    for key, (field_name, parse) in _OF_NODES.items():
        if key in given:
            try:
                values[field_name] = parse(given[key])
            except BehaviourError as error:
                problems.append(f"{key}: {error}")
    values = {name: value for name, value in values.items() if name}
    return NodeBehaviour(**values, problems=tuple(problems))


def node_changes(annotations: Mapping[str, str] | None, moment: float) -> dict[str, str | None]:
    """The changes that are due in the annotations of a node: durations become times, and what is
    over is removed (None)."""
    given = annotations or {}
    changes: dict[str, str | None] = {}
    for key in (NODE_STATE, PRESSURE):
        reboots = key == NODE_STATE and given.get(key) == REBOOTING
        end = _end_of(key, given, moment, _REBOOT if reboots else None)
        if end is None:
            continue
        if end.time > moment:
            if given.get(until(key)) != end.text:
                changes[until(key)] = end.text
            continue
        changes |= {name: None for name in (key, until(key)) if name in given}
        if reboots:
            changes[BOOTED] = format_time(datetime.fromtimestamp(moment, UTC))
    return changes


def next_end(annotations: Mapping[str, str] | None, moment: float) -> float | None:
    """When the next state or pressure of a node ends."""
    given = annotations or {}
    ends = [_end_of(key, given, moment) for key in (NODE_STATE, PRESSURE)]
    return min((end.time for end in ends if end is not None), default=None)


class _End(NamedTuple):
    time: float
    text: str


def _end_of(
    key: str, given: Mapping[str, str], moment: float, default: str | None = None
) -> _End | None:
    """The end of a state or a pressure; an invalid one is ignored."""
    for text in (given.get(until(key)), default):
        with suppress(BehaviourError):
            if text is not None:
                return _end(text, moment)
    return None


def _end(text: str, moment: float = 0.0) -> _End:
    try:
        return _End(parse_time(text).timestamp(), text)
    except ValueError:
        pass
    try:
        end = moment + parse_delay(text)
    except BehaviourError:
        told = f'"{text}" is neither a duration such as 5s nor a time such as 2030-01-31T12:00:00Z'
        raise BehaviourError(told) from None
    return _End(end, format_micro_time(datetime.fromtimestamp(end, UTC)))


def _booted(text: str) -> int:
    try:
        return int(parse_time(text).timestamp())
    except ValueError:
        raise BehaviourError(f'"{text}" is not a time such as 2030-01-31T12:00:00Z') from None


def _state(text: str) -> str:
    if text not in _STATES:
        raise BehaviourError(f'"{text}" is none of {", ".join(_STATES)}')
    return text


def _pressures(text: str) -> tuple[str, ...]:
    names = text.split(",") if text else ()
    for name in names:
        if name not in PRESSURES:
            raise BehaviourError(f'"{name}" is none of {", ".join(PRESSURES)}')
    return tuple(kind for name, kind in PRESSURES.items() if name in names)


def _handlers(text: str) -> tuple[str, ...]:
    names = text.split(",") if text else ()
    for name in names:
        if not _HANDLER.fullmatch(name):
            raise BehaviourError(f'"{name}" is not the name of a handler such as runc')
    return tuple(names)


# Annotation: the field of NodeBehaviour that it sets, if any, and its parser.
_OF_NODES: dict[str, tuple[str, Callable[[str], Any]]] = {
    NODE_STATE: ("state", _state),
    PRESSURE: ("pressures", _pressures),
    BOOTED: ("booted", _booted),
    HANDLERS: ("handlers", _handlers),
    until(NODE_STATE): ("", _end),
    until(PRESSURE): ("", _end),
}
