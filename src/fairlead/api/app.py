"""The application: the entry point for all requests.

Gets and writes of single objects begin at once, and are answered at once unless a step has to wait.
What is left runs in a task, see `request_task`, like all other requests. Every request gets a
response: errors of any kind become Status objects.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from time import perf_counter
from typing import TYPE_CHECKING, Final

from fairlead.api.answers import Answer, error_answer
from fairlead.api.chain import Handler
from fairlead.api.metrics import Metrics
from fairlead.api.negotiation import for_errors
from fairlead.api.observer import Observer, OnEnd
from fairlead.api.parameters import BRIEF, limit
from fairlead.api.request import Request
from fairlead.api.request_task import send, serve, serve_newest
from fairlead.api.routing import is_long_running
from fairlead.auth.authentication.service_accounts import account_claims
from fairlead.auth.authentication.user import MASTERS
from fairlead.auth.authorization.attributes import Refused
from fairlead.base import meter
from fairlead.base.deferred import Deferred, Outcome
from fairlead.base.errors import (
    StatusError,
    internal,
    outcome_unknown,
    over_budget,
    request_timeout,
    store_unavailable,
    too_many_requests,
)
from fairlead.base.logs import Logger
from fairlead.storage.backend import StorageError, Unanswered
from fairlead.wire.incoming.exchange import Exchange

if TYPE_CHECKING:
    from fairlead.api.audit.auditor import Auditor
    from fairlead.api.flow_control.gate import Gate
    from fairlead.api.tracing import RequestTracer
    from fairlead.storage.store import Store
    from fairlead.storage.workers.page import Slot

logger: Final = Logger("fairlead")

READING: Final[tuple[str, ...]] = ("GET", "HEAD", "OPTIONS")
_AT_ONCE: Final[tuple[str, ...]] = ("get", "create", "update", "patch")
_UNCOUNTED: Final = -1  # the weight of requests that are not counted as in flight
_TOO_MANY: Final = "Too many requests, please try again later."
_FROM_STORE: Final[tuple[str, ...]] = ("/api", "/openapi", "/history")
_HEALTH: Final[tuple[str, ...]] = ("/healthz", "/livez", "/readyz")
# Writes that depend only on the version of the object they write, not on other objects of its kind.
_PARTS: Final[tuple[str, ...]] = ("", "status", "scale", "ephemeralcontainers")
_OPTIMISTIC_VERBS: Final = {
    "create": ("", "binding"),
    "update": _PARTS,
    "patch": _PARTS,
    "delete": ("",),
}


class Application:
    """Entry point for all requests: measures them, limits how many run at once, and turns errors
    into Status answers. `slot` holds the in-flight counters of this worker in shared memory,
    because the limit applies to all workers together."""

    def __init__(
        self,
        handler: Handler,
        metrics: Metrics,
        max_reading: int,
        max_writing: int,
        log_request: OnEnd | None = None,
        auditor: Auditor | None = None,
        slot: Slot | None = None,
        on_end: OnEnd | None = None,
        gate: Gate | None = None,
    ) -> None:
        self.handler = handler
        self.metrics = metrics
        self.gate = gate
        self.auditor = handler.auditor = auditor
        self.observer = Observer(metrics, auditor, log_request, on_end)
        self.tracer: RequestTracer | None = None
        self.under_way = metrics.under_way
        self.store = handler.api.store
        self._maximum = (max_reading, max_writing)
        self._taken: list[int] | memoryview = [0, 0] if slot is None else slot.counts
        self._page = slot.page if slot is not None else None
        self._shares_store = not self.store.log.predicts_revisions
        self._has_epoch = self.store.log.has_epoch
        self._is_current = self.store.log.is_current
        self._bad_request_if_unknown = handler.api.dialect.unknown_and_invalid_bad_request
        self._pod_extra = account_claims(handler.api.dialect).pod_name_extra

    def __call__(self, exchange: Exchange) -> Awaitable[None] | None:
        """Answer a request, or return an awaitable that does."""
        started = perf_counter()
        request = Request.of(exchange)
        if self.tracer is not None:
            request.trace = self.tracer.begin(request)
        if self._shares_store and not self._is_current() and _needs_newest(request):
            return serve_newest(self, request, started)
        self.handler.route(request)
        target = request.target
        is_late = limit(request) if request.query or target.verb in BRIEF else False
        if (
            target.verb in _AT_ONCE
            and not is_late
            and self.gate is not None
            and self.auditor is None
            and request.trace is None
            and not exchange.has_more  # many pipelined requests must not occupy the loop
        ):
            return self._begin(request, started)
        return serve(self, request, started, is_behind=is_late)

    def _begin(self, request: Request, started: float) -> Awaitable[None] | None:
        """Answer a request at once. As soon as a step has to wait, returns an awaitable for the
        rest."""
        assert self.gate is not None
        outcome: Outcome[Answer]
        budget: meter.Budget | None = None
        self.observer.requests.at_once = request
        try:
            admitting = self.handler.admit(request)
            if admitting is not None:
                return serve(self, request, started, admitting=admitting)
            request.is_admitted = True
            if request.exchange.head.has_body and not (
                self.handler.reads_whole(request) and request.take_arrived_body()
            ):
                return serve(self, request, started)
            if request.flow is not None:
                seat = request.seat = self.gate.enter(request)
                if seat is None or seat.work.large:
                    return serve(self, request, started)
            if request.is_body_read:
                budget = meter.begin(request.owner)
            outcome = self.handler.answer(request)
        except Exception as error:
            outcome = self.failure(request, error)
        finally:
            self.observer.requests.at_once = None
            if budget is not None:
                meter.end()
        if isinstance(outcome, Deferred):
            _LaterAnswer(self, request, started, outcome)
            return None
        if not isinstance(outcome, Answer):
            return serve(self, request, started, outcome=outcome, budget=budget)
        return self.end(request, outcome, started)

    def end(self, request: Request, answer: Answer, started: float) -> Awaitable[None] | None:
        """Send an answer, and release what the request holds. Returns an awaitable for a large
        answer."""
        request.leave_seat()
        sending = answer.send(request)
        if sending is not None:
            return send(self, request, started, answer, sending)
        self.observer.answered(request, answer.code, started)
        return None

    def optimistic_revision(self, request: Request) -> int:
        """The revision that a write may optimistically start from, because its commit checks that
        nothing relevant has changed since; 0 if the server must catch up first."""
        if not self._has_epoch or request.method in READING or "dryRun" in request.query:
            return 0
        self.handler.route(request)
        target = request.target
        resource = target.resource
        if resource is None or not resource.plentiful or self.handler.remote(request) is not None:
            return 0
        if self.store_for(request) is not self.store:
            return 0
        return (
            self.store.revision
            if target.subresource in _OPTIMISTIC_VERBS.get(target.verb, ())
            else 0
        )

    def store_for(self, request: Request) -> Store:
        """The store of the resource that a routed request is about; the main one for others."""
        resource = request.target.resource
        if resource is None:
            return self.store
        return self.handler.api.store_for(resource)

    def has_pod_token(self, request: Request) -> bool:
        """Whether the client's token is bound to a pod, which must still exist."""
        return self._pod_extra in (request.impersonator or request.user).extra

    def count_in(self, request: Request) -> int:
        """Count a request that begins to run. Returns its weight for `count_out`. Raises 429 if
        there is no gate and the limit of requests in flight is reached."""
        target = request.target
        if self.gate is not None:
            if request.flow is None or target.verb == "watch":
                return _UNCOUNTED
        elif target.is_resource and is_long_running(target):
            return _UNCOUNTED
        kind = 0 if request.method in READING else 1
        weight = 1 if self.gate is None and _is_limited(request) else 0
        self._taken[kind] += weight
        self.under_way[kind] += 1
        if weight and self._maximum[kind]:
            total = self._taken[kind] if self._page is None else self._page.total(kind)
            if total > self._maximum[kind]:
                self.count_out(request, weight)
                raise too_many_requests(_TOO_MANY)
        return weight

    def count_out(self, request: Request, weight: int) -> None:
        if weight != _UNCOUNTED:
            kind = 0 if request.method in READING else 1
            self._taken[kind] -= weight
            self.under_way[kind] -= 1

    def failure(self, request: Request, error: Exception) -> Answer:
        """The answer for an exception that a handler has raised."""
        if isinstance(error, meter.OverBudget):
            error = over_budget(error)
        if isinstance(error, StatusError):
            return self.refusal(request, error)
        if isinstance(error, StorageError):  # already logged by the store
            is_open = isinstance(error, Unanswered) and request.method not in READING
            return self.refusal(request, outcome_unknown() if is_open else store_unavailable())
        logger.log(
            logging.ERROR,
            "cannot answer a request",
            trace=error,
            method=request.method,
            path=request.path,
        )
        if request.audited is not None:
            request.audited.failed(type(error).__name__)
        return self.refusal(request, internal("the server could not answer the request"))

    def refusal(self, request: Request, error: StatusError) -> Answer:
        if error.code == 422 and self._bad_request_if_unknown and _has_unknown_fields(request):
            error = StatusError(400, "BadRequest", error.message, details=error.details)
        if isinstance(error, Refused) and self.handler.refused is not None:
            self.handler.refused(request, error)
        if self.auditor is not None:
            self.auditor.refused(request, error)
        values = request.query.get("pretty")
        representation = for_errors(
            self.handler.api.dialect,
            request.header(b"accept"),
            values[0] if values else None,
            request.user_agent,
        )
        return error_answer(error, representation, self.handler.api.resources)


