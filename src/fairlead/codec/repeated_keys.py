"""Finding keys that stand twice in one JSON object, which parsers silently merge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from fairlead.base.compiled import mypyc_attr
from fairlead.codec.limits import TooDeep as TooDeep
from fairlead.codec.limits import bounded_json
from fairlead.codec.types.decode import joined_path
from fairlead.codec.types.scalars import UNCOUNTED as UNCOUNTED

MOST_FOUND = 100  # more than that are not told
_ESCAPE = b"\\"
_COLON_ESCAPE = b"\\u003"


def duplicate_fields(raw: bytes, parsed: Any, texts: int = UNCOUNTED) -> list[str]:
    """The paths of repeated keys in the order of the document; raises TooDeep. `texts` are those of
    the parsed value, where they have been counted.

    The common case costs two counts: where nothing is escaped each text has two quotes, and a key
    that was merged away is missing in the parsed value. Otherwise it is encoded again: every key
    has a colon, and colons in texts count alike on both sides unless the document escapes them.
    """
    if _ESCAPE not in raw:
        if texts == UNCOUNTED:
            texts = texts_in(parsed)
        if raw.count(b'"') == 2 * texts:
            return []
    encoded = bounded_json(parsed)
    if raw.count(b":") == encoded.count(b":") and _COLON_ESCAPE not in raw:
        return []
    return [path for path, _ in zip(_repeated(as_written(raw)), range(MOST_FOUND), strict=False)]


@mypyc_attr(native_class=False)
class Pairs(list[tuple[str, Any]]):
    """An object as it was written, with keys that repeat."""


def as_written(raw: bytes) -> Any:
    """A document whose objects are Pairs; None for what cannot be read."""
    try:
        text = raw.decode("utf-8", "replace")
        return json.loads(text, object_pairs_hook=Pairs, parse_int=float)
    except (ValueError, RecursionError):
        return None


def _repeated(value: Any) -> Iterator[str]:
    """Walk the document in its order, with the path to the present place at hand."""
    path: list[str] = []
    open_: list[Iterator[tuple[str, Any, bool]]] = [_members(value)]
    while open_:
        for step, item, again in open_[-1]:
            if again:
                yield joined_path(path, step)
            if isinstance(item, list) and item:
                path.append(step)
                open_.append(_members(item))
                break
        else:
            open_.pop()
            if path:
                path.pop()


def _members(value: Any) -> Iterator[tuple[str, Any, bool]]:
    """The steps from a value to those in it, and whether a step was taken before."""
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for key, item in value:
            yield key, item, key in seen
            seen.add(key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield f"[{index}]", item, False


# Counting the texts of a parsed document.

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
