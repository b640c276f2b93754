"""Runs a request in a task: the steps that may wait.

The functions get the `Application`, whose own methods never wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import perf_counter
from typing import TYPE_CHECKING

from fairlead.api import tracing
from fairlead.api.answers import Answer
from fairlead.api.flow_control.turns import wait_for_turn
from fairlead.api.parameters import limit
from fairlead.api.request import Request
from fairlead.base import meter
from fairlead.base.deferred import Outcome
from fairlead.base.errors import (
    StatusError,
    request_timeout,
    store_unavailable,
    too_many_requests,
)
from fairlead.base.tracing import step
from fairlead.base.waiting import result_of
from fairlead.storage.backend import StorageError
from fairlead.storage.writes import OptimisticWrites, Outdated
from fairlead.wire.incoming.exchange import (
    SWITCHING_PROTOCOLS,
    BodyTooLarge,
    ClientGone,
    Exchange,
)
from fairlead.wire.incoming.limits import TooManyBodies
from fairlead.wire.incoming.transfer import read_body

if TYPE_CHECKING:
    from fairlead.api.app import Application
    from fairlead.api.audit.auditor import Auditor
    from fairlead.api.flow_control.gate import Seat
    from fairlead.storage.store import Store

_STREAMING = (200, SWITCHING_PROTOCOLS)
_TOO_MANY_BODIES = "Too many large requests at once, please try again later."


async def serve(
    app: Application,
    request: Request,
    started: float,
    *,
    is_behind: bool = False,
    since: int = 0,
    admitting: Awaitable[None] | None = None,
    outcome: Outcome[Answer] | None = None,
    budget: meter.Budget | None = None,
) -> None:
    """Answer a routed request. `is_behind` means that it must not run; `since` is the revision that
    a write optimistically starts from. `admitting` and `outcome` are steps that `Application` has
    begun, within `budget`."""
    observer = app.observer
    key = observer.begin(request)
    try:
        try:
            if is_behind:
                raise request_timeout() if request.exchange.timed_out else store_unavailable()
            if since:
                answer = await _try_optimistically(app, request, since)
            else:
                answer = await _handle(app, request, admitting, outcome, budget)
        except ClientGone:
            raise
        except Exception as error:
            answer = app.failure(request, error)
        if app.auditor is not None:
            await _audit(request, answer, app.auditor)
        target = request.target
        if target.verb == "watch" and target.is_stream and answer.code in _STREAMING:
            await _stream(app, request, answer, started)
            return
        with step("SerializeObject") as span:
            if span is not None:
                span.note({"mediaType": answer.media_type})
            sending = answer.send(request)
            if sending is not None:
                await sending
    except ClientGone:
        if request.trace is not None:
            request.trace.finish(request, 0, perf_counter() - started)
        raise
    except asyncio.CancelledError:
        if request.exchange.started or not _ran_out_of_time(request.exchange):
            raise
        answer = await _send_timeout(app, request)
    finally:
        observer.leave(key, request)
    observer.answered(request, answer.code, started)


async def serve_newest(app: Application, request: Request, started: float) -> None:
    """Answer a request of a server that may lack commits of other servers."""
    is_behind = False
    since = app.optimistic_revision(request)
    if not since:
        is_behind = not await _catch_up(app, request, app.store)
        app.handler.route(request)
        store = app.store_for(request)
        if store is not app.store and not is_behind:
            is_behind = not await _catch_up(app, request, store)
    is_behind = limit(request) or is_behind
    await serve(app, request, started, is_behind=is_behind, since=since)


async def _catch_up(app: Application, request: Request, store: Store) -> bool:
    """Wait until a store has every revision that any server had acknowledged before this
    request. That includes definitions, authorization rules and admission configuration. False if
    the store fails or the deadline passes."""
    if request.query:  # routed again after catching up
        app.handler.route(request)
        if limit(request):
            return False
    try:
        await store.catch_up()
    except StorageError:
        return False
    except asyncio.CancelledError:
        if not _ran_out_of_time(request.exchange):
            raise
        return False
    return True


async def _try_optimistically(app: Application, request: Request, since: int) -> Answer:
    """Try a write on the local state at revision `since`. If it wrote nothing (a refusal, for
    example), the outcome holds only if the local state turns out to be current. Otherwise the
    request runs again from the start."""
    answer: Answer | None = None
    refusal: StatusError | None = None
    with OptimisticWrites(since) as writes:
        try:
            answer = await _handle(app, request, is_optimistic=True)
        except StatusError as error:
            refusal = error
        except Outdated:
            pass
    if not writes.wrote and not _is_overload(request, refusal):
        await app.store.log.catch_up()
        if app.store.revision > since:
            answer = refusal = None
    if refusal is not None:
        raise refusal
    if answer is not None:
        return answer
    request.start_again()
    app.handler.route(request)
    if app.auditor is not None:
        app.auditor.again(request)
    return await _handle(app, request)


async def _handle(
    app: Application,
    request: Request,
    admitting: Awaitable[None] | None = None,
    outcome: Outcome[Answer] | None = None,
    budget: meter.Budget | None = None,
    is_optimistic: bool = False,
) -> Answer:
    """Admit the request, read its whole body, then run its handler. Its seats are held while the
    answer is made, not while the client reads it."""
    if not request.is_admitted:
        if admitting is None:
            admitting = app.handler.admit(request)
        if admitting is not None:
            await admitting
        request.is_admitted = True
    if request.trace is not None:
        request.trace.admitted(request)
    if is_optimistic and app.has_pod_token(request):
        raise Outdated  # whether the pod exists must be current
    has_body = request.exchange.head.has_body and app.handler.reads_whole(request)
    if has_body and not request.take_arrived_body():
        await _read_body(request)
    weight = app.count_in(request)
    seat: Seat | None = None
    try:
        if request.flow is not None and app.gate is not None:
            seat, request.seat = request.seat or app.gate.enter(request), None
            if seat is None or seat.work.large:
                begun = perf_counter()
                with step("priorityandfairness"):
                    seat = await wait_for_turn(app.gate, request, seat)
                request.waited = perf_counter() - begun
        budget = meter.begin(request.owner, budget)
        if request.trace is None:
            answer = await result_of(app.handler.answer(request) if outcome is None else outcome)
        else:
            answer = await _traced(app, request)
        if seat is not None and request.target.verb == "watch" and answer.code == 200:
            seat.keep()
            request.seat, seat = seat, None
        return answer
    finally:
        if budget is not None:
            request.waited += budget.waited
        if seat is not None:
            seat.leave()
        app.count_out(request, weight)


async def _traced(app: Application, request: Request) -> Answer:
    with step(tracing.verb_span(request.target)) as span:
        if span is not None:
            span.note(tracing.target_attributes(request))
        return await result_of(app.handler.answer(request))


async def _read_body(request: Request) -> None:
    """Read the whole body. Raises ClientGone if the connection ends early, and StatusError if too
    many large bodies are in memory. A body over the limit is dropped; `Request.body` reports it."""
    try:
        request.take_body(await read_body(request.exchange))
    except BodyTooLarge:
        request.take_body(None)
    except TooManyBodies:
        raise too_many_requests(_TOO_MANY_BODIES) from None


async def _audit(request: Request, answer: Answer, auditor: Auditor) -> None:
    storing = auditor.answered(request, answer)
    if storing is not None:
        await storing


async def send(
    app: Application, request: Request, started: float, answer: Answer, sending: Awaitable[None]
) -> None:
    """Finish an answer that is too large to be sent at once."""
    key = app.observer.begin(request)
    try:
        await sending
    finally:
        app.observer.leave(key, request)
    app.observer.answered(request, answer.code, started)


async def _stream(app: Application, request: Request, answer: Answer, started: float) -> None:
    """Send a watch. Most detach from this task and report their end through a callback."""
    series = app.observer.stream_begins(request)
    whole = False
    try:
        await _send(request, answer)
        whole = True
    finally:
        if request.exchange.detached:
            app.observer.stream_detached(series, request, answer.code, started)
        else:
            app.observer.stream_ended(series, request, answer.code, started, whole)


async def _send_timeout(app: Application, request: Request) -> Answer:
    answer = app.refusal(request, request_timeout())
    if app.auditor is not None:
        await _audit(request, answer, app.auditor)
    await _send(request, answer)
    return answer


async def _send(request: Request, answer: Answer) -> None:
    sending = answer.send(request)
    if sending is not None:
        await sending


def _ran_out_of_time(exchange: Exchange) -> bool:
    """Whether the task was cancelled by its deadline and must still send a timeout error. Uncancels
    the task in that case."""
    task = asyncio.current_task()
    if not exchange.timed_out or task is None:
        return False
    task.uncancel()
    return True


def _is_overload(request: Request, refusal: StatusError | None) -> bool:
    """Whether the request was rejected by overload protection, which does not depend on the
    store."""
    return refusal is not None and refusal.code == 429 and request.operation is None
