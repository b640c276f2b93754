"""What a parsed document takes, told by a walk over it instead of by writing it."""

from __future__ import annotations

from typing import Any

from fairlead.serialization.limits import MOST_DEPTH, TooDeep


def colons_needed(value: Any) -> int:
    """How many colons a document has in its JSON, those in its texts included. Its values are just
    what a parser makes; raises TooDeep."""
    texts: list[str] = []
    if value.__class__ is str:
        texts.append(value)
    keys = _keys(value, 1, texts)
    return keys + "".join(texts).count(":")


def _keys(value: Any, depth: int, texts: list[str]) -> int:
    """The number of keys at and below a value; adds them, and all other texts, to the given."""
    found = 0
    if value.__class__ is dict:
        fields: dict[str, Any] = value
        found = len(fields)
        texts.extend(fields)
        for item in fields.values():
            if item.__class__ is str:
                texts.append(item)
            elif item.__class__ is dict or item.__class__ is list:
                if depth >= MOST_DEPTH:
                    raise TooDeep
                found += _keys(item, depth + 1, texts)
    elif value.__class__ is list:
        items: list[Any] = value
        for item in items:
            if item.__class__ is str:
                texts.append(item)
            elif item.__class__ is dict or item.__class__ is list:
                if depth >= MOST_DEPTH:
                    raise TooDeep
                found += _keys(item, depth + 1, texts)
    return found
