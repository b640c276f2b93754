"""Objects as JSON and YAML documents; masked and trimmed copies for output and comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from fairlead.cli.output.values import escaped
from fairlead.codec import yaml_writer

_INDENT = re.compile("^ +", re.MULTILINE)  # no match in strings: JSON escapes line breaks
Object = dict[str, Any]
_MASK = "***"
_VALUES = ("data", "stringData")
_COPY = "/last-applied-configuration"  # suffix of the annotation that holds a copy of the object
NOISE = ("managedFields", "resourceVersion", "generation")  # changed by every write


def as_json(value: Any) -> str:
    """JSON with sorted keys, indented by four spaces."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    return escaped(_INDENT.sub(lambda match: match[0] * 2, text))


def as_yaml(value: Any) -> str:
    """YAML without the final line break."""
    return yaml_writer.dump(value, yaml_writer.natural_order).decode().removesuffix("\n")


def without_managed_fields(value: dict[str, Any]) -> dict[str, Any]:
    """Remove managedFields from an object or list, in place."""
    for item in (value, *(value.get("items") or ())):
        if isinstance(item, dict) and isinstance(item.get("metadata"), dict):
            item["metadata"].pop("managedFields", None)
    return value


# Masks the values of Secrets in output, such that different values remain visible as different.


def masked(value: Object, other: Object | None = None, note: str = "") -> Object:
    """The object; the values of a Secret are masked. Values that differ in `other` get the note
    behind the mask."""
    if (value.get("apiVersion"), value.get("kind")) != ("v1", "Secret"):
        return value
    masked_value, against = dict(value), other if other is not None else value
    for name in _VALUES:
        if isinstance(value.get(name), dict):
            masked_value[name] = _masked(value[name], _map(against.get(name)), note)
    metadata = _map(value.get("metadata"))
    annotations = _map(metadata.get("annotations"))
    copies = {key: text for key, text in annotations.items() if key.endswith(_COPY)}
    if copies:
        other_annotations = _map(_map(against.get("metadata")).get("annotations"))
        hidden = {**annotations, **_masked(copies, other_annotations, note)}
        masked_value["metadata"] = {**metadata, "annotations": hidden}
    return masked_value


def masked_pair(before: Object, after: Object) -> tuple[Object, Object]:
    """Both versions masked for a comparison, with differing values marked."""
    return masked(before, after, "before"), masked(after, before, "after")


def _masked(values: Mapping[str, Any], others: Mapping[str, Any], note: str) -> Object:
    return {
        key: _MASK if key not in others or others[key] == value else f"{_MASK} ({note})"
        for key, value in values.items()
    }


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


# Compares two states of an object without the metadata that every write changes.


def without(value: Object, names: tuple[str, ...] = NOISE) -> Object:
    """A copy of the object without these fields of its metadata."""
    metadata = {key: item for key, item in value["metadata"].items() if key not in names}
    return {**value, "metadata": metadata}


def same_content(first: Object, other: Object) -> bool:
    """Whether two objects are equal apart from managedFields and resourceVersion."""
    return _content(first) == _content(other)


def _content(value: Object) -> Object:
    return without(value, ("managedFields", "resourceVersion"))
