"""Deliberate bugs of the kinds that the checkers must find, planted into a server before it
starts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any, cast

from fairlead.operations import update as updates
from fairlead.storage.audience import Watcher
from fairlead.storage.collection import Collection
from fairlead.storage.delivery import CommitApplier
from fairlead.storage.followed import FollowedLog
from fairlead.storage.selection import EVERYTHING, Selection
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.version import Change, Version
from fairlead.storage.writes import Pending

_RESOURCE = "core/secrets"


def prelude(name: str) -> str:
    """Return the prelude that plants the bug of that name into a server."""
    tests = Path(__file__).resolve().parent.parent.parent
    return (
        f"import sys; sys.path.insert(0, {str(tests)!r});"
        f" from support.chaos import planted; planted.{name}()"
    )


def _put(owner: Any, name: str, instead: Any) -> None:
    assert hasattr(owner, name), name
    setattr(owner, name, instead)


def _seldom(every: int) -> Iterator[bool]:
    return cycle([*[False] * (every - 1), True])


def answer_before_the_commit() -> None:
    write, written = EmbeddedLog.write, Pending.written

    def write_later(log: EmbeddedLog, pending: Pending) -> None:
        if pending.collection.resource == _RESOURCE:
            asyncio.get_running_loop().call_later(0.05, write, log, pending)
        else:
            write(log, pending)

    def at_once(pending: Pending) -> asyncio.Future[Version]:
        if pending.collection.resource != _RESOURCE:
            return written(pending)
        done: asyncio.Future[Version] = asyncio.get_running_loop().create_future()
        done.set_result(pending.version)
        return done

    _put(EmbeddedLog, "write", write_later)
    _put(Pending, "written", at_once)


def show_an_older_version() -> None:
    get, now = Collection.get, _seldom(20)

    def older(collection: Collection, key: str) -> Version | None:
        superseded = collection._older.get(key, ()) if collection.resource == _RESOURCE else ()
        objects = [version for version in superseded if version.body is not None]
        if len(objects) > 0 and next(now):
            return objects[-1]
        return get(collection, key)

    _put(Collection, "get", older)


def swap_without_comparing() -> None:
    def nothing(*_: Any) -> None:
        pass

    _put(updates, "_check_version", nothing)


def drop_an_event() -> None:
    deliver, now = Watcher.deliver, _seldom(30)

    def mostly(watcher: Watcher, kind: str, change: Change, unbatched: bool = False) -> None:
        if change.resource != _RESOURCE or not next(now):
            deliver(watcher, kind, change, unbatched)

    _put(Watcher, "deliver", mostly)


def tell_an_event_twice() -> None:
    deliver, now = Watcher.deliver, _seldom(30)

    def more(watcher: Watcher, kind: str, change: Change, unbatched: bool = False) -> None:
        deliver(watcher, kind, change, unbatched)
        if change.resource == _RESOURCE and next(now):
            deliver(watcher, kind, change)

    _put(Watcher, "deliver", more)


def leave_out_of_lists() -> None:
    current, now = Collection.current, _seldom(5)

    def without_last(
        collection: Collection, namespace: str, selection: Selection = EVERYTHING
    ) -> list[Version]:
        revision = current(collection, namespace, selection)
        return revision[:-1] if collection.resource == _RESOURCE and next(now) else revision

    _put(Collection, "current", without_last)


def read_without_catching_up() -> None:
    apply_feed = CommitApplier.apply_feed

    async def nothing(log: FollowedLog) -> None:
        pass

    async def late(log: FollowedLog) -> None:
        async for revision, rows in log._source.feed(log._cache.revision):
            await asyncio.sleep(0.03)
            apply_feed(cast(CommitApplier, log._cache), rows, revision)
            log._answer_seen()

    _put(FollowedLog, "catch_up", nothing)
    _put(FollowedLog, "_read_feed", late)


def mark_too_far() -> None:
    _put(Store, "delivered_revision", property(lambda store: store.revision + 20))
