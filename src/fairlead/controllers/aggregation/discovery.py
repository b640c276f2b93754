"""Keeps the resources of extension servers for aggregated discovery."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson

from fairlead.api.discovery import Elsewhere
from fairlead.base.meter import SizeLimitExceeded
from fairlead.codec.bodies import check_values
from fairlead.controllers.aggregation.calls import ExtensionCalls
from fairlead.controllers.aggregation.extension import Extension
from fairlead.controllers.aggregation.registry import Extensions
from fairlead.controllers.queue import WorkQueue
from fairlead.wire.outgoing.response import CallError, check_success

_WORKERS = 4
_TIMEOUT = 5.0  # timeout of a request
_MAX_BYTES = 2 * 1024 * 1024
_MAX_BYTES_ON_LOOP = 64 * 1024  # bytes; longer answers are parsed in a thread
_FRESH_FOR, _FIRST_PAUSE = 60.0, 0.5
_JSON = (("accept", "application/json"),)
_UNKNOWN = Elsewhere((), is_current=False)


class RemoteResources:
    """Requests the APIResourceList of each extension server when its APIService changes and
    periodically. A server that does not answer keeps its last list, which then is not current."""

    def __init__(self, extensions: Extensions, calls: ExtensionCalls) -> None:
        self.generation = 0  # changes with every change of a list
        self._extensions = extensions
        self._calls = calls
        self._known: dict[str, Elsewhere] = {}  # by the name of the APIService
        self._failures: dict[str, int] = {}
        self._queue = WorkQueue[str]("discovery-of-extensions", is_steady=True)

    def find(self, group: str, version: str) -> Elsewhere | None:
        """The resources of a version that an extension server serves; None if none does."""
        extension = self._extensions.serving(group, version)
        if extension is None:
            return None
        entry = self._known.get(extension.name, _UNKNOWN)
        return entry if extension.available else entry._replace(is_current=False)

    async def run(self) -> None:
        """Run until cancelled."""
        self._extensions.listeners.append(self._queue.add)
        try:
            for extension in self._extensions:
                self._queue.add(extension.name)
            async with asyncio.TaskGroup() as group:
                for _ in range(_WORKERS):
                    group.create_task(self._work())
        finally:
            self._extensions.listeners.remove(self._queue.add)

    async def _work(self) -> None:
        while True:
            name = await self._queue.get()
            try:
                pause = await self._refresh(name)
            finally:
                self._queue.done(name)
            if pause:
                self._queue.add_later(name, pause)

    async def _refresh(self, name: str) -> float:
        """Renew one list; returns the seconds until the next time, 0 if a change of the APIService
        will cause it."""
        extension = self._extensions.named(name)
        if extension is None or not extension.available:
            self._failures.pop(name, None)
            if extension is None and self._known.pop(name, None) is not None:
                self.generation += 1
            return 0.0
        try:
            self._keep(name, Elsewhere(await self._fetch(extension), is_current=True))
        except CallError:
            self._keep(name, self._known.get(name, _UNKNOWN)._replace(is_current=False))
            failures = self._failures[name] = self._failures.get(name, 0) + 1
            return min(_FIRST_PAUSE * float(1 << min(failures - 1, 10)), _FRESH_FOR)
        self._failures.pop(name, None)
        return _FRESH_FOR

    def _keep(self, name: str, found: Elsewhere) -> None:
        if self._known.get(name) != found:
            self._known[name] = found
            self.generation += 1

    async def _fetch(self, extension: Extension) -> list[dict[str, Any]]:
        """The entries of the APIResourceList; raises CallError."""
        answer = await self._calls.fetch(
            extension, extension.path, headers=_JSON, timeout=_TIMEOUT, maximum=_MAX_BYTES
        )
        check_success(answer)
        content = answer.content
        if len(content) > _MAX_BYTES_ON_LOOP:
            return await asyncio.to_thread(_parsed, content)
        return _parsed(content)


def _parsed(content: bytes) -> list[dict[str, Any]]:
    try:
        check_values(content)
        listing = orjson.loads(content)
    except (SizeLimitExceeded, orjson.JSONDecodeError) as error:
        raise CallError(f"the answer is no list of resources: {error}") from None
    entries = listing.get("resources") if isinstance(listing, dict) else None
    return list(_entries(entries if isinstance(entries, list) else []))


def _entries(listed: list[Any]) -> Iterator[dict[str, Any]]:
    """The well-formed fields of entries that have a name."""
    for entry in listed:
        if not isinstance(entry, dict) or not _is_text(entry.get("name")) or not entry["name"]:
            continue
        names = ("name", "singularName", "group", "version", "kind")
        found: dict[str, Any] = {name: entry[name] for name in names if _is_text(entry.get(name))}
        found["namespaced"] = entry.get("namespaced") is True
        for name in ("verbs", "shortNames", "categories"):
            if isinstance(entry.get(name), list):
                found[name] = [text for text in entry[name] if _is_text(text)]
        yield found


def _is_text(value: object) -> bool:
    return isinstance(value, str)
