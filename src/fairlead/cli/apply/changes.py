"""Computes the patch of client-side apply (three-way merge).

It sets fields of the new configuration that differ in the live object, and removes fields that only
the last configuration had. For built-in types it is a strategic merge patch, with lists merged by
their keys as on the server; for others a JSON merge patch.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.base.release import RELEASES, Release
from fairlead.client.discovery import ResourceType
from fairlead.client.resources import MERGE_PATCH, STRATEGIC_PATCH
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.model import Field, ListOf, MapOf, Struct, Type
from fairlead.fields.strategic import DELETE_VALUES, DIRECTIVE, RETAIN_KEYS, SET_ORDER, name_of
from fairlead.fields.values import equal

Object = dict[str, Any]


@cache
def _types(dialect: Dialect, release: Release) -> BuiltinTypes:
    """Cached: the type tables are read once."""
    return BuiltinTypes(dialect, release)


def type_of(dialect: Dialect, type: ResourceType) -> Struct | None:
    """The built-in type of a resource in the latest release that has it; None for custom
    resources. Later releases add fields, and merge those of earlier ones alike."""
    group, _, domain = type.group.partition(".")
    if domain and not f".{domain}".endswith(f".{dialect.group_domain}"):
        return None
    for release in reversed(RELEASES.values()):
        with suppress(FileNotFoundError, KeyError):
            return _types(dialect, release).struct(f"{group or 'core'}/{type.version}.{type.kind}")
    return None


def patch_type(struct: Struct | None) -> str:
    return MERGE_PATCH if struct is None else STRATEGIC_PATCH


def changes(struct: Struct | None, last: Object, desired: Object, live: Object) -> Object:
    """The patch of the whole object: differing fields of `desired`, and null for fields that are in
    `last` and `live` but not in `desired`. Empty if nothing changes."""
    patch = _object(struct, last, desired, live)
    for name in ("apiVersion", "kind"):
        patch.pop(name, None)
    return patch


def _object(kind: Type | None, last: Object, desired: Object, live: Object) -> Object:
    """The patch of a map. Null counts as absent, also in the live object: some clients write
    `creationTimestamp: null`."""
    patch: Object = {}
    for name, value in desired.items():
        if value is None:
            if live.get(name) is not None:
                patch[name] = None
        elif name not in live:
            patch[name] = value
        else:
            patch |= _member(_field(kind, name), name, last.get(name), value, live[name])
    for name in last:
        if name not in desired and live.get(name) is not None:
            patch[name] = None
    return patch


def _field(kind: Type | None, name: str) -> Field | None:
    if isinstance(kind, Struct):
        return kind.fields.get(name)
    return Field(name, kind.element) if isinstance(kind, MapOf) else None


def _member(field: Field | None, name: str, last: Any, desired: Any, live: Any) -> Object:
    """The patch of one field that both the wanted and the live object have."""
    if isinstance(desired, dict) and isinstance(live, dict) and not (field and field.replace):
        before = last if isinstance(last, dict) else {}
        inner = _object(field.type if field else None, before, desired, live)
        if inner and field is not None and field.retain_keys:
            inner[RETAIN_KEYS] = sorted(key for key in desired if desired[key] is not None)
        return {name: inner} if inner else {}
    if isinstance(desired, list) and isinstance(live, list) and field is not None and field.merge:
        listed = last if isinstance(last, list) else []
        if field.merge_key:
            return _items(field, listed, desired, live)
        return _values(name, listed, desired, live)
    return {} if equal(desired, live) else {name: desired}


def _items(field: Field, last: list[Any], desired: list[Any], live: list[Any]) -> Object:
    """The patch of a list whose items have a merge key."""
    name, key = field.name, field.merge_key
    by_key = [_indexed(items, key) for items in (last, desired, live)]
    if by_key[1] is None or by_key[2] is None:
        # Items without a unique key: the server cannot merge them either, so replace the list.
        return {} if equal(desired, live) else {name: [*desired, {DIRECTIVE: "replace"}]}
    before, stated, existing = by_key[0] or {}, by_key[1], by_key[2]
    element = field.type.element if isinstance(field.type, ListOf) else None
    patch: list[Object] = []
    for id, item in stated.items():
        if id not in existing:
            patch.append(item)
            continue
        inner = _object(element, before.get(id, {}), item, existing[id])
        if inner and field.retain_keys:
            inner[RETAIN_KEYS] = sorted(item)
        if inner:
            patch.append({key: item[key], **inner})
    patch += [
        {key: item[key], DIRECTIVE: "delete"}
        for id, item in before.items()
        if id not in stated and id in existing
    ]
    fields: Object = {name: patch} if patch else {}
    if fields or _out_of_order(list(stated), list(existing)):
        fields[SET_ORDER + name] = [{key: item[key]} for item in desired]
    return fields


def _indexed(items: list[Any], key: str) -> dict[str, Object] | None:
    """Items by merge key; None if an item has no key or keys repeat."""
    by_key: dict[str, Object] = {}
    for item in items:
        if not isinstance(item, dict) or item.get(key) is None:
            return None
        by_key[name_of(item[key])] = item
    return by_key if len(by_key) == len(items) else None


def _out_of_order(desired: list[str], live: list[str]) -> bool:
    both = set(desired) & set(live)
    return [key for key in desired if key in both] != [key for key in live if key in both]


def _values(name: str, last: list[Any], desired: list[Any], live: list[Any]) -> Object:
    """The patch of a list that is a set of scalars, such as finalizers."""
    stated, existing = ({name_of(item): item for item in items} for items in (desired, live))
    added = [item for id, item in stated.items() if id not in existing]
    gone = [item for item in last if name_of(item) not in stated and name_of(item) in existing]
    fields: Object = {name: added} if added else {}
    if gone:
        fields[DELETE_VALUES + name] = gone
    if fields or _out_of_order(list(stated), list(existing)):
        fields[SET_ORDER + name] = list(stated.values())
    return fields
