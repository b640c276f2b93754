"""Run in a server's process: a request waits as many seconds as its header X-Hold says, once it was
admitted and read, before anything is done about it."""

import asyncio
from pathlib import Path

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.process import handlers

PRELUDE = f"exec(open({str(Path(__file__))!r}).read())" if "__file__" in globals() else ""


class Holding(handlers.Handler):
    async def answer(self, request: Request) -> Answer:
        await asyncio.sleep(float(request.header(b"x-hold") or 0))
        return await super().answer(request)


if not PRELUDE:
    handlers.Handler = Holding  # type: ignore[misc]
