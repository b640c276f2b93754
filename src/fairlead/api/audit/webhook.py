"""The webhook backend: posts lists of events to another server."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from fairlead.api.audit.backend import Outcome, count_lost
from fairlead.wire.outgoing.response import CallError

PLUGIN = "webhook"
_TIMEOUT = 30.0


class Poster(Protocol):
    """Posts a body and ignores the response; raises CallError."""

    async def send_with_retries(
        self, body: dict[str, Any], timeout: float, first_pause: float
    ) -> None: ...

    async def close(self) -> None: ...


class Webhook:
    def __init__(self, poster: Poster, api_version: str, first_pause: float) -> None:
        self._poster = poster
        self._api_version = api_version
        self._first_pause = first_pause

    def deliver(self, event: bytes) -> Outcome:
        return self.deliver_in_background([event])

    async def deliver_in_background(self, events: list[bytes]) -> bool:
        body = {
            "kind": "EventList",
            "apiVersion": self._api_version,
            "metadata": {},
            "items": [orjson.Fragment(event) for event in events],
        }
        try:
            await self._poster.send_with_retries(body, _TIMEOUT, self._first_pause)
        except CallError as error:
            count_lost(PLUGIN, error.brief, len(events))
            return False
        return True

    async def close(self) -> None:
        await self._poster.close()
