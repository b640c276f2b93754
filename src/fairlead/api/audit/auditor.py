"""Follows requests from arrival to the end of their responses and sends audit events to the
backend.

The stages of a request are RequestReceived, once the user is known; ResponseStarted, for
long-running requests and those refused before authentication; Panic, if the server failed; and
always ResponseComplete at the end.
"""

from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from collections.abc import Awaitable
from typing import Any

from fairlead.api.answers import Answer
from fairlead.api.audit.backend import Backend, Outcome
from fairlead.api.audit.bodies import Bodies, Collected, media_type_of
from fairlead.api.audit.fragments import new_id, stamp
from fairlead.api.audit.metrics import LEVEL_LABELS, REJECTED, event_counts, level_counts
from fairlead.api.audit.policy import COMPLETE, PANIC, RECEIVED, REQUEST, REQUEST_RESPONSE, STARTED
from fairlead.api.audit.reads import Reads
from fairlead.api.audit.record import Record
from fairlead.api.audit.redaction import redacted_status
from fairlead.api.audit.sources import attempts
from fairlead.api.audit.subjects import Subjects
from fairlead.api.request import Request
from fairlead.api.routing import is_long_running
from fairlead.api.streamed_answers import StreamedAnswer
from fairlead.auth.authentication.user import User
from fairlead.base import budget, clock
from fairlead.base.errors import StatusError, internal

_ANSWERED_WITH_STATUS = frozenset(("create", "delete", "deletecollection"))
_CUT_OFF: dict[str, Any] = {
    "metadata": {},
    "status": "Failure",
    "message": "unexpected EOF",
    "code": 500,
}


