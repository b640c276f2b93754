"""Waits until a server has no work left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from fairlead.api.testing.memory_objects import Handlers, create_handler
from fairlead.base.errors import Cause, StatusError, bad_request
from fairlead.codec.types.durations import parse_duration
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation

KEY = "testing/v1/idlewaits"
_TIMEOUT, _QUIET = "30s", "50ms"
_LONGEST = 600.0
_STEP = 0.002
_MIN_CHECKS = 5


class IdleWaits:
    """Answers idle waits. `requests` counts the requests in progress, including this one and
    excluding watches."""

    def __init__(self, api: Api, requests: Callable[[], int]) -> None:
        self._api = api
        self._requests = requests
        self._waiting = 0

    def handlers(self) -> Handlers:
        return {(KEY, "create"): create_handler(self._wait)}

    async def _wait(self, operation: Operation, value: Object) -> Object:
        spec = value.get("spec") or {}
        timeout = _seconds(spec.get("timeout") or _TIMEOUT)
        took = await self.wait_until_idle(timeout, _seconds(spec.get("quiet") or _QUIET))
        revision = str(self._api.store.revision)
        return {**value, "status": {"resourceVersion": revision, "seconds": round(took, 6)}}

    async def wait_until_idle(self, timeout: float, quiet: float) -> float:
        """Wait until the server has been idle for `quiet` seconds. Returns the seconds it took;
        raises StatusError at the timeout. Checks several times, because due work may be delayed
        together with the event loop."""
        loop = asyncio.get_running_loop()
        start = since = loop.time()
        last_revision, checks = self._revision(), 0
        self._waiting += 1
        try:
            while True:
                await asyncio.sleep(_STEP)
                now, busy = loop.time(), list(self._busy())
                if busy or self._revision() != last_revision:
                    since, last_revision, checks = now, self._revision(), 0
                else:
                    checks += 1
                    if now - since >= quiet and checks >= _MIN_CHECKS:
                        return now - start
                if now - start >= timeout:
                    raise _still_busy(timeout, busy)
        finally:
            self._waiting -= 1

    def _revision(self) -> int:
        return self._api.store.next_revision

    def _busy(self) -> Iterator[Cause]:
        """Yield the work in progress and its place."""
        for name, work in self._api.work.items():
            count = (0 if work.is_paused else len(work)) + work.working + work.retries
            if count:
                yield Cause("Busy", f"{count} objects to look at", f"controllers/{name}")
        for collection in self._api.store.collections():
            if collection.pending:
                yield Cause("Busy", f"{len(collection.pending)} writes", collection.resource)
            lagging = sum(bool(watcher.pending) for watcher in collection.audience)
            if lagging:
                yield Cause("Busy", f"{lagging} watches have not heard all", collection.resource)
        requests = self._requests() - self._waiting
        if requests > 0:
            yield Cause("Busy", f"{requests} requests", "requests")


def _seconds(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise bad_request(f"spec: {error}") from None
    if not 0 <= seconds <= _LONGEST:
        raise bad_request(f"spec: {text} is not from 0 to {_LONGEST:g}s")
    return seconds


def _still_busy(timeout: float, busy: list[Cause]) -> StatusError:
    causes = [cause.as_dict() for cause in busy]
    work = ", ".join(f"{cause.field}: {cause.message}" for cause in busy) or "others keep writing"
    message = f"after {timeout:g}s there is still something to do: {work}"
    return StatusError(504, "Timeout", message, details={"causes": causes})
