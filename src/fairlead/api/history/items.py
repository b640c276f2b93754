"""Describes changes as history items: time, authors and changed fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fairlead.base import budget
from fairlead.base.errors import clipped
from fairlead.base.slices import TimeSlices
from fairlead.codec.types.times import format_micro_time
from fairlead.fields.entries import fields_of, identity_of
from fairlead.fields.field_sets import contains, covers, difference, path_text, paths
from fairlead.operations.api import Object
from fairlead.operations.operation import Actor, RevisionAuthors
from fairlead.storage.version import ADDED, Change, Version

EXISTING = "EXISTING"  # created before the oldest stored change
_MAX_MANAGERS = 20


class HistoryItems:
    """Makes items from changes. Knows the authors of recent changes of this process."""

    def __init__(self, actors: RevisionAuthors) -> None:
        self._actors = actors
        self._slices = TimeSlices()

    async def item(self, change: Change) -> Object:
        """An item for a change; large objects are processed in a thread."""
        old = change.before
        size = change.size + (len(old.body or b"") if old is not None else 0)
        await self._slices.pause()
        return await budget.run(size, self._item, change)

    def _item(self, change: Change) -> Object:
        old = change.before.object() if change.before is not None else None
        new = change.after.object() if change.after is not None else None
        actor = self._actors.find(change.revision)
        manager = actor.manager if actor is not None and new is not None else ""
        by = _authors(_entries(old), _entries(new), manager)
        item = _head(change.revision, change.kind, change.key, new or old or {})
        created = _metadata(new).get("creationTimestamp") if change.kind == ADDED else None
        _set_author(item, actor, by, created)
        if old is not None and new is not None:
            item["changed"], more = changed_paths(old, new)
            if more:
                item["more"] = more
            lost = _losses(_entries(old), _entries(new), by)
            if lost:
                item["lost"] = lost
        return item

    async def existing(self, version: Version) -> Object:
        """An item for an object that existed before the oldest stored change."""
        return await budget.run(len(version.body or b""), self._existing, version)

    def _existing(self, version: Version) -> Object:
        value = version.object()
        managers = _entries(value)
        newest = max((entry.get("time") or "" for entry in managers), default="")
        by = [entry for entry in managers if (entry.get("time") or "") == newest]
        item = _head(version.revision, EXISTING, version.key, value)
        created = _metadata(value).get("creationTimestamp")
        _set_author(item, self._actors.find(version.revision), by, created)
        return item


def _head(revision: int, kind: str, key: str, value: Object) -> Object:
    namespace, _, name = key.rpartition("/")
    item: Object = {"resourceVersion": str(revision), "type": kind}
    if namespace:
        item["namespace"] = namespace
    item["name"] = name
    uid = _metadata(value).get("uid")
    if uid:
        item["uid"] = uid
    return item


def _set_author(
    item: Object, actor: Actor | None, by: Sequence[Object], created: str | None
) -> None:
    """Set author and time: from this process's memory if known, else from the object's
    managedFields and creationTimestamp."""
    time = max((entry.get("time") or "" for entry in by), default="") or created
    if actor is not None:
        time = format_micro_time(datetime.fromtimestamp(actor.seconds, UTC))
    if time:
        item["time"] = time
    item["by"] = [_manager(entry) for entry in by[:_MAX_MANAGERS]]
    if actor is not None:
        item["user"] = actor.user
        if actor.impersonator:
            item["impersonator"] = actor.impersonator


def _authors(old: list[Object], new: list[Object], manager: str) -> list[Object]:
    """The managedFields entries of a change's authors: those of the manager, if its name is known.
    Else those with a new time or added fields; entries that only lost fields did not write."""
    old_entries = {identity_of(entry): entry for entry in old}
    changed = [entry for entry in new if old_entries.get(identity_of(entry)) != entry]
    if manager:
        own_entries = [entry for entry in changed if entry.get("manager") == manager]
        return own_entries or [{"manager": manager}]
    return [entry for entry in changed if _has_written(entry, old_entries.get(identity_of(entry)))]


def _has_written(entry: Object, old: Object | None) -> bool:
    if old is None or entry.get("time") != old.get("time"):
        return True
    return not covers(fields_of(old), fields_of(entry))


def _losses(old: list[Object], new: list[Object], by: list[Object]) -> list[Object]:
    """What managers lost that did not write: the fields, and the authors who own them now. Fields
    that nobody of them owns were removed."""
    authors = {entry.get("manager") for entry in by}
    left = {identity_of(entry): fields_of(entry) for entry in new}
    losses: dict[tuple[str, ...], Object] = {}
    for entry in old:
        identity = identity_of(entry)
        if entry.get("manager") in authors:
            continue
        for path in paths(difference(fields_of(entry), left.get(identity, {}))):
            owners = [one.get("manager", "") for one in by if contains(fields_of(one), path)]
            key = (*identity, *owners)
            if key not in losses and len(losses) == _MAX_MANAGERS:
                continue
            loss = losses.setdefault(key, {**_manager(entry), "to": owners, "fields": []})
            if len(loss["fields"]) < MAX_PATHS:
                loss["fields"].append(clipped(path_text(path)[1:], _LONGEST_PATH))
            else:
                loss["more"] = loss.get("more", 0) + 1
    return list(losses.values())


def _manager(entry: Object) -> Object:
    names = ("manager", "operation", "subresource", "time")
    return {name: entry[name] for name in names if entry.get(name)}


def _metadata(value: Object | None) -> dict[str, Any]:
    metadata: dict[str, Any] = (value or {}).get("metadata") or {}
    return metadata


def _entries(value: Object | None) -> list[Object]:
    return _metadata(value).get("managedFields") or []


# Changed fields of an object

MAX_PATHS = 20
_LONGEST_PATH = 256
# Fields that change with every write.
_NOISE = frozenset(("managedFields", "resourceVersion", "generation"))
_PLAIN = re.compile(r"[^.\[\]\\]+")


def changed_paths(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[list[str], int]:
    """The paths of fields that differ (`spec.replicas`, `spec.ports[0].port`), and how many more
    there are."""
    paths: list[str] = []
    more = 0
    for path in _differences(_quiet(old), _quiet(new), ""):
        if len(paths) < MAX_PATHS:
            paths.append(clipped(path, _LONGEST_PATH))
        else:
            more += 1
    return paths, more


def _quiet(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata") or {}
    return {**value, "metadata": {key: metadata[key] for key in metadata if key not in _NOISE}}


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    """Yield the paths that differ. An added or removed field counts as a whole, and so does a list
    of another length."""
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*old, *(key for key in new if key not in old)):
            below = _below(path, key)
            if key in old and key in new:
                yield from _differences(old[key], new[key], below)
            else:
                yield below
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (old_item, new_item) in enumerate(zip(old, new, strict=True)):
            yield from _differences(old_item, new_item, f"{path}[{index}]")
    else:
        yield path


def _below(path: str, key: str) -> str:
    if _PLAIN.fullmatch(key):
        return f"{path}.{key}" if path else key
    if "]" not in key:
        return f"{path}[{key}]"
    escaped = re.sub(r"([.\[\]\\])", r"\\\1", key)
    return f"{path}.{escaped}" if path else escaped
