"""Counting the texts of a parsed document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from fairlead.codec.types.scalars import UNCOUNTED as UNCOUNTED

_DEEPEST: Final = 100  # levels; how deep a document may be at all is found out otherwise


def texts_in(value: Any, depth: int = 0) -> int:
    """How many texts a value consists of, names of fields included; UNCOUNTED if it is deep."""
    if depth > _DEEPEST:
        return UNCOUNTED
    if isinstance(value, str):
        return 1
    items: Iterable[Any] = ()
    count = 0
    if isinstance(value, dict):
        items, count = value.values(), len(value)
    elif isinstance(value, list):
        items = value
    for item in items:
        if isinstance(item, str):
            count += 1
        elif isinstance(item, (dict, list)):
            inner = texts_in(item, depth + 1)
            if inner < 0:
                return UNCOUNTED
            count += inner
    return count
