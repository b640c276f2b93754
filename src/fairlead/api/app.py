"""The application: runs one request from arrival to response and audit.

Every request gets a response: errors of any kind become Status objects.
"""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter
from typing import TYPE_CHECKING

from fairlead.api.access import admit
from fairlead.api.answers import Answer, error_answer
from fairlead.api.chain import Handler, is_long_running
from fairlead.api.flow_control.turns import pass_through
from fairlead.api.metrics import Metrics
from fairlead.api.negotiation import for_errors
from fairlead.api.observer import Observer, OnEnd
from fairlead.api.parameters import timeout_of
from fairlead.api.request import Request
from fairlead.auth.authentication.service_accounts import account_claims
from fairlead.auth.authentication.user import MASTERS
from fairlead.auth.authorization.attributes import Refused
from fairlead.base import budget
from fairlead.base.errors import (
    StatusError,
    internal,
    outcome_unknown,
    over_budget,
    request_timeout,
    store_unavailable,
    too_many_requests,
)
from fairlead.base.logs import quoted
from fairlead.storage.backend import StorageError, Unanswered
from fairlead.storage.basis import Basis, Outdated
from fairlead.wire.incoming.exchange import (
    SWITCHING_PROTOCOLS,
    BodyTooLarge,
    ClientGone,
    Exchange,
)
from fairlead.wire.incoming.memory import TooManyBodies
from fairlead.wire.incoming.transfer import read_body

if TYPE_CHECKING:
    from fairlead.api.audit.auditor import Auditor
    from fairlead.api.flow_control.gate import Gate
    from fairlead.storage.workers.page import Slot

logger = logging.getLogger("fairlead")

_READING = ("GET", "HEAD", "OPTIONS")
_STREAMING = (200, SWITCHING_PROTOCOLS)
_TOO_MANY = "Too many requests, please try again later."
_TOO_MANY_BODIES = "Too many large requests at once, please try again later."
_FROM_STORE = ("/api", "/openapi", "/history")
_HEALTH = ("/healthz", "/livez", "/readyz")
# Writes that depend only on the version of the object they write, not on other objects of its kind.
_PARTS = ("", "status", "scale", "ephemeralcontainers")
_OPTIMISTIC_VERBS = {"create": ("", "binding"), "update": _PARTS, "patch": _PARTS, "delete": ("",)}


