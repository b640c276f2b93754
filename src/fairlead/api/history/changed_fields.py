"""Which fields of an object are others than before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fairlead.base.errors import clipped

MOST_PATHS = 20
_LONGEST_PATH = 256
# What changes with every write says nothing about it.
_NOISE = frozenset(("managedFields", "resourceVersion", "generation"))
_PLAIN = re.compile(r"[^.\[\]\\]+")


def changed_paths(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[str], int]:
    """The paths of fields that differ (`spec.replicas`, `spec.ports[0].port`), and how many more
    there are than are told."""
    told: list[str] = []
    more = 0
    for path in _differences(_quiet(before), _quiet(after), ""):
        if len(told) < MOST_PATHS:
            told.append(clipped(path, _LONGEST_PATH))
        else:
            more += 1
    return told, more


def _quiet(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata") or {}
    return {**value, "metadata": {key: metadata[key] for key in metadata if key not in _NOISE}}


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    """A field that is new or gone is told as a whole, and so is a list of another length."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (*before, *(key for key in after if key not in before)):
            below = _below(path, key)
            if key in before and key in after:
                yield from _differences(before[key], after[key], below)
            else:
                yield below
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]")
    else:
        yield path


def _below(path: str, key: str) -> str:
    if _PLAIN.fullmatch(key):
        return f"{path}.{key}" if path else key
    if "]" not in key:
        return f"{path}[{key}]"
    escaped = re.sub(r"([.\[\]\\])", r"\\\1", key)
    return f"{path}.{escaped}" if path else escaped
