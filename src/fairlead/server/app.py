"""The application: every request gets an answer, whatever happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import perf_counter

from fairlead.audit.auditor import Auditor
from fairlead.authentication.user import MASTERS
from fairlead.endpoints.answers import Answer, error_answer
from fairlead.endpoints.chain import Handler, is_long_running
from fairlead.endpoints.negotiation import for_errors
from fairlead.endpoints.request import Request
from fairlead.errors import (
    StatusError,
    internal,
    request_timeout,
    store_unavailable,
    too_many_requests,
)
from fairlead.http.exchange import ClientGone, Exchange
from fairlead.logs import quoted
from fairlead.server.metrics import Metrics
from fairlead.storage.backend import StorageError

logger = logging.getLogger("fairlead")

_READING = ("GET", "HEAD", "OPTIONS")
_TOO_MANY = "Too many requests, please try again later."
_HEALTH = ("/healthz", "/livez", "/readyz")


class Application:
    """Measures requests, bounds how many are under way, and turns errors into Status answers."""

    def __init__(
        self,
        handler: Handler,
        metrics: Metrics,
        most_reading: int,
        most_writing: int,
        log_page: Callable[[Request, int, float], None] | None = None,
        auditor: Auditor | None = None,
    ) -> None:
        self.handler = handler
        self.metrics = metrics
        self._most = (most_reading, most_writing)
        self._taken = [0, 0]
        self._log_page = log_page
        self._auditor = handler.auditor = auditor
        self._under_way = metrics.under_way

    async def __call__(self, exchange: Exchange) -> None:
        started = perf_counter()
        request = Request.of(exchange)
        self.handler.route(request)
        target = request.target
        auditor = self._auditor
        if auditor is not None:
            auditor.begin(request)
        try:
            answer = await self._answer(request)
            if auditor is not None:
                storing = auditor.answered(request, answer)
                if storing is not None:
                    await storing
            if target.verb == "watch" and target.is_resource and answer.code == 200:
                with self.metrics.watching(target):
                    await answer.send(request)
                self._tell(request, answer.code, perf_counter() - started)
                return
            await answer.send(request)
        except asyncio.CancelledError:
            if not exchange.timed_out or exchange.started:
                raise
            answer = self._refusal(request, request_timeout())
            if auditor is not None:
                storing = auditor.answered(request, answer)
                if storing is not None:
                    await storing
            await answer.send(request)
        finally:
            if auditor is not None and not request.audited.completed:
                auditor.ended(request)
        seconds = perf_counter() - started
        self.metrics.answered(target, request.method, answer.code, seconds)
        self._tell(request, answer.code, seconds)

    def _tell(self, request: Request, code: int, seconds: float) -> None:
        if request.operation is None:
            if self._log_page is not None:
                self._log_page(request, code, seconds)
            return
        for observe in self.handler.api.observers:
            observe(request.operation, code, seconds)

    async def _answer(self, request: Request) -> Answer:
        """Nothing is done about a request before it was admitted and read to its end."""
        try:
            await self.handler.admit(request)
            if request.exchange.head.has_body:
                await request.read_body()
            return await self._counted(request)
        except StatusError as error:
            return self._refusal(request, error)
        except StorageError:  # which the store has logged
            return self._refusal(request, store_unavailable())
        except ClientGone:
            raise
        except Exception as error:
            logger.exception("cannot answer %s %s", request.method, quoted(request.path))
            if request.audited is not None:
                request.audited.failed(type(error).__name__)
            return self._refusal(request, internal("the server could not answer the request"))

    async def _counted(self, request: Request) -> Answer:
        """A place is held while the answer is made, not while the client reads it."""
        target = request.target
        if target.is_resource and is_long_running(target):
            return await self.handler.answer(request)
        kind = 0 if request.method in _READING else 1
        place = 1 if _is_limited(request) else 0
        if place and self._taken[kind] >= self._most[kind] > 0:
            raise too_many_requests(_TOO_MANY)
        self._taken[kind] += place
        self._under_way[kind] += 1
        try:
            return await self.handler.answer(request)
        finally:
            self._taken[kind] -= place
            self._under_way[kind] -= 1

    def _refusal(self, request: Request, error: StatusError) -> Answer:
        if self._auditor is not None:
            self._auditor.refused(request, error)
        values = request.query.get("pretty")
        representation = for_errors(
            self.handler.api.dialect,
            request.header(b"accept"),
            values[0] if values else None,
            request.user_agent,
        )
        return error_answer(error, representation, self.handler.api.resources)


def _is_limited(request: Request) -> bool:
    """Whether a request may be told to come back when many are under way."""
    if MASTERS in request.user.groups:
        return False
    target = request.target
    return target.is_resource or not target.path.startswith(_HEALTH)
