"""The ASGI application: every request gets an answer, whatever happens."""

from __future__ import annotations

import logging
from time import perf_counter

from fairlead.endpoints.answers import Answer, error_answer
from fairlead.endpoints.chain import Handler
from fairlead.endpoints.negotiation import for_errors
from fairlead.endpoints.request import Receive, Request, Scope, Send
from fairlead.endpoints.routing import Target
from fairlead.errors import StatusError, internal, too_many_requests
from fairlead.server.metrics import Metrics

logger = logging.getLogger("fairlead")

_READING = ("GET", "HEAD", "OPTIONS")


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
        kind = 0 if request.method in _READING else 1
        self._under_way[kind] += 1
        counted = True
        try:
            if self._under_way[kind] > self._most[kind] > 0 and not _is_watch(request):
                raise too_many_requests("Too many requests, please try again later.")
            answer = await self.handler.answer(request)
            if request.target.verb == "watch":
                self._under_way[kind] -= 1
                counted = False
        except StatusError as error:
            answer = self._refusal(request, error)
        except Exception:
            logger.exception("cannot answer %s %s", request.method, scope["path"])
            answer = self._refusal(request, internal("the server could not answer the request"))
        finally:
            if counted:
                self._under_way[kind] -= 1
        await self._send(request, answer, send, started)

    async def _send(self, request: Request, answer: Answer, send: Send, started: float) -> None:
        target: Target | None = getattr(request, "target", None)
        if target is not None and target.verb == "watch" and answer.code == 200:
            with self.metrics.watching(target):
                await answer.send(request, send)
            return
        await answer.send(request, send)
        self.metrics.answered(target, request.method, answer.code, perf_counter() - started)

    def _refusal(self, request: Request, error: StatusError) -> Answer:
        values = request.query.get("pretty")
        representation = for_errors(
            self.handler.api.dialect,
            request.header(b"accept"),
            values[0] if values else None,
            request.user_agent,
        )
        return error_answer(error, representation, self.handler.api.resources)


def _is_watch(request: Request) -> bool:
    return "watch" in request.query or "/watch/" in request.scope["path"]