class Application:
    """Entry point for all requests: measures them, limits how many run at once, and turns errors
    into Status answers. `slot` holds the in-flight counters of this worker in shared memory,
    because the limit applies to all workers together."""

    def __init__(
        self,
        handler: Handler,
        metrics: Metrics,
        most_reading: int,
        most_writing: int,
        log_request: OnEnd | None = None,
        auditor: Auditor | None = None,
        slot: Slot | None = None,
        on_end: OnEnd | None = None,
        gate: Gate | None = None,
    ) -> None:
        self.handler = handler
        self.metrics = metrics
        self._most = (most_reading, most_writing)
        self._taken: list[int] | memoryview = [0, 0] if slot is None else slot.counts
        self._page = slot.page if slot is not None else None
        self._gate = gate
        self._auditor = handler.auditor = auditor
        self.observer = Observer(metrics, auditor, log_request, on_end)
        self._under_way = metrics.under_way
        self._store = handler.api.store
        log = self._store.log
        self._shares_store, self._has_epoch = not log.foresees, log.has_epoch
        self._is_current, self._catch_up = log.is_current, log.catch_up
        self._bad_request_if_unknown = handler.api.dialect.unknown_and_invalid_bad_request
        self._pod_extra = account_claims(handler.api.dialect).pod_name_extra

    async def __call__(self, exchange: Exchange) -> None:
        started = perf_counter()
        request = Request.of(exchange)
        behind = False
        since = 0
        if self._shares_store and not self._is_current() and _needs_newest(request):
            since = self._optimistic_revision(request) if self._has_epoch else 0
            behind = not since and not await self._caught_up(request)
        if not since:
            self.handler.route(request)
        target = request.target
        if request.query or target.verb in BRIEF:
            behind = limit(request) or behind
        observer = self.observer
        key = observer.begin(request)
        try:
            answer = await self._respond(request, behind, since, started)
        finally:
            observer.leave(key, request)
        if answer is not None:
            observer.answered(request, answer.code, started)

    async def _respond(
        self, request: Request, behind: bool, since: int, started: float
    ) -> Answer | None:
        """Send the answer and return it; None for a stream, which is measured and logged when it
        ends."""
        exchange, target = request.exchange, request.target
        try:
            answer = await self._answer(request, behind, since)
            if self._auditor is not None:
                await self._audit(request, answer, self._auditor)
            if target.verb == "watch" and target.is_stream and answer.code in _STREAMING:
                await self._stream(request, answer, started)
                return None
            sending = answer.send(request)
            if sending is not None:
                await sending
            return answer
        except asyncio.CancelledError:
            if exchange.started or not _goes_on(exchange):
                raise
        answer = self._refusal(request, request_timeout())
        if self._auditor is not None:
            await self._audit(request, answer, self._auditor)
        await self._send(request, answer)
        return answer

    @staticmethod
    async def _send(request: Request, answer: Answer) -> None:
        sending = answer.send(request)
        if sending is not None:
            await sending

    @staticmethod
    async def _audit(request: Request, answer: Answer, auditor: Auditor) -> None:
        storing = auditor.answered(request, answer)
        if storing is not None:
            await storing

    async def _stream(self, request: Request, answer: Answer, started: float) -> None:
        """Send a watch. Most detach from this task and report their end through a callback."""
        series = self.observer.stream_begins(request)
        whole = False
        try:
            await self._send(request, answer)
            whole = True
        finally:
            if request.exchange.detached:
                self.observer.stream_detached(series, request, answer.code, started)
            else:
                self.observer.stream_ended(series, request, answer.code, started, whole)

    async def _caught_up(self, request: Request) -> bool:
        """Wait until this server has seen every revision that any server had acknowledged before
        this request. That includes definitions, authorization rules and admission configuration.
        False if the store fails or the deadline passes."""
        if request.query:  # routed again after catching up
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

    def _optimistic_revision(self, request: Request) -> int:
        """The revision that a write may optimistically start from, because its commit checks that
        nothing relevant has changed since; 0 if the server must catch up first."""
        if request.method in _READING or "dryRun" in request.query:
            return 0
        self.handler.route(request)
        target = request.target
        resource = target.resource
        if resource is None or not resource.plentiful or self.handler.remote(request) is not None:
            return 0
        return (
            self._store.revision
            if target.subresource in _OPTIMISTIC_VERBS.get(target.verb, ())
            else 0
        )

    async def _answer(self, request: Request, behind: bool, since: int) -> Answer:
        try:
            if behind:
                raise request_timeout() if request.exchange.timed_out else store_unavailable()
            if since:
                return await self._try_optimistically(request, since)
            return await self._handle(request)
        except StatusError as error:
            return self._refusal(request, error)
        except StorageError as fault:  # already logged by the store
            is_open = isinstance(fault, Unanswered) and request.method not in _READING
            return self._refusal(request, outcome_unknown() if is_open else store_unavailable())
        except ClientGone:
            raise
        except Exception as unforeseen:
            logger.exception("cannot answer %s %s", request.method, quoted(request.path))
            if request.audited is not None:
                request.audited.failed(type(unforeseen).__name__)
            return self._refusal(request, internal("the server could not answer the request"))

    async def _try_optimistically(self, request: Request, since: int) -> Answer:
        """Try a write on the local state at revision `since`. If it wrote nothing (a refusal, for
        example), the outcome holds only if the local state turns out to be current. Otherwise the
        request runs again from the start."""
        answer: Answer | None = None
        refusal: StatusError | None = None
        with Basis(since) as basis:
            try:
                answer = await self._handle(request, optimistic=True)
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
        return await self._handle(request)

    async def _handle(self, request: Request, *, optimistic: bool = False) -> Answer:
        """Admit the request, read its whole body, then run its handler. The in-flight slot is held
        while the answer is made, not while the client reads it."""
        await admit(self.handler, request)
        if optimistic and self._pod_extra in (request.impersonator or request.user).extra:
            raise Outdated  # a token that is bound to a pod: whether the pod exists must be current
        if request.exchange.head.has_body and self.handler.reads_whole(request):
            await _read_body(request)
        kind = 0 if request.method in _READING else 1
        if self._gate is not None:
            if request.flow is None or request.target.verb == "watch":
                return await pass_through(self._gate, request, self._run)
            self._under_way[kind] += 1
            try:
                return await pass_through(self._gate, request, self._run)
            finally:
                self._under_way[kind] -= 1
        if request.target.is_resource and is_long_running(request.target):
            return await self._run(request)
        return await self._run_limited(request, kind)

    async def _run_limited(self, request: Request, kind: int) -> Answer:
        """Run the handler within the limit of requests in flight; raises 429 if it is reached."""
        counted = 1 if _is_limited(request) else 0
        taken = self._taken
        taken[kind] += counted
        self._under_way[kind] += 1
        try:
            if counted and self._most[kind]:
                total = taken[kind] if self._page is None else self._page.total(kind)
                if total > self._most[kind]:
                    raise too_many_requests(_TOO_MANY)
            return await self._run(request)
        finally:
            taken[kind] -= counted
            self._under_way[kind] -= 1

    async def _run(self, request: Request) -> Answer:
        try:
            answer = self.handler.answer(request)
            return answer if isinstance(answer, Answer) else await answer
        except budget.OverBudget as over:
            raise over_budget(over) from None
        except StatusError as error:
            if error.code == 422 and self._bad_request_if_unknown and _has_unknown_fields(request):
                raise StatusError(400, "BadRequest", error.message, details=error.details) from None
            raise

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


