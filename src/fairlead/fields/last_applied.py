"""The annotation in which client-side apply stores its last configuration.

A user who moves from client-side to server-side apply with the command line's own manager name
takes over the fields recorded in the annotation, and the annotation is kept up to date so that the
user can move back. Any other manager name opts out of both.
"""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.base.dialect import LAST_APPLIED
from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.check import problems
from fairlead.fields.field_sets import EMPTY, FieldSet, difference
from fairlead.fields.shapes import Untrackable
from fairlead.fields.typed_values import applied_fields, compare
from fairlead.fields.values import compact_json

ANNOTATION = LAST_APPLIED

MAX_ANNOTATIONS = 256 * 1024


def annotations_of(value: Object) -> dict[str, Any]:
    return (value.get("metadata") or {}).get("annotations") or {}


def fields_to_take_over(struct: Struct, live: Object, annotation: str) -> FieldSet:
    """The fields that client-side apply set last and that still have the value it set.

    Empty if there is no annotation, if it cannot be decoded, or if it is of another version.
    """
    text = annotations_of(live).get(annotation)
    if not isinstance(text, str) or not text:
        return EMPTY
    try:
        last_config = orjson.loads(text)
    except orjson.JSONDecodeError:
        return EMPTY
    if not isinstance(last_config, dict) or last_config.get("apiVersion") != live.get("apiVersion"):
        return EMPTY
    if problems(struct, last_config):
        return EMPTY
    try:
        touched, removed = compare(struct, last_config, live)
    except Untrackable:
        return EMPTY
    return difference(difference(applied_fields(struct, last_config), touched), removed)


def update_annotation(value: Object, config: Object, annotation: str) -> Object:
    """The object with its annotation, if it has one, updated to the configuration.

    Drops the annotation if it would make all annotations together too large.
    """
    present = annotations_of(value)
    if not present.get(annotation):
        return value
    text = compact_json(_without_annotation(config, annotation)) + "\n"
    if present[annotation] == text:
        return value
    annotations = {**present, annotation: text}
    if sum(len(f"{name}{item}".encode()) for name, item in annotations.items()) > MAX_ANNOTATIONS:
        del annotations[annotation]
    return {**value, "metadata": {**value["metadata"], "annotations": annotations}}


def _without_annotation(config: Object, annotation: str) -> Object:
    annotations = annotations_of(config)
    if annotation not in annotations:
        return config
    remaining = {name: item for name, item in annotations.items() if name != annotation}
    return {**config, "metadata": {**config["metadata"], "annotations": remaining}}
