"""Pod templates: whether two are the same, and the hash by which their pods are told apart."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import orjson

from fairlead.operations.api import Object

HASH_LABEL = "pod-template-hash"
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: no words


def same_template(one: Object, other: Object) -> bool:
    """Whether pods made from them are alike; the hash label does not count."""
    return bool(_essence(one) == _essence(other))


def _essence(template: Object) -> Any:
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {})}
    labels.pop(HASH_LABEL, None)
    return _filled({**template, "metadata": {**metadata, "labels": labels}})


def _filled(value: Any) -> Any:
    """A value without what is absent or empty, which mean the same."""
    if isinstance(value, dict):
        parts = {name: _filled(item) for name, item in value.items()}
        return {name: item for name, item in parts.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return [_filled(item) for item in value]
    return value


def template_hash(template: Object, collisions: int | None) -> str:
    """A short text that stays the same for a template. Where it is taken by another one the number
    of collisions leads to the next."""
    content = orjson.dumps(_filled(template), option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        content += collisions.to_bytes(8, "little")
    number = int.from_bytes(blake2b(content, digest_size=4).digest())
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(number))


def with_hash(labels: Object | None, text: str) -> Object:
    return {**(labels or {}), HASH_LABEL: text}


def selector_with_hash(selector: Object, text: str) -> Object:
    return {**selector, "matchLabels": with_hash(selector.get("matchLabels"), text)}