async def _read_body(request: Request) -> None:
    """Read the whole body, once. Raises ClientGone if the connection ends early, and StatusError if
    too many large bodies are in memory. A body over the limit is dropped; `Request.body` reports
    it."""
    if request.is_body_read:
        return
    try:
        request.take_body(await read_body(request.exchange))
    except BodyTooLarge:
        request.take_body(None)
    except TooManyBodies:
        raise too_many_requests(_TOO_MANY_BODIES) from None


def _has_unknown_fields(request: Request) -> bool:
    return request.operation is not None and request.operation.has_unknown_fields


def _goes_on(exchange: Exchange) -> bool:
    """Whether the cancelled task ran into its deadline and must still send a timeout error.
    Uncancels the task in that case."""
    task = asyncio.current_task()
    if not exchange.timed_out or task is None:
        return False
    task.uncancel()
    return True


def _needs_newest(request: Request) -> bool:
    """Whether the answer must reflect all writes acknowledged before the request. Reads that name a
    resourceVersion accept any state at least that new."""
    if not request.path.startswith(_FROM_STORE):
        return False
    return request.method not in _READING or not request.query.get("resourceVersion", ("",))[0]


def _is_overload(request: Request, refusal: StatusError | None) -> bool:
    """Whether the request was rejected by overload protection, which does not depend on the
    store."""
    return refusal is not None and refusal.code == 429 and request.operation is None


def _is_limited(request: Request) -> bool:
    """Whether the in-flight limit applies to a request."""
    if MASTERS in request.user.groups:
        return False
    target = request.target
    return target.is_resource or not target.path.startswith(_HEALTH)


# Deadlines of requests that are shorter than the server's general one.

# Verbs on stored objects with a shorter deadline, and that deadline in seconds.
BRIEF = frozenset(("create", "update", "patch", "delete"))
_BRIEF_SECONDS = 34.0


def limit(request: Request) -> bool:
    """Set the deadline of a routed request: its `timeout` parameter, capped for short verbs.
    Returns whether it has already passed, so that no work need begin."""
    target = request.target
    if is_long_running(target):
        return False
    try:
        seconds = timeout_of(request) if request.query else 0
    except StatusError:
        seconds = 0  # `admit` refuses the invalid timeout
    if target.verb in BRIEF and target.resource is not None and not 0 < seconds < _BRIEF_SECONDS:
        seconds = _BRIEF_SECONDS
    if seconds > 0:
        request.exchange.limit(seconds)
        request.deadline = request.exchange.deadline
    return request.exchange.timed_out
