"""Reads all versions of an object that the server retains, with the standard API only.

A watch from revision 1 fails with the oldest revision that can be watched. A list at exactly that
revision returns the object at that time, and a watch from there all later changes.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import orjson

from fairlead.cli.targets import ObjectReference
from fairlead.cli.versions.served import value_at
from fairlead.client.errors import Expired, NotFound, Unreachable, error_of_status
from fairlead.client.session import Request

Object = dict[str, Any]
KNOWN, CREATED, CHANGED, DELETED = "known", "created", "changed", "deleted"

_BEGINNING = 1
_FLOOR = re.compile(r"too old resource version: \d+ \((\d{1,19})\)")
CHANGES = {"ADDED": CREATED, "MODIFIED": CHANGED, "DELETED": DELETED}
_BOOKMARK = "BOOKMARK"
_MAX_TRIES = 10  # attempts while the server compacts, or ends watches early
# If the object is gone, its last version is unknown: then a bookmark marks the end of the events.
# It arrives two seconds before a watch ends, or the watch ends without it.
_SECONDS = 2
_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Version:
    """The object from a revision on; for a deletion its last state."""

    revision: int
    change: str
    value: Object


@dataclass(frozen=True, slots=True)
class History:
    """`since` is the oldest known revision; 0 if the history is complete."""

    versions: list[Version] = field(default_factory=list)
    since: int = 0


async def history_of(reference: ObjectReference) -> History:
    """All retained versions. Raises NotFound if the server knows the object neither now nor
    before."""
    now = await _listed(reference, {})
    floor = _BEGINNING
    for _ in range(_MAX_TRIES):
        try:
            versions = await _versions(reference, floor, now)
        except Expired as error:
            floor = await _floor(reference, error, floor, now)
            continue
        if not versions and not now["items"]:
            await reference.resource.get(reference.name, reference.namespace)  # raises NotFound
        return History(versions, floor if floor > _BEGINNING else 0)
    raise Expired({"code": 410, "reason": "Expired", "message": "the history changes too fast"})


async def object_at(reference: ObjectReference, revision: str) -> Object:
    """The object at a revision; raises NotFound and Expired."""
    served = await value_at(reference, revision)
    if served is not None:
        return served
    return await _listed_at(reference, revision)


async def _listed_at(reference: ObjectReference, revision: str) -> Object:
    exact = {"resourceVersion": revision, "resourceVersionMatch": "Exact"}
    items = (await _listed(reference, exact))["items"]
    if not items:
        kind = reference.resource.type.qualified
        message = f'{kind} "{reference.name}" not found at revision {revision}'
        raise NotFound({"code": 404, "reason": "NotFound", "message": message})
    return _typed(reference, items[0])


async def _listed(reference: ObjectReference, query: Mapping[str, str]) -> Object:
    return await reference.resource.page(
        reference.namespace, fieldSelector=_only(reference), **query
    )


def _only(reference: ObjectReference) -> str:
    """The field selector of the object, with its name escaped."""
    return "metadata.name=" + re.sub(r"([\\,=])", r"\\\1", reference.name)


async def _versions(reference: ObjectReference, floor: int, now: Object) -> list[Version]:
    """All versions from `floor` until now; raises Expired if `floor` is compacted."""
    versions: list[Version] = []
    try:
        value = await _listed_at(reference, str(floor))
        versions.append(Version(_revision(value), KNOWN, value))
    except (NotFound, Expired):  # watches may reach farther back than lists
        pass
    newest = _revision(now["items"][0]) if now["items"] else 0
    last = floor
    for _ in range(_MAX_TRIES):
        if newest and last >= newest:
            break
        begun = last
        async with aclosing(_events(reference, last)) as events:
            async for event in events:
                last = _revision(event["object"])
                if event["type"] in CHANGES:
                    value = _typed(reference, event["object"])
                    versions.append(Version(last, CHANGES[event["type"]], value))
                if last >= newest if newest else event["type"] == _BOOKMARK:
                    return versions
        if last == begun and not newest:
            break
    if not versions and now["items"]:
        versions.append(Version(newest, KNOWN, _typed(reference, now["items"][0])))
    return versions


async def _events(reference: ObjectReference, revision: int) -> AsyncGenerator[Object]:
    query = {
        "watch": "true",
        "resourceVersion": str(revision),
        "fieldSelector": _only(reference),
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(_SECONDS),
    }
    path = reference.resource.path("", reference.namespace)
    request = Request("GET", path, query, timeout=_TIMEOUT)
    async with reference.resource.session.open(request) as answer:
        async for line in answer.lines():
            if not line.strip():
                continue
            try:
                event = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise Unreachable(f"malformed watch event: {error}", sent=True) from None
            if event["type"] == "ERROR":
                raise error_of_status(event["object"])
            yield event


async def _floor(reference: ObjectReference, error: Expired, tried: int, now: Object) -> int:
    """The oldest known revision: from the error message, or else by binary search with exact
    lists."""
    match = _FLOOR.search(error.message)
    if match and int(match[1]) > tried:
        return int(match[1])
    low, high = tried, int(now["metadata"]["resourceVersion"])
    while high - low > 1:
        middle = (low + high) // 2
        try:
            await _listed(
                reference, {"resourceVersion": str(middle), "resourceVersionMatch": "Exact"}
            )
            high = middle
        except Expired:
            low = middle
    return high


def _revision(value: Mapping[str, Any]) -> int:
    return int(value["metadata"]["resourceVersion"])


def _typed(reference: ObjectReference, item: Object) -> Object:
    """Items of a list have no apiVersion and kind."""
    type = reference.resource.type
    return {"apiVersion": type.api_version, "kind": type.kind, **item}
