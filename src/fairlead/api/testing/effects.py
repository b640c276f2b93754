"""Effects of injected faults."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from fairlead.api.answers import Answer, Verb
from fairlead.api.representation import item_answer
from fairlead.api.request import Request
from fairlead.base.errors import StatusError, not_found
from fairlead.base.reasons import REASONS
from fairlead.base.waiting import result_of
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.selectors import by_name
from fairlead.operations.stored_versions import to_requested
from fairlead.operations.watch import Watch
from fairlead.storage.audience import Event
from fairlead.storage.selection import EVERYTHING


class OnEvents(Protocol):
    """A fault that affects the events of a watch."""

    events: Object

    def happens(self) -> bool: ...


class CutOff(Answer):
    """Closes the connection without a response."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0, b"")

    async def send(self, request: Request) -> None:
        request.exchange.abort()


def error_of(spec: Object) -> StatusError:
    code = spec["code"]
    reason = spec.get("reason") or REASONS.get(code, "InternalError")
    message = spec.get("message") or f"a fault that a test asked for: {reason}"
    return StatusError(code, reason, message, details={}, retry_after=spec.get("retryAfterSeconds"))


async def wait(request: Request, seconds: float) -> None:
    """Delay a request, until its client disconnects at the latest."""
    disconnected = asyncio.Event()
    request.exchange.on_disconnect(disconnected.set)
    try:
        async with asyncio.timeout(seconds):
            await disconnected.wait()
    except TimeoutError:
        pass


def get_handler_at(revision: int) -> Verb:
    """A get handler that reads the state at a revision."""

    async def get(api: Api, request: Request, operation: Operation) -> Answer:
        resource = operation.resource
        selection = by_name(EVERYTHING, operation.name)
        collection = api.collection(resource)
        page = await api.store.page(collection, operation.namespace, selection, revision, 1)
        if not page.entries:
            raise not_found(resource.main.ref(operation.name))
        version = await to_requested(resource, page.entries[0])
        return await result_of(item_answer(api, request, operation, version))

    return get


class FaultyWatch(Watch):
    """A watch that drops or repeats events, and may be disconnected after its first events."""

    def __init__(
        self, watch: Watch, faults: Sequence[OnEvents], request_to_cut: Request | None = None
    ) -> None:
        super().__init__(watch.collection, watch.watcher, watch.past, watch.resource)
        self._faults = faults
        self._request_to_cut = request_to_cut

    def are_prepared(self, events: Sequence[Event]) -> bool:
        """False: all events must pass through `prepare`."""
        return False

    async def prepare(self, events: Sequence[Event]) -> Sequence[Event]:
        if self._request_to_cut is not None:
            asyncio.get_running_loop().call_soon(self._request_to_cut.exchange.abort)
        result: list[Event] = []
        for event in await super().prepare(events):
            result += self._after_faults(event)
        return result

    def _after_faults(self, event: Event) -> list[Event]:
        result = [event]
        for fault in self._faults:
            if fault.happens():
                if fault.events.get("drop"):
                    return []
                result += [event] * int(fault.events.get("repeat") or 0)
        return result
