"""Which fields of an object are not what they were."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from fairlead.base.terminal import printable
from fairlead.cli.comparing import without
from fairlead.cli.masking import masked_pair

Object = dict[str, Any]

_NONE = object()
_MOST_FIELDS = 3
_MOST_LETTERS = 40
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Changed(NamedTuple):
    """A field by its path, with its value before and now, where it had and has one."""

    path: str
    values: dict[str, Any]

    @property
    def short(self) -> str:
        before, now = (_shown(self.values[at]) if at in self.values else "" for at in _SIDES)
        if not now:
            return f"{self.path} removed"
        return f"{self.path}: {before} -> {now}" if before else f"{self.path}: {now}"


_SIDES = ("before", "now")


def changed_fields(before: Object, now: Object) -> list[Changed]:
    """Without what changes with every write, and without the values of Secrets."""
    one, other = masked_pair(without(before), without(now))
    return list(_differences("", one, other))


def in_short(fields: list[Changed]) -> str:
    told = [printable(field.short) for field in fields[:_MOST_FIELDS]]
    more = len(fields) - len(told)
    return ", ".join([*told, *([f"{more} more"] if more else [])])


def _differences(path: str, before: Any, now: Any) -> Iterator[Changed]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in {**before, **now}:
            step = f".{key}" if _WORD.fullmatch(key) else f"['{key}']"
            yield from _differences(path + step, before.get(key, _NONE), now.get(key, _NONE))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for at, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from _differences(f"{path}[{at}]", one, other)
    elif before != now or type(before) is not type(now):
        both = zip(_SIDES, (before, now), strict=True)
        yield Changed(path, {side: value for side, value in both if value is not _NONE})


def _shown(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 3]}..."
