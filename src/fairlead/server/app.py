"""The ASGI application: every request gets an answer, whatever happens."""

from __future__ import annotations

import logging
from time import perf_counter

from fairlead.endpoints.answers import Answer, error_answer
from fairlead.endpoints.chain import Handler
from fairlead.endpoints.negotiation import for_errors
from fairlead.endpoints.request import Receive, Request, Scope, Send
from fairlead.errors import StatusError, internal, too_many_requests
from fairlead.logs import quoted
from fairlead.server.metrics import Metrics

logger = logging.getLogger("fairlead")

_READING = ("GET", "HEAD", "OPTIONS")
_TOO_MANY = "Too many requests, please try again later."


class Application:
    """Measures requests, bounds how many are under way, and turns errors into Status answers."""

    def __init__(
        self, handler: Handler, metrics: Metrics, most_reading: int, most_writing: int
    ) -> None:
        self.handler = handler
        self.metrics = metrics
        self._most = (most_reading, most_writing)
        self._under_way = metrics.under_way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = perf_counter()
        request = Request(scope, receive)
        self.handler.route(request)
        target = request.target
        if target.verb == "watch" and target.is_resource:
            answer = await self._answer(request)
            with self.metrics.watching(target):
                await answer.send(request, send)
            return
        kind = 0 if request.method in _READING else 1
        if self._under_way[kind] >= self._most[kind] > 0:
            answer = self._refusal(request, too_many_requests(_TOO_MANY))
            await answer.send(request, send)
        else:
            self._under_way[kind] += 1
            try:
                answer = await self._answer(request)
                await answer.send(request, send)
            finally:
                self._under_way[kind] -= 1
        self.metrics.answered(target, request.method, answer.code, perf_counter() - started)

    async def _answer(self, request: Request) -> Answer:
        try:
            return await self.handler.answer(request)
        except StatusError as error:
            return self._refusal(request, error)
        except Exception:
            path = quoted(request.scope["path"])
            logger.exception("cannot answer %s %s", request.method, path)
            return self._refusal(request, internal("the server could not answer the request"))

    def _refusal(self, request: Request, error: StatusError) -> Answer:
        values = request.query.get("pretty")
        representation = for_errors(
            self.handler.api.dialect,
            request.header(b"accept"),
            values[0] if values else None,
            request.user_agent,
        )
        return error_answer(error, representation, self.handler.api.resources)
