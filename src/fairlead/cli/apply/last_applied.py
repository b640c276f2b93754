"""The last-applied annotation, in which client-side apply stores the applied configuration."""

from __future__ import annotations

from typing import Any

from fairlead.base.dialect import LAST_APPLIED, Dialect

Object = dict[str, Any]


def annotation_of(dialect: Dialect) -> str:
    """The name of the annotation in this dialect."""
    return dialect.label(LAST_APPLIED)


def recorded(value: Object, annotation: str) -> Object:
    """The configuration with its own text in the annotation."""
    return annotated(value, annotation, text_of(value, annotation))


def text_of(value: Object, annotation: str) -> str:
    """The text of the annotation for a configuration, without the annotation itself."""
    from fairlead.fields.values import compact_json

    metadata = value.get("metadata") or {}
    others = {name: text for name, text in annotations_of(value).items() if name != annotation}
    return compact_json({**value, "metadata": {**metadata, "annotations": others}}) + "\n"


def annotated(value: Object, name: str, text: str) -> Object:
    metadata = value.get("metadata") or {}
    return {**value, "metadata": {**metadata, "annotations": {**annotations_of(value), name: text}}}


def annotations_of(value: Object) -> dict[str, Any]:
    found = (value.get("metadata") or {}).get("annotations")
    return found if isinstance(found, dict) else {}


def last_applied(live: Object, annotation: str) -> Object | None:
    """The last applied configuration; None if the annotation is missing or not valid JSON."""
    import orjson

    text = annotations_of(live).get(annotation)
    if not isinstance(text, str) or not text:
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
