"""Run in a server's process: a request with the header X-Fail makes it fail, with a text that the
header has."""

from pathlib import Path

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.base.waiting import result_of
from fairlead.process import handlers

PRELUDE = f"exec(open({str(Path(__file__))!r}).read())" if "__file__" in globals() else ""


class Failing(handlers.Handler):
    async def answer(self, request: Request) -> Answer:
        if text := request.header(b"x-fail"):
            raise ValueError(text)
        return await result_of(super().answer(request))


if not PRELUDE:
    handlers.Handler = Failing  # type: ignore[misc]  # for every later handler
