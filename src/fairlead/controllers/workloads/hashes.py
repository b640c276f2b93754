"""Short hashes of pod templates."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import orjson

from fairlead.codec.types.names import SUFFIX_LETTERS


def filled(value: Any) -> Any:
    """The value without absent and empty fields, which are equivalent."""
    if isinstance(value, dict):
        parts = {name: filled(item) for name, item in value.items()}
        return {name: item for name, item in parts.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return [filled(item) for item in value]
    return value


def short_hash(value: Any, collisions: int | None) -> str:
    """A short stable hash of a value. A different number of collisions gives a different hash."""
    content = orjson.dumps(filled(value), option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        content += collisions.to_bytes(8, "little")
    number = int.from_bytes(blake2b(content, digest_size=4).digest())
    return "".join(SUFFIX_LETTERS[ord(digit) % len(SUFFIX_LETTERS)] for digit in str(number))
