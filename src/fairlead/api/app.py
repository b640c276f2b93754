"""The application: every request gets an answer, whatever happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from fairlead.api.answers import Answer, error_answer
from fairlead.api.chain import Handler, is_long_running
from fairlead.api.metrics import Metrics, Series
from fairlead.api.negotiation import for_errors
from fairlead.api.parameters import timeout_of
from fairlead.api.request import Request
from fairlead.api.stalls import RequestsUnderWay
from fairlead.auth.authentication.service_accounts import account_claims
from fairlead.auth.authentication.user import MASTERS
from fairlead.auth.authorization.attributes import Refused
from fairlead.base.errors import (
    StatusError,
    internal,
    outcome_unknown,
    request_timeout,
    store_unavailable,
    too_many_requests,
)
from fairlead.base.logs import quoted
from fairlead.storage.backend import StorageError, Unanswered
from fairlead.storage.basis import Basis, Outdated
from fairlead.wire.incoming.exchange import SWITCHING_PROTOCOLS, ClientGone, Exchange

if TYPE_CHECKING:
    from fairlead.api.audit.auditor import Auditor
    from fairlead.api.flow_control.gate import Gate
    from fairlead.storage.workers.page import Slot

logger = logging.getLogger("fairlead")

_READING = ("GET", "HEAD", "OPTIONS")
_STREAMING = (200, SWITCHING_PROTOCOLS)
_TOO_MANY = "Too many requests, please try again later."
_FROM_STORE = ("/api", "/openapi", "/history")
_HEALTH = ("/healthz", "/livez", "/readyz")
# What writes one object over the version that it has looked at, and looks at no others of its kind.
_PARTS = ("", "status", "scale", "ephemeralcontainers")
_RESTING = {"create": ("", "binding"), "update": _PARTS, "patch": _PARTS, "delete": ("",)}


class Application:
    """Measures requests, bounds how many are under way, and turns errors into Status answers.
    `slot` is where those of one worker are counted, for the bound is that of all of them."""

    def __init__(
        self,
        handler: Handler,
        metrics: Metrics,
        most_reading: int,
        most_writing: int,
        log_request: Callable[[Request, int, float], None] | None = None,
        auditor: Auditor | None = None,
        slot: Slot | None = None,
        on_end: Callable[[Request, int, float], None] | None = None,
        gate: Gate | None = None,
    ) -> None:
        self.handler = handler
        self.metrics = metrics
        self._most = (most_reading, most_writing)
        self._taken: list[int] | memoryview = [0, 0] if slot is None else slot.counts
        self._page = slot.page if slot is not None else None
        self._log_request = log_request
        self._on_end = on_end
        self._gate = gate
        self._endings: dict[Series, Callable[[bool], None]] = {}
        self._auditor = handler.auditor = auditor
        self._under_way = metrics.under_way
        self.requests = RequestsUnderWay()
        self._store = handler.api.store
        log = self._store.log
        self._shares_store, self._has_epoch = not log.foresees, log.has_epoch
        self._is_current, self._catch_up = log.is_current, log.catch_up
        self._pod_extra = account_claims(handler.api.dialect).pod_name_extra

    async def __call__(self, exchange: Exchange) -> None:
        started = perf_counter()
        request = Request.of(exchange)
        behind = False
        since = 0
        if self._shares_store and not self._is_current() and _needs_newest(request):
            since = self._rests_on(request) if self._has_epoch else 0
            behind = not since and not await self._caught_up(request)
        if not since:
            self.handler.route(request)
        target = request.target
        if request.query or target.verb in BRIEF:
            behind = limit(request) or behind
        auditor = self._auditor
        if auditor is not None:
            auditor.begin(request)
        task = self.requests.begin(request)
        try:
            answer = await self._respond(request, behind, since, started)
            if answer is None:
                return
        finally:
            self.requests.end(task)
            if request.seat is not None:
                request.leave_seat()
            if auditor is not None and not request.audited.completed and not exchange.detached:
                auditor.ended(request)
        seconds = perf_counter() - started
        if exchange.timed_out:
            self.metrics.terminated(target, request.method)
        self.metrics.answered(target, request.method, answer.code, seconds)
        self._tell(request, answer.code, seconds)

    async def _respond(
        self, request: Request, behind: bool, since: int, started: float
    ) -> Answer | None:
        """Send the answer; None if it is a stream, of which is told when that is over."""
        exchange, target = request.exchange, request.target
        try:
            answer = await self._answer(request, behind, since)
            if self._auditor is not None:
                await self._audit(request, answer, self._auditor)
            if target.verb == "watch" and target.is_stream and answer.code in _STREAMING:
                await self._stream(request, answer, started)
                return None
            await answer.send(request)
            return answer
        except asyncio.CancelledError:
            if exchange.started or not _goes_on(exchange):
                raise
        answer = self._refusal(request, request_timeout())
        if self._auditor is not None:
            await self._audit(request, answer, self._auditor)
        await answer.send(request)
        return answer

    @staticmethod
    async def _audit(request: Request, answer: Answer, auditor: Auditor) -> None:
        storing = auditor.answered(request, answer)
        if storing is not None:
            await storing

    async def _stream(self, request: Request, answer: Answer, started: float) -> None:
        """A watch, which mostly goes on behind this."""
        exchange = request.exchange
        series = self.metrics.watch_begins(request.target)
        whole = False
        try:
            await answer.send(request)
            whole = True
        finally:
            if exchange.detached:
                exchange.when_over(self._ending(series, request, answer.code, started))
            else:
                self._end_stream(series, request, answer.code, started, whole)

    def _ending(
        self, series: Series, request: Request, code: int, started: float
    ) -> Callable[[bool], None]:
        """What is to be done when a stream is over: where nobody wants to hear of it one for all of
        a series, and nothing of the request is held."""
        heard = self._auditor or self._on_end or self._log_request
        if heard:
            return partial(self._end_stream, series, request, code, started)
        ending = self._endings.get(series)
        if ending is None:
            ending = self._endings[series] = partial(self._count_end, series)
        return ending

    def _count_end(self, series: Series, _whole: bool) -> None:
        self.metrics.watch_ends(series)

    def _end_stream(
        self, series: Series, request: Request, code: int, started: float, whole: bool
    ) -> None:
        self.metrics.watch_ends(series)
        if whole:
            self._tell(request, code, perf_counter() - started)
        if self._auditor is not None:
            self._auditor.ended(request)

    def _tell(self, request: Request, code: int, seconds: float) -> None:
        if self._on_end is not None:
            self._on_end(request, code, seconds)
        if self._log_request is not None:
            self._log_request(request, code, seconds)

    async def _caught_up(self, request: Request) -> bool:
        """Have everything that anybody was told of before this request, on whichever server: also
        what is served, who may do what, and what admission goes by."""
        if request.query:  # what it is about may be known better afterwards
            self.handler.route(request)
            if limit(request):
                return False
        try:
            await self._catch_up()
        except StorageError:
            return False
        except asyncio.CancelledError:
            if not _goes_on(request.exchange):
                raise
            return False
        return True

    def _rests_on(self, request: Request) -> int:
        """The revision that a write may rest on without asking for a newer one, as its commit will
        tell whether that is good enough; 0 if it has to ask."""
        if request.method in _READING or "dryRun" in request.query:
            return 0
        self.handler.route(request)
        target = request.target
        resource = target.resource
        if resource is None or not resource.plentiful or self.handler.remote(request) is not None:
            return 0
        return self._store.revision if target.subresource in _RESTING.get(target.verb, ()) else 0

    async def _answer(self, request: Request, behind: bool, since: int) -> Answer:
        try:
            if behind:
                raise request_timeout() if request.exchange.timed_out else store_unavailable()
            if since:
                return await self._tried(request, since)
            return await self._made(request)
        except StatusError as error:
            return self._refusal(request, error)
        except StorageError as fault:  # which the store has logged
            is_open = isinstance(fault, Unanswered) and request.method not in _READING
            return self._refusal(request, outcome_unknown() if is_open else store_unavailable())
        except ClientGone:
            raise
        except Exception as unforeseen:
            logger.exception("cannot answer %s %s", request.method, quoted(request.path))
            if request.audited is not None:
                request.audited.failed(type(unforeseen).__name__)
            return self._refusal(request, internal("the server could not answer the request"))

    async def _tried(self, request: Request, since: int) -> Answer:
        """The answer by what is known here if something could be written upon that. Any other one,
        a refusal above all, counts only if nobody was told of anything newer before; else all is
        done again as if the request came now."""
        answer: Answer | None = None
        refusal: StatusError | None = None
        with Basis(since) as basis:
            try:
                answer = await self._made(request, rests=True)
            except StatusError as error:
                refusal = error
            except Outdated:
                pass
        if not basis.wrote and not _is_overload(request, refusal):
            await self._catch_up()
            if self._store.revision > since:
                answer = refusal = None
        if refusal is not None:
            raise refusal
        if answer is not None:
            return answer
        request.start_again()
        self.handler.route(request)
        if self._auditor is not None:
            self._auditor.again(request)
        return await self._made(request)

    async def _made(self, request: Request, *, rests: bool = False) -> Answer:
        """Nothing is done about a request before it was admitted and read to its end. A place is
        held while the answer is made, not while the client reads it."""
        handler = self.handler
        await handler.admit(request)
        if rests and self._pod_extra in (request.impersonator or request.user).extra:
            raise Outdated  # a token that is good as long as its pod is there
        if request.exchange.head.has_body and handler.reads_whole(request):
            await request.read_body()
        target = request.target
        kind = 0 if request.method in _READING else 1
        if self._gate is not None:
            return await self._pass_gate(self._gate, request, kind)
        if target.is_resource and is_long_running(target):
            return await handler.answer(request)
        place = 1 if _is_limited(request) else 0
        taken = self._taken
        taken[kind] += place
        self._under_way[kind] += 1
        try:
            if place and self._most[kind]:
                total = taken[kind] if self._page is None else self._page.total(kind)
                if total > self._most[kind]:
                    raise too_many_requests(_TOO_MANY)
            return await handler.answer(request)
        finally:
            taken[kind] -= place
            self._under_way[kind] -= 1

    async def _pass_gate(self, gate: Gate, request: Request, kind: int) -> Answer:
        if request.flow is None or request.target.verb == "watch":
            return await gate.pass_through(request, self.handler.answer)
        self._under_way[kind] += 1
        try:
            return await gate.pass_through(request, self.handler.answer)
        finally:
            self._under_way[kind] -= 1

    def _refusal(self, request: Request, error: StatusError) -> Answer:
        if isinstance(error, Refused) and self.handler.refused is not None:
            self.handler.refused(request, error)
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


def _goes_on(exchange: Exchange) -> bool:
    """Whether a task that was cancelled was out of time, and has to say so."""
    task = asyncio.current_task()
    if not exchange.timed_out or task is None:
        return False
    task.uncancel()
    return True


def _needs_newest(request: Request) -> bool:
    """Whether the answer must not be older than the request. Readers who name a resource version
    take one that is at least that old."""
    if not request.path.startswith(_FROM_STORE):
        return False
    return request.method not in _READING or not request.query.get("resourceVersion", ("",))[0]


def _is_overload(request: Request, refusal: StatusError | None) -> bool:
    """Whether a request was refused as one too many, which is nothing that the store tells."""
    return refusal is not None and refusal.code == 429 and request.operation is None


def _is_limited(request: Request) -> bool:
    """Whether a request may be told to come back when many are under way."""
    if MASTERS in request.user.groups:
        return False
    target = request.target
    return target.is_resource or not target.path.startswith(_HEALTH)


# How long a request may take, where that is less than the server allows every one.

# Verbs of stored objects that may not take as long as others, and how many seconds they may.
BRIEF = frozenset(("create", "update", "patch", "delete"))
_BRIEF_SECONDS = 34.0


def limit(request: Request) -> bool:
    """Let a request that was routed take as long as it says, but not longer than it may; gives
    whether that is over already, so that nothing need be begun."""
    target = request.target
    if is_long_running(target):
        return False
    try:
        seconds = timeout_of(request) if request.query else 0
    except StatusError:
        seconds = 0  # it is refused for that
    if target.verb in BRIEF and target.resource is not None and not 0 < seconds < _BRIEF_SECONDS:
        seconds = _BRIEF_SECONDS
    if seconds > 0:
        request.exchange.limit(seconds)
        request.deadline = request.exchange.deadline
    return request.exchange.timed_out
