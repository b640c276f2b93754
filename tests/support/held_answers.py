"""Runs in a server's process: after a request was admitted and has its seat, it waits until the
file in its header X-Until exists."""

import asyncio
from pathlib import Path

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.base.waiting import result_of
from fairlead.process import handlers

PRELUDE = f"exec(open({str(Path(__file__))!r}).read())" if "__file__" in globals() else ""


def _is_there(path: str) -> bool:
    return Path(path).exists()


class Holding(handlers.Handler):
    async def answer(self, request: Request) -> Answer:
        until = request.header(b"x-until")
        while until and not _is_there(until):  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.005)
        return await result_of(super().answer(request))


if not PRELUDE:
    handlers.Handler = Holding  # type: ignore[misc]  # for every later handler
