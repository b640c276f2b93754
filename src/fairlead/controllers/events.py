"""Records Event objects about what controllers do.

Recording never blocks or fails the caller: events are written in the background. A repeated event
increments the count of the first, events that differ only in their text are combined after ten
texts, and a rate limit per object drops the rest.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import time_ns

from fairlead.base import clock
from fairlead.base.caches import BoundedCache
from fairlead.base.errors import StatusError
from fairlead.base.logs import Logger
from fairlead.codec.types.times import now
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.registry import Resource
from fairlead.storage.backend import StorageError

logger = Logger("fairlead.controllers")

EVENTS = "core/v1/events"
NORMAL, WARNING = "Normal", "Warning"
MAX_TEXT = 1024
_MAX_WAITING = 5_000
_MAX_CACHED = 4_096
_MAX_CACHED_TEXT = 2 * MAX_TEXT
_BURST, _SECONDS_APART = 25, 300.0  # token bucket per object: size, and seconds per token
# Texts of similar events before they are combined, and seconds that texts are remembered.
_MAX_TEXTS, _TEXTS_LAST = 10, 600.0
_COMBINED = "(combined from similar events): "


@dataclass(slots=True)
class _Allowance:
    """Token bucket for the events about one object."""

    left: float
    at: float

    def take(self) -> bool:
        moment = clock.time()
        passed = max(0.0, moment - self.at)  # the wall clock may be set back
        self.left = min(_BURST, self.left + passed / _SECONDS_APART)
        self.at = moment
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(slots=True)
class _Texts:
    """Hashes of the texts of similar events and the time of the last one."""

    known: set[int]
    at: float

    def are_many_with(self, text: str) -> bool:
        moment = clock.time()
        if moment - self.at > _TEXTS_LAST:
            self.known.clear()
        self.at = moment
        if hash(text) not in self.known and len(self.known) == _MAX_TEXTS - 1:
            return True
        self.known.add(hash(text))
        return False


class EventWriter:
    """Writes the events of all controllers sequentially. Holds at most 5,000 waiting events and
    drops more."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[tuple[Client, Object, str]] = asyncio.Queue(_MAX_WAITING)
        self._texts: BoundedCache[str, _Texts] = BoundedCache(_MAX_CACHED, longest=MAX_TEXT)
        self._written: BoundedCache[str, str] = BoundedCache(_MAX_CACHED, longest=_MAX_CACHED_TEXT)
        self._allowances: BoundedCache[tuple[str, str], _Allowance] = BoundedCache(_MAX_CACHED)

    def submit(self, client: Client, event: Object) -> None:
        """Queue an event unless the rate limit of its object or the queue is exhausted."""
        event, key = self._combined(event)
        about = event["source"]["component"], event["involvedObject"].get("uid", "")
        allowance = self._allowances.get(about)
        if allowance is None:
            allowance = _Allowance(_BURST, clock.time())
            self._allowances.keep(about, allowance, len(about[0]) + len(about[1]))
        if allowance.take() and not self._waiting.full():
            self._waiting.put_nowait((client, event, key))

    def _combined(self, event: Object) -> tuple[Object, str]:
        """The event to write and its deduplication key. The key includes the text unless there were
        too many texts."""
        about, text = _about(event), event["message"]
        texts = self._texts.get(about)
        if texts is None:
            texts = _Texts(set(), clock.time())
            self._texts.keep(about, texts, len(about))
        if texts.are_many_with(text):
            return {**event, "message": (_COMBINED + text)[:MAX_TEXT]}, about
        return event, f"{about}\n{event['involvedObject'].get('fieldPath', '')}\n{text}"

    async def run(self) -> None:
        """Write queued events until cancelled."""
        while True:
            client, event, key = await self._waiting.get()
            try:
                await self._write(client, event, key)
            except (StatusError, StorageError) as error:
                logger.debug("an event was not written", err=error)
            except Exception:
                logger.exception("an event was not written")

    async def _write(self, client: Client, event: Object, key: str) -> None:
        def again(stored: Object) -> Object:
            count, text = stored.get("count", 1) + 1, event["message"]
            return {**stored, "count": count, "lastTimestamp": now(), "message": text}

        namespace = event["metadata"]["namespace"]
        name = self._written.get(key)
        if name is not None:
            try:
                await client.change(EVENTS, namespace, name, again)
            except StatusError as error:
                if error.code != 404:
                    raise
            else:
                return
        created = await client.create(EVENTS, event)
        self._written.keep(key, created["metadata"]["name"], len(key))


def _about(event: Object) -> str:
    """Key of the events that differ only in their text."""
    about = event["involvedObject"]
    subject = (about["kind"], about.get("namespace", ""), about["name"], about.get("uid", ""))
    return "\n".join((event["source"]["component"], *subject, event["type"], event["reason"]))


class Recorder:
    """Records events of one controller, with its component name and, if known, its host."""

    def __init__(self, writer: EventWriter, client: Client, component: str, host: str = "") -> None:
        self._writer = writer
        self._client = client
        self._source = {"component": component, **({"host": host} if host else {})}

    def record(
        self, resource: Resource, value: Object, kind: str, reason: str, text: str, path: str = ""
    ) -> None:
        """Record an event about an object. `kind` is NORMAL or WARNING, `path` the field it is
        about."""
        metadata = value["metadata"]
        moment = now()
        reference = {
            "kind": resource.kind,
            "namespace": metadata.get("namespace", ""),
            "name": metadata["name"],
            "uid": metadata.get("uid", ""),
            "apiVersion": resource.api_version,
            "resourceVersion": metadata.get("resourceVersion", ""),
            "fieldPath": path,
        }
        event = {
            "metadata": {
                "name": f"{metadata['name']}.{time_ns():x}",
                "namespace": metadata.get("namespace") or "default",
            },
            "involvedObject": {name: text for name, text in reference.items() if text},
            "reason": reason,
            "message": text[:MAX_TEXT],
            "source": self._source,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
            "type": kind,
            "eventTime": None,
            "reportingComponent": "",
            "reportingInstance": "",
        }
        self._writer.submit(self._client, event)
