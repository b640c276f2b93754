"""Keeps the OpenAPI documents of extension servers up to date."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

from fairlead.api.openapi.service import NO_OTHERS, Others, Remote
from fairlead.base.logs import Logger
from fairlead.controllers.aggregation.calls import ExtensionCalls
from fairlead.controllers.aggregation.extension import Extension
from fairlead.controllers.aggregation.openapi import document as openapi_document
from fairlead.controllers.aggregation.openapi import merge
from fairlead.controllers.aggregation.openapi.download import (
    DocumentFetcher,
    FetchedDocuments,
    address_of,
    document_name,
    without_tags,
)
from fairlead.controllers.aggregation.proxy import DocumentProxy, converted_answer
from fairlead.controllers.aggregation.registry import Extensions
from fairlead.controllers.queue import WorkQueue
from fairlead.wire.outgoing.response import CallError

logger = Logger("fairlead.controllers.aggregation")

MAX_CONCURRENT = 8
FRESH_FOR = 60.0
FIRST_PAUSE, MAX_PAUSE = 5.0, 3600.0
_MAX_REPORTED_ERRORS = 10  # distinct errors logged per outage
_MIN_INTERVAL = 1.0  # minimum seconds between two fetches of a server


@dataclass(slots=True)
class _ExtensionState:
    """State of one extension server. `is_outdated`: a fetch is due as soon as it is available."""

    extension: Extension
    fetched: FetchedDocuments = field(default_factory=FetchedDocuments)
    is_outdated: bool = True
    failures: int = 0
    reported_errors: set[str] = field(default_factory=set)  # logged since the last success
    fetched_at: float = float("-inf")


class Descriptions:
    """Fetches the documents of each extension server when it becomes available and periodically.
    Documents stay until the APIService is deleted, also while it is unavailable; `others` holds all
    of them."""

    def __init__(
        self,
        extensions: Extensions,
        calls: ExtensionCalls,
        proxy: DocumentProxy,
        kind_mark: str,
    ) -> None:
        self.others: Others = NO_OTHERS
        self._extensions = extensions
        self._proxy = proxy
        self._kind_mark = kind_mark
        self._fetcher = DocumentFetcher(calls, kind_mark)
        self._states: dict[str, _ExtensionState] = {}
        self._queue = WorkQueue[str]("openapi-of-extensions", is_steady=True)

    async def run(self) -> None:
        """Run until cancelled."""
        self._extensions.listeners.append(self._changed)
        try:
            for name in {*self._states, *(extension.name for extension in self._extensions)}:
                self._changed(name)
            async with asyncio.TaskGroup() as group:
                for _ in range(MAX_CONCURRENT):
                    group.create_task(self._work())
        finally:
            self._extensions.listeners.remove(self._changed)

    def _changed(self, name: str) -> None:
        extension = self._extensions.named(name)
        state = self._states.get(name)
        if extension is None:
            if state is not None:
                del self._states[name]
                self._publish()
            return
        if state is None:
            state = self._states[name] = _ExtensionState(extension)
        before, state.extension = state.extension, extension
        if _address_of(before) != _address_of(extension):
            state.is_outdated, state.fetched = True, without_tags(state.fetched)
        if state.is_outdated and extension.available:
            pause = state.fetched_at + _MIN_INTERVAL - asyncio.get_running_loop().time()
            self._queue.add_later(name, max(pause, 0.0))
        if _rank(before) != _rank(extension):
            self._publish()

    async def _work(self) -> None:
        while True:
            name = await self._queue.get()
            try:
                later = await self._refresh(name)
            finally:
                self._queue.done(name)
            if later:
                self._queue.add_later(name, later)

    async def _refresh(self, name: str) -> float:
        """Fetch from an extension server; returns the seconds until the next fetch, 0 if an event
        will trigger it."""
        state = self._states.get(name)
        if state is None:
            return 0.0
        state.is_outdated = True
        if not state.extension.available:
            return 0.0
        state.fetched_at = asyncio.get_running_loop().time()
        before, extension = state.fetched, state.extension
        error = await self._renew(state)
        if self._states.get(name) is not state:
            return 0.0
        if _address_of(extension) != _address_of(state.extension):
            state.fetched = without_tags(before)
            return _MIN_INTERVAL
        if state.fetched != before:
            self._publish()
        if error:
            if (
                error not in state.reported_errors
                and len(state.reported_errors) < _MAX_REPORTED_ERRORS
            ):
                state.reported_errors.add(error)
                logger.warning("no OpenAPI document of an extension server", name=name, err=error)
            state.failures += 1
            return float(min(FIRST_PAUSE * 2 ** min(state.failures - 1, 30), MAX_PAUSE))
        state.is_outdated, state.failures = False, 0
        state.reported_errors.clear()
        return FRESH_FOR

    async def _renew(self, state: _ExtensionState) -> str:
        """Fetch both versions; returns an error text or "". One may succeed without the other."""
        extension, fetcher = state.extension, self._fetcher
        errors = []
        for ask in (fetcher.index, fetcher.fetch_document):
            try:
                state.fetched = await ask(extension, state.fetched)
            except CallError as error:
                errors.append(error.brief)
            except ValueError as error:
                errors.append(str(error))
            # An unexpected error with one server must not stop the others.
            except Exception as error:
                logger.exception(
                    "cannot read the OpenAPI document of an extension server", name=extension.name
                )
                errors.append(type(error).__name__)
        return "; ".join(dict.fromkeys(errors))

    def _publish(self) -> None:
        """Update `others`."""
        ordered = self._in_order()
        parts = [state.fetched.part for state in ordered if state.fetched.part is not None]
        documents = {}
        for state in ordered:
            if (remote := self._remote(state)) is not None:
                documents[document_name(state.extension)] = remote
        if not parts:
            self.others = Others(documents)
            return
        tag = sha256(" ".join(part.identity for part in parts).encode()).hexdigest()
        self.others = Others(documents, tag, partial(_merged, parts, self._kind_mark))

    def _in_order(self) -> list[_ExtensionState]:
        """Sorted by priority, highest first."""
        group_ranks: dict[str, int] = {}
        for state in self._states.values():
            group, rank = state.extension.group, state.extension.group_priority
            group_ranks[group] = max(rank, group_ranks.get(group, rank))

        def order(state: _ExtensionState) -> tuple[int, str, int, str]:
            extension = state.extension
            return (
                -group_ranks[extension.group],
                extension.group,
                -extension.version_priority,
                extension.name,
            )

        return sorted(self._states.values(), key=order)

    def _remote(self, state: _ExtensionState) -> Remote | None:
        """The OpenAPI 3 document of an extension server, if any."""
        name, fetched = state.extension.name, state.fetched
        if fetched.converted is not None:
            address = address_of(document_name(state.extension), fetched.converted.identity)
            return Remote(address, partial(converted_answer, fetched.converted, address))
        if not fetched.address:
            return None
        return Remote(fetched.address, partial(self._proxy.document, name))


def _address_of(extension: Extension) -> tuple[object, ...]:
    """The address and TLS settings of a server."""
    return (extension.host, extension.service_port, extension.ca_bundle, extension.insecure)


def _rank(extension: Extension) -> tuple[int, int]:
    return extension.group_priority, extension.version_priority


def _merged(
    parts: list[openapi_document.Part], kind_mark: str, document: dict[str, Any]
) -> dict[str, Any]:
    return merge.merged(document, parts, kind_mark)
