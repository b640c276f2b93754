"""Moves the clock that all time-dependent rules use."""

from __future__ import annotations

from fairlead.api.testing.memory_objects import Handlers, create_handler, read_handlers
from fairlead.base import clock
from fairlead.base.errors import bad_request, not_found
from fairlead.codec.types.durations import parse_duration
from fairlead.codec.types.times import format_micro_time, parse_time
from fairlead.operations.api import Object
from fairlead.operations.operation import Operation

KEY = "testing/v1/clocks"
NAME = "clock"
_FARTHEST = 100 * 365 * 86400.0  # seconds


def handlers() -> Handlers:
    """Handlers of the single Clock object."""

    def clocks() -> dict[str, Object]:
        return {NAME: {"metadata": {"name": NAME}, "status": _status()}}

    async def move(operation: Operation, value: Object) -> Object:
        _check_name(operation)
        clock.advance(_seconds(value.get("spec") or {}))
        return {**value, "status": _status()}

    async def reset(operation: Operation, value: Object) -> Object:
        _check_name(operation)
        clock.reset()
        return {**value, "status": _status()}

    return {
        **read_handlers(KEY, clocks),
        (f"{KEY}/move", "create"): create_handler(move),
        (f"{KEY}/reset", "create"): create_handler(reset),
    }


def _check_name(operation: Operation) -> None:
    if operation.name != NAME:
        raise not_found(operation.resource.main.ref(operation.name))


def _status() -> Object:
    return {"time": format_micro_time(clock.now()), "aheadSeconds": round(clock.ahead(), 3)}


def _seconds(spec: Object) -> float:
    """By how much to move the clock; raises StatusError."""
    by, to = spec.get("by") or "", spec.get("to") or ""
    if bool(by) == bool(to):
        raise bad_request("spec: one of by and to says how far the clock is moved")
    try:
        seconds = parse_duration(by) if by else _until(to)
    except ValueError as error:
        raise bad_request(f"spec: {error}") from None
    if not 0 <= seconds <= _FARTHEST:
        raise bad_request("spec: the clock goes forward only, and no more than a hundred years")
    return seconds


def _until(moment: str) -> float:
    return (parse_time(moment) - clock.now()).total_seconds()
