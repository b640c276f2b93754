"""Computes the patch of client-side apply (three-way merge).

It sets fields of the new configuration that differ in the live object, and removes fields that only
the last configuration had. For built-in types it is a strategic merge patch, with lists merged by
their keys as on the server; for others a JSON merge patch.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.client.discovery import ResourceType
from fairlead.client.resources import MERGE_PATCH, STRATEGIC_PATCH
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.model import Field, ListOf, MapOf, Struct, Type
from fairlead.fields.strategic import DELETE_VALUES, DIRECTIVE, RETAIN_KEYS, SET_ORDER
from fairlead.fields.strategic_order import name_of
from fairlead.fields.values import equal

Object = dict[str, Any]


@cache
def _types(dialect: Dialect) -> BuiltinTypes:
    """Cached: the type tables are read once."""
    return BuiltinTypes(dialect)


def type_of(dialect: Dialect, type: ResourceType) -> Struct | None:
    """The built-in type of a resource; None for custom resources."""
    group, _, domain = type.group.partition(".")
    if domain and not f".{domain}".endswith(f".{dialect.group_domain}"):
        return None
    try:
        return _types(dialect).struct(f"{group or 'core'}/{type.version}.{type.kind}")
    except (FileNotFoundError, KeyError):
        return None


def patch_type(struct: Struct | None) -> str:
    return MERGE_PATCH if struct is None else STRATEGIC_PATCH


def changes(struct: Struct | None, last: Object, wanted: Object, live: Object) -> Object:
    """The patch of the whole object: differing fields of `wanted`, and null for fields that are in
    `last` and `live` but not in `wanted`. Empty if nothing changes."""
    patch = _object(struct, last, wanted, live)
    for name in ("apiVersion", "kind"):
        patch.pop(name, None)
    return patch


def _object(kind: Type | None, last: Object, wanted: Object, live: Object) -> Object:
    """The patch of a map. Null counts as absent, also in the live object: some clients write
    `creationTimestamp: null`."""
    patch: Object = {}
    for name, value in wanted.items():
        if value is None:
            if live.get(name) is not None:
                patch[name] = None
        elif name not in live:
            patch[name] = value
        else:
            patch |= _member(_field(kind, name), name, last.get(name), value, live[name])
    for name in last:
        if name not in wanted and live.get(name) is not None:
            patch[name] = None
    return patch


def _field(kind: Type | None, name: str) -> Field | None:
    if isinstance(kind, Struct):
        return kind.fields.get(name)
    return Field(name, kind.element) if isinstance(kind, MapOf) else None


def _member(field: Field | None, name: str, last: Any, wanted: Any, live: Any) -> Object:
    """The patch of one field that both the wanted and the live object have."""
    if isinstance(wanted, dict) and isinstance(live, dict) and not (field and field.replace):
        before = last if isinstance(last, dict) else {}
        inner = _object(field.type if field else None, before, wanted, live)
        if inner and field is not None and field.retain_keys:
            inner[RETAIN_KEYS] = sorted(key for key in wanted if wanted[key] is not None)
        return {name: inner} if inner else {}
    if isinstance(wanted, list) and isinstance(live, list) and field is not None and field.merge:
        listed = last if isinstance(last, list) else []
        if field.merge_key:
            return _items(field, listed, wanted, live)
        return _values(name, listed, wanted, live)
    return {} if equal(wanted, live) else {name: wanted}


def _items(field: Field, last: list[Any], wanted: list[Any], live: list[Any]) -> Object:
    """The patch of a list whose items have a merge key."""
    name, key = field.name, field.merge_key
    by_key = [_indexed(items, key) for items in (last, wanted, live)]
    if by_key[1] is None or by_key[2] is None:
        # Items without a unique key: the server cannot merge them either, so replace the list.
        return {} if equal(wanted, live) else {name: [*wanted, {DIRECTIVE: "replace"}]}
    before, stated, standing = by_key[0] or {}, by_key[1], by_key[2]
    element = field.type.element if isinstance(field.type, ListOf) else None
    patch: list[Object] = []
    for id, item in stated.items():
        if id not in standing:
            patch.append(item)
            continue
        inner = _object(element, before.get(id, {}), item, standing[id])
        if inner and field.retain_keys:
            inner[RETAIN_KEYS] = sorted(item)
        if inner:
            patch.append({key: item[key], **inner})
    patch += [
        {key: item[key], DIRECTIVE: "delete"}
        for id, item in before.items()
        if id not in stated and id in standing
    ]
    made: Object = {name: patch} if patch else {}
    if made or _out_of_order(list(stated), list(standing)):
        made[SET_ORDER + name] = [{key: item[key]} for item in wanted]
    return made


def _indexed(items: list[Any], key: str) -> dict[str, Object] | None:
    """Items by merge key; None if an item has no key or keys repeat."""
    found: dict[str, Object] = {}
    for item in items:
        if not isinstance(item, dict) or item.get(key) is None:
            return None
        found[name_of(item[key])] = item
    return found if len(found) == len(items) else None


def _out_of_order(wanted: list[str], live: list[str]) -> bool:
    both = set(wanted) & set(live)
    return [one for one in wanted if one in both] != [one for one in live if one in both]


def _values(name: str, last: list[Any], wanted: list[Any], live: list[Any]) -> Object:
    """The patch of a list that is a set of scalars, such as finalizers."""
    stated, standing = ({name_of(item): item for item in items} for items in (wanted, live))
    added = [one for id, one in stated.items() if id not in standing]
    gone = [one for one in last if name_of(one) not in stated and name_of(one) in standing]
    made: Object = {name: added} if added else {}
    if gone:
        made[DELETE_VALUES + name] = gone
    if made or _out_of_order(list(stated), list(standing)):
        made[SET_ORDER + name] = list(stated.values())
    return made
