"""The annotation in which client-side apply keeps what it was given last."""

from __future__ import annotations

from typing import Any

from fairlead.base.dialect import LAST_APPLIED, Dialect

Object = dict[str, Any]


def annotation_of(dialect: Dialect) -> str:
    """The annotation's name."""
    return dialect.label(LAST_APPLIED)


def recorded(value: Object, annotation: str) -> Object:
    """A configuration with itself in the annotation."""
    return annotated(value, annotation, text_of(value, annotation))


def text_of(value: Object, annotation: str) -> str:
    """What the annotation says of a configuration: never what it said before."""
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
    """What was applied last; None where nobody has said, or it cannot be read."""
    import orjson

    text = annotations_of(live).get(annotation)
    if not isinstance(text, str) or not text:
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
