"""JSON merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.mismatch import json_kind
from fairlead.fields.errors import MalformedPatch


def merge_document(document: Any) -> dict[str, Any]:
    """Check the form of a decoded merge patch: it must be an object."""
    if document is None:
        raise MalformedPatch("Invalid JSON Patch")
    if not isinstance(document, dict):
        raise MalformedPatch(
            f"error decoding patch: json: cannot unmarshal {json_kind(document)}"
            " into Go value of type map[string]interface {}"
        )
    return document


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """The document merged with the patch: null removes a member, lists are replaced. Objects in a
    list lose their null members too, unless the list replaces an object.

    The result shares unmentioned parts with the document and new parts with the patch.
    """
    if not isinstance(patch, dict):
        return patch
    result: dict[str, Any] = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = apply_merge_patch(result.get(name), value)
        elif isinstance(value, list) and not isinstance(result.get(name), dict):
            result[name] = _without_nulls(value)
        else:
            result[name] = value
    return result


def _without_nulls(items: list[Any]) -> list[Any]:
    result: list[Any] = []
    for item in items:
        if isinstance(item, dict):
            result.append(apply_merge_patch(None, item))
        else:
            result.append(_without_nulls(item) if isinstance(item, list) else item)
    return result
