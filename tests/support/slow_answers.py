"""Runs in a server's process: delays a request by the seconds in its header X-Hold, after it was
admitted and read and before it is handled."""

import asyncio
from pathlib import Path

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.process import handlers

PRELUDE = f"exec(open({str(Path(__file__))!r}).read())" if "__file__" in globals() else ""


class Holding(handlers.Handler):
    async def answer(self, request: Request) -> Answer:
        await asyncio.sleep(float(request.header(b"x-hold") or 0))
        answer = super().answer(request)
        return answer if isinstance(answer, Answer) else await answer


if not PRELUDE:
    handlers.Handler = Holding  # type: ignore[misc]  # every handler made from now on
