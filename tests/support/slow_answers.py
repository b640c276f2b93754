"""Runs in a server's process: delays a request by the seconds in its header X-Hold, after it was
admitted and read and before it is handled. A request with the header X-Release ends all delays."""

import asyncio
from contextlib import suppress
from pathlib import Path

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.base.waiting import result_of
from fairlead.process import handlers

PRELUDE = f"exec(open({str(Path(__file__))!r}).read())" if "__file__" in globals() else ""


HELD: set[asyncio.Event] = set()


class Holding(handlers.Handler):
    async def answer(self, request: Request) -> Answer:
        if request.header(b"x-release"):
            for event in HELD:
                event.set()
        if seconds := float(request.header(b"x-hold") or 0):
            event = asyncio.Event()
            HELD.add(event)
            with suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)
            HELD.discard(event)
        return await result_of(super().answer(request))


if not PRELUDE:
    handlers.Handler = Holding  # type: ignore[misc]  # for every later handler