class _LaterAnswer:
    """A request that waits for an event without a task of its own, such as a write for its
    commit."""

    def __init__(
        self, app: Application, request: Request, started: float, outcome: Deferred[Answer]
    ) -> None:
        self._app = app
        self._request = request
        self._started = started
        self._outcome = outcome
        self._weight = app.count_in(request)
        self._is_over = False
        request.exchange.on_timeout(self._time_out)
        outcome.on_done(self._answer)

    def _answer(self, answer: Answer | None, error: BaseException | None) -> None:
        if self._is_over:
            return
        self._is_over = True
        app, request = self._app, self._request
        app.count_out(request, self._weight)
        try:
            if answer is None:
                assert isinstance(error, Exception)
                answer = app.failure(request, error)
            sending = app.end(request, answer, self._started)
            if sending is not None:
                request.exchange.resume_with(sending)
        except Exception:
            logger.exception("cannot answer a request")
            request.exchange.abort()

    def _time_out(self) -> None:
        """The time of the request is up."""
        self._outcome.cancel()
        self._answer(None, request_timeout())


def _has_unknown_fields(request: Request) -> bool:
    return request.operation is not None and request.operation.has_unknown_fields


def _needs_newest(request: Request) -> bool:
    """Whether the answer must reflect all writes acknowledged before the request. Reads that name a
    resourceVersion accept any state at least that new."""
    if not request.path.startswith(_FROM_STORE):
        return False
    return request.method not in READING or not request.query.get("resourceVersion", ("",))[0]


def _is_limited(request: Request) -> bool:
    """Whether the in-flight limit applies to a request."""
    if MASTERS in request.user.groups:
        return False
    target = request.target
    return target.is_resource or not target.path.startswith(_HEALTH)