class Auditor:
    """The audit log of a server."""

    def __init__(
        self,
        backend: Backend,
        subjects: Subjects,
        bodies: Bodies,
        reads: Reads | None = None,
    ) -> None:
        """`reads` writes both events of simple reads at once, if the backend supports it."""
        self.names = subjects.names
        self.subjects = subjects
        self._bodies = bodies
        self._backend = backend
        self._unfinished: set[asyncio.Future[bool]] = set()
        self._waiting: list[Request] = []
        self._emit_read = reads.emit if reads is not None else None
        self._at_once = frozenset(("get", "list") if reads is not None else ())

    # Stages of a request

    def begin(self, request: Request) -> None:
        """Start the record of a request and add its audit ID to the response headers."""
        exchange = request.exchange
        client_id = exchange.head.named.get(b"audit-id")
        audit_id = client_id or new_id()
        exchange.lines = b"audit-id: " + audit_id + b"\r\n"
        record = request.audited = Record(self.names, audit_id, clock.time())
        if client_id:
            record.is_given = True

    def received(self, request: Request) -> Awaitable[None] | None:
        """Record RequestReceived. For a read it is deferred until the read is answered or the event
        loop iterates: most are answered by then, and both events need one write only."""
        record: Record = request.audited
        target = request.target
        if record.judged:  # the request runs again
            return None
        if target.verb not in self._at_once or target.subresource or record.is_given:
            return self._receive(request, record)
        record.waits = True
        if not self._waiting:
            get_running_loop().call_soon(self._catch_up)
        self._waiting.append(request)
        return None

    def again(self, request: Request) -> None:
        """The request runs again: drop the decision and the annotations."""
        record: Record = request.audited
        record.decision = record.annotations = None

    def _catch_up(self) -> None:
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            if request.audited.waits:
                self._receive(request, request.audited)

    def _receive(self, request: Request, record: Record) -> Awaitable[None] | None:
        record.waits = False
        self._judge(request, record, request.impersonator or request.user)
        return self._emit_received(record)

    def _emit_received(self, record: Record) -> Awaitable[None] | None:
        if not record.level or RECEIVED in record.subject.verdict.omitted:
            return None
        decision, record.decision = record.decision, None  # not known at that stage
        outcome = self.emit(record, RECEIVED, record.received)
        record.decision = decision
        return None if outcome is True else _require_stored(outcome)

    def refused(self, request: Request, error: StatusError) -> None:
        """Record that the response will be an error."""
        record: Record = request.audited
        if record.waits:
            self._receive(request, record)
        if not record.judged:
            record.is_early = True
            self._judge(request, record, None)
        if record.level:
            record.status = redacted_status(error, request.target, record.level)
            if record.is_early and error.code == 401:
                record.status["message"] = attempts(request)

    def answered(self, request: Request, answer: Answer) -> Awaitable[None] | None:
        """Record the response, which is about to be sent. Responses that are sent at once are
        recorded as complete before, so that a client which has its response finds it in the log."""
        record: Record = request.audited
        if record.waits:
            if self._emit_read is not None and self._emit_read(request, record, answer):
                return None
            self._receive(request, record)
        if not record.level or record.completed:
            return None
        record.code = answer.code
        if request.impersonator is not None:
            record.impersonated = request.user
        operation, target = request.operation, request.target
        if operation is not None:
            record.complement(target, operation)
        if target.verb in _ANSWERED_WITH_STATUS and record.status is None:
            record.status = self._bodies.success(target.verb, answer)
        long_running = is_long_running(target)
        if record.level >= REQUEST or record.is_early or record.panic or long_running:
            return self._answered_in_stages(request, record, answer, long_running)
        if isinstance(answer, StreamedAnswer) or COMPLETE in record.subject.verdict.omitted:
            return None
        record.completed = True
        outcome = self.emit(record, COMPLETE, stamp())
        return None if isinstance(outcome, bool) else _wait_for(outcome)

    async def _answered_in_stages(
        self, request: Request, record: Record, answer: Answer, long_running: bool
    ) -> None:
        if record.level >= REQUEST:
            await self._add_objects(request, record, answer)
        if record.is_early or long_running:
            await self._emit_stage(record, STARTED)
        if record.panic:
            await self._emit_panic(record)
        if isinstance(answer, StreamedAnswer) or (long_running and type(answer) is not Answer):
            return  # streamed; `ended` completes it
        record.completed = True
        await self._emit_stage(record, COMPLETE)

    def ended(self, request: Request) -> None:
        """Complete the record; the whole response has been sent, or the connection is gone."""
        record: Record = request.audited
        if record.completed:
            return
        if record.waits:
            self._receive(request, record)
        record.completed = True
        if not record.judged:
            self._judge(request, record, None)
        if not record.level:
            return
        if not record.code:
            record.code, record.status = 500, _CUT_OFF
            if request.impersonator is not None:
                record.impersonated = request.user
        if record.collected is not None:
            self._add_collected(record, record.collected)
        if COMPLETE not in record.subject.verdict.omitted:
            self._finish_later(self.emit(record, COMPLETE, stamp()))

    def _judge(self, request: Request, record: Record, user: User | None) -> None:
        """Find the subject of a request and the policy's verdict on it."""
        record.judge(self.subjects.of(request, user))
        level_counts[LEVEL_LABELS[record.level]] += 1

    # Objects in requests and responses

    async def _add_objects(self, request: Request, record: Record, answer: Answer) -> None:
        operation = request.operation
        managed_fields = not record.subject.verdict.omits_managed_fields
        if operation is not None and isinstance(operation.sent, bytes) and operation.sent:
            size, media_type = len(operation.sent), media_type_of(request.header(b"content-type"))
            record.request_object = await budget.run(
                size, self._bodies.request_object, operation, media_type, managed_fields
            )
        if record.level < REQUEST_RESPONSE:
            return
        if isinstance(answer, StreamedAnswer):
            record.collected = Collected(answer.media_type)
            answer.pieces = record.collected.follow(answer.pieces)
        elif request.target.is_resource or request.path.startswith("/api"):
            body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
            record.response_object = await budget.run(
                len(body), self._bodies.response_object, body, answer.media_type, managed_fields
            )

    def _add_collected(self, record: Record, collected: Collected) -> None:
        if collected.overflowed:
            record.annotate(self.names.truncated, "true")
            return
        managed_fields = not record.subject.verdict.omits_managed_fields
        body, media_type = collected.joined(), collected.media_type
        record.response_object = self._bodies.response_object(body, media_type, managed_fields)

    # Events

    def emit(self, record: Record, stage: str, moment: str) -> Outcome:
        record.stage, record.stamp = stage, moment
        event_counts[()] += 1
        return self._backend.accept(record)

    async def _emit_stage(self, record: Record, stage: str) -> None:
        if stage not in record.subject.verdict.omitted:
            outcome = self.emit(record, stage, stamp())
            if not isinstance(outcome, bool):
                await outcome

    async def _emit_panic(self, record: Record) -> None:
        answer_status, record.status = (
            record.status,
            {
                "metadata": {},
                "status": "Failure",
                "message": f"APIServer panic'd: {record.panic}",
                "reason": "InternalError",
                "code": 500,
            },
        )
        await self._emit_stage(record, PANIC)
        record.status = answer_status

    def _finish_later(self, outcome: Outcome) -> None:
        if not isinstance(outcome, bool):
            task = asyncio.ensure_future(outcome)
            self._unfinished.add(task)
            task.add_done_callback(self._unfinished.discard)

    async def close(self) -> None:
        """Wait for pending events and close the backend; no events may follow."""
        await asyncio.gather(*self._unfinished, return_exceptions=True)
        await self._backend.close()


async def _require_stored(outcome: Outcome) -> None:
    """Reject the request if its event could not be stored."""
    if not (outcome if isinstance(outcome, bool) else await outcome):
        REJECTED.add()
        raise internal("failed to store audit event")


async def _wait_for(outcome: Awaitable[bool]) -> None:
    await outcome
