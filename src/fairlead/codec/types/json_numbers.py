"""Normalizes JSON numbers to their stored form, whatever form they were sent in."""

from __future__ import annotations

from typing import Any

LIMIT = 2**63
_MAX_EXACT = 2**53 - 1  # up to here a double represents every integer exactly


def plain_number(value: Any) -> Any:
    """An integral number as an integer if it fits into 64 bits, else as a double."""
    if value.__class__ is float:
        return int(value) if value.is_integer() and -LIMIT <= value < LIMIT else value
    if value.__class__ is int and not -LIMIT <= value < LIMIT:
        return float(value)
    return value


def plain(value: Any) -> Any:
    """A value with all its numbers normalized; the value itself if they already are."""
    if value.__class__ is dict:
        changed = {key: new for key, item in value.items() if (new := plain(item)) is not item}
        return {**value, **changed} if changed else value
    if value.__class__ is list:
        items = [plain(item) for item in value]
        return (
            items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        )
    return plain_number(value)


def is_integer(value: float) -> bool:
    """Whether a double counts as an integer."""
    return -_MAX_EXACT <= value <= _MAX_EXACT and value.is_integer()
