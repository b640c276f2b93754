"""Orders the elements of a strategically merged list."""

from __future__ import annotations

from typing import Any

from fairlead.fields.values import compact_json, string_json


def in_order(merged: list[Any], stated: list[Any], live: list[Any], key: str) -> list[Any]:
    """Sort a merged list by the order of the patch, then by the order of the live list.

    Elements that the patch states come in its order, the others in the live order. The two
    sequences are merged so that an unstated element comes before a stated one only if the live list
    has both in that order; so new elements come first. `key` identifies the elements; if it is
    empty, their values do.
    """
    wanted = _places(stated, key)
    standing = _places(live, key)
    named = [(_name(item, key), item) for item in merged]
    first = sorted((pair for pair in named if pair[0] in wanted), key=lambda p: wanted[p[0]])
    others = [pair for pair in named if pair[0] not in wanted]
    others.sort(key=lambda pair: standing.get(pair[0], len(standing)))

    made: list[Any] = []
    waiting = iter(others)
    other = next(waiting, None)
    for name, item in first:
        place = standing.get(name)
        while other is not None and place is not None:
            before = standing.get(other[0])
            if before is None or before > place:
                break
            made.append(other[1])
            other = next(waiting, None)
        made.append(item)
    if other is not None:
        made.append(other[1])
    made += [item for _, item in waiting]
    return made


def _places(items: list[Any], key: str) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, item in enumerate(items):
        places.setdefault(_name(item, key), place)
    return places


def _name(item: Any, key: str) -> str:
    return name_of(item.get(key) if key and isinstance(item, dict) else item)


def name_of(value: Any) -> str:
    """A text that uniquely identifies a scalar or the value of a merge key."""
    return string_json(value) if type(value) is str else compact_json(value)
