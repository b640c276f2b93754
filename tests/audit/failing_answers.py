"""Run in a server's process: a request with the header X-Fail makes it fail, with a text that the
header has."""

from pathlib import Path

from fairlead.endpoints.chain import Handler
from fairlead.endpoints.request import Request

PRELUDE = f"exec(open({str(Path(__file__))!r}).read())" if "__file__" in globals() else ""


def _fail() -> None:
    answer = Handler.answer

    async def failing(self, request: Request):  # type: ignore[no-untyped-def]
        if text := request.header(b"x-fail"):
            raise ValueError(text)
        return await answer(self, request)

    Handler.answer = failing  # type: ignore[method-assign]


if not PRELUDE:
    _fail()
