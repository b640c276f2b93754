"""The strategic merge patch that leads from one object to another, as a client computes it."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.model import Field, ListOf, MapOf, Struct, Type
from fairlead.fields.values import equal

Object = dict[str, Any]


def strategic_diff(kind: Type | None, original: Object, modified: Object) -> Object:
    patch: Object = {}
    for name, value in modified.items():
        if name not in original:
            patch[name] = value
        elif not equal(original[name], value):
            patch.update(_field_diff(_field(kind, name), name, original[name], value))
    for name in original:
        if name not in modified:
            patch[name] = None
    return patch


def _field(kind: Type | None, name: str) -> Field | None:
    if isinstance(kind, Struct):
        return kind.fields.get(name)
    return Field(name, kind.element) if isinstance(kind, MapOf) else None


def _field_diff(field: Field | None, name: str, old: Any, new: Any) -> Object:
    if isinstance(old, dict) and isinstance(new, dict) and not (field and field.replace):
        return {name: strategic_diff(field.type if field else None, old, new)}
    if isinstance(old, list) and isinstance(new, list) and field and field.merge:
        if field.merge_key:
            return _items_diff(field, name, old, new)
        return _scalars_diff(name, old, new)
    return {name: new}


def _scalars_diff(name: str, old: list[Any], new: list[Any]) -> Object:
    return {
        name: [item for item in new if item not in old],
        f"$deleteFromPrimitiveList/{name}": [item for item in old if item not in new],
        f"$setElementOrder/{name}": new,
    }


def _items_diff(field: Field, name: str, old: list[Any], new: list[Any]) -> Object:
    key = field.merge_key
    element = field.type.element if isinstance(field.type, ListOf) else None
    before = {item[key]: item for item in old}
    after = {item[key]: item for item in new}
    changed: list[Object] = []
    for value, item in after.items():
        if value not in before:
            changed.append(item)
        elif not equal(before[value], item):
            changed.append({**strategic_diff(element, before[value], item), key: value})
    gone = [{key: value, "$patch": "delete"} for value in before if value not in after]
    return {
        name: changed + gone,
        f"$setElementOrder/{name}": [{key: value} for value in after],
    }
