"""Masks the values of Secrets in output, such that different values remain visible as different."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

_MASK = "***"
_VALUES = ("data", "stringData")
_COPY = "/last-applied-configuration"  # suffix of the annotation that holds a copy of the object


def masked(value: Object, other: Object | None = None, note: str = "") -> Object:
    """The object; the values of a Secret are masked. Values that differ in `other` get the note
    behind the mask."""
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
    """Both versions masked for a comparison, with differing values marked."""
    return masked(before, after, "before"), masked(after, before, "after")


def _masked(values: Mapping[str, Any], known: Mapping[str, Any], note: str) -> Object:
    return {
        key: _MASK if key not in known or known[key] == value else f"{_MASK} ({note})"
        for key, value in values.items()
    }


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
