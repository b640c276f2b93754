"""Finding keys that stand twice in one JSON object, which parsers silently merge."""

from __future__ import annotations

import json
from typing import Any

import orjson


class TooDeep(ValueError):
    """A document nested deeper than it could ever be written."""


def duplicate_fields(raw: bytes, parsed: Any) -> list[str]:
    """The paths of repeated keys in the order of the document.

    The common case costs one encoding and two counts: every key of the parsed value is written as
    `"key":` exactly once, and a key that was merged away is missing there. Texts that contain the
    same characters count alike on both sides; whatever else differs is read again, slowly.
    """
    try:
        encoded = orjson.dumps(parsed)
    except orjson.JSONEncodeError:
        raise TooDeep("exceeded max depth") from None
    if raw.count(b'":') == encoded.count(b'":'):
        return []
    try:
        return _found(json.loads(raw, object_pairs_hook=_Pairs))
    except (ValueError, RecursionError):
        return []


class _Pairs(dict[str, Any]):
    """An object that remembers the repeated keys in and below it."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__()
        self.found: list[str] = []
        for key, value in pairs:
            if key in self:
                self.found.append(key)
            self.found += (_joined(key, path) for path in _found(value))
            self[key] = value


def _found(value: Any) -> list[str]:
    if isinstance(value, _Pairs):
        return value.found
    if isinstance(value, list):
        return [
            _joined(f"[{index}]", path) for index, item in enumerate(value) for path in _found(item)
        ]
    return []


def _joined(step: str, rest: str) -> str:
    return step + rest if rest.startswith("[") else f"{step}.{rest}"
