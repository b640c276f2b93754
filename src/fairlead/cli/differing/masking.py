"""Secrets in differences: that a value differs is shown, the value is not."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_MASK = "***"
_FIELDS = ("data", "stringData")


def masked(live: Object, merged: Object, annotation: str) -> tuple[Object, Object]:
    """Both sides without their values; empty objects stay as they are."""
    before, after = dict(live), dict(merged)
    for field in _FIELDS:
        _mask_field(before, after, field)
    for side in (before, after):
        _mask_annotation(side, annotation)
    return before, after


def _mask_field(before: Object, after: Object, field: str) -> None:
    sides = [side.get(field) for side in (before, after)]
    old, new = (dict(side) if isinstance(side, dict) else None for side in sides)
    for key in {**(old or {}), **(new or {})}:
        marks = ("", "")
        if old and new and key in old and key in new and old[key] != new[key]:
            marks = (" (before)", " (after)")
        for side, mark in zip((old, new), marks, strict=True):
            if side is not None and key in side:
                side[key] = _MASK + mark
    for whole, part in ((before, old), (after, new)):
        if part is not None:
            whole[field] = part


def _mask_annotation(side: Object, annotation: str) -> None:
    """What was applied last has the values in it too."""
    metadata = side.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if annotation in annotations:
        hidden = {**annotations, annotation: _MASK}
        side["metadata"] = {**metadata, "annotations": hidden}
