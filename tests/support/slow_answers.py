"""Run in a server's process: a request waits as many seconds as its header X-Hold says, once it was
admitted and read, before anything is done about it."""

import asyncio
from pathlib import Path

from fairlead.endpoints.chain import Handler
from fairlead.endpoints.request import Request

PRELUDE = f"exec(open({str(Path(__file__))!r}).read())" if "__file__" in globals() else ""


def _hold() -> None:
    answer = Handler.answer

    async def held(self, request: Request):  # type: ignore[no-untyped-def]
        await asyncio.sleep(float(request.header(b"x-hold") or 0))
        return await answer(self, request)

    Handler.answer = held  # type: ignore[method-assign]


if not PRELUDE:
    _hold()
