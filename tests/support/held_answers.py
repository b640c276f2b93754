"""Run in a server's process: once it was admitted and has its seat, a request waits for the file
that its header X-Until names."""

import asyncio
from pathlib import Path

from fairlead.endpoints.chain import Handler
from fairlead.endpoints.request import Request

PRELUDE = f"exec(open({str(Path(__file__))!r}).read())" if "__file__" in globals() else ""


def _is_there(path: str) -> bool:
    return Path(path).exists()


def _hold() -> None:
    answer = Handler.answer

    async def held(self, request: Request):  # type: ignore[no-untyped-def]
        until = request.header(b"x-until")
        while until and not _is_there(until):  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.005)
        return await answer(self, request)

    Handler.answer = held  # type: ignore[method-assign]


if not PRELUDE:
    _hold()
