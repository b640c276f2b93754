"""Secrets as they may be shown: their values replaced, and still seen to differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

_MASK = "***"
_VALUES = ("data", "stringData")
_COPY = "/last-applied-configuration"  # how the annotation ends that has all of it again


def masked(value: Object, other: Object | None = None, note: str = "") -> Object:
    """The object, without its values if it is a Secret. A value that is not the same in `other` is
    marked with the note."""
    if (value.get("apiVersion"), value.get("kind")) != ("v1", "Secret"):
        return value
    shown, against = dict(value), other if other is not None else value
    for name in _VALUES:
        if isinstance(value.get(name), dict):
            shown[name] = _masked(value[name], _map(against.get(name)), note)
    metadata = _map(value.get("metadata"))
    annotations = _map(metadata.get("annotations"))
    copies = {key: text for key, text in annotations.items() if key.endswith(_COPY)}
    if copies:
        known = _map(_map(against.get("metadata")).get("annotations"))
        hidden = {**annotations, **_masked(copies, known, note)}
        shown["metadata"] = {**metadata, "annotations": hidden}
    return shown


def masked_pair(before: Object, after: Object) -> tuple[Object, Object]:
    """Two versions, as a comparison may show them."""
    return masked(before, after, "before"), masked(after, before, "after")


def _masked(values: Mapping[str, Any], known: Mapping[str, Any], note: str) -> Object:
    return {
        key: _MASK if key not in known or known[key] == value else f"{_MASK} ({note})"
        for key, value in values.items()
    }


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
