"""Follows requests from their arrival to the end of their answers, and tells the backend.

The stages of a request are RequestReceived, once it is known who asks; ResponseStarted, if it may
last as long as its client likes or was refused before it was known who asks; Panic, if the server
failed; and at the end, whatever it was, ResponseComplete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fairlead.audit.backend import Backend, Outcome
from fairlead.audit.bodies import Collected, answer_json, media_type_of, object_json, success_of
from fairlead.audit.counts import EVENTS, REJECTED
from fairlead.audit.counts import LEVELS as LEVEL_COUNTS
from fairlead.audit.fragments import new_id, stamp
from fairlead.audit.policy import (
    COMPLETE,
    LEVELS,
    PANIC,
    RECEIVED,
    REQUEST,
    REQUEST_RESPONSE,
    STARTED,
    Policy,
    Verdict,
)
from fairlead.audit.record import Names, Record
from fairlead.audit.sources import addresses_of, agent_of, attempts
from fairlead.audit.withholding import shown_status, shown_uri
from fairlead.authentication.user import User
from fairlead.authorization.requests import Target, attributes_of
from fairlead.dialect import Dialect
from fairlead.endpoints.answers import Answer, LongAnswer
from fairlead.endpoints.chain import is_long_running
from fairlead.endpoints.request import Request
from fairlead.errors import StatusError, internal
from fairlead.kinds.resources import Resources
from fairlead.operations.aside import aside

ReadBody = Callable[[Resources, bytes, str, bool], bytes | None]

_LEVEL_LABELS = tuple((level,) for level in LEVELS)
_NOBODY = User("")
_CUT_OFF: dict[str, Any] = {
    "metadata": {},
    "status": "Failure",
    "message": "unexpected EOF",
    "code": 500,
}


class Auditor:
    """The audit log of a server."""

    def __init__(
        self, policy: Policy, backend: Backend, dialect: Dialect, resources: Resources
    ) -> None:
        self.names = Names(dialect.group_domain)
        self.resources = resources
        self._policy = policy
        self._backend = backend
        self._late: set[asyncio.Future[bool]] = set()

    # The way of a request

    def begin(self, request: Request) -> Record:
        """A request has come; its answer will tell under which id it is recorded."""
        audit_id = request.header(b"audit-id") or new_id()
        request.exchange.lines = b"audit-id: %b\r\n" % audit_id.encode("latin-1")
        record = request.audited = Record(self.names, audit_id, stamp())
        return record

    async def received(self, request: Request) -> None:
        record = _record(request)
        self._judge(request, record, request.user)
        if record.level and RECEIVED not in record.verdict.omitted:
            outcome = self.tell(record, RECEIVED, record.received)
            if outcome is not True and not await _stored(outcome):
                REJECTED.add()
                raise internal("failed to store audit event")

    def refused(self, request: Request, error: StatusError) -> None:
        """The answer will be an error."""
        record = _record(request)
        if not record.judged:
            record.is_early = True
            self._judge(request, record, None)
        if record.level:
            record.status = shown_status(error, request.target, record.level)
            if record.is_early and error.code == 401:
                record.status["message"] = attempts(request)

    async def answered(self, request: Request, answer: Answer) -> None:
        """The answer is known and about to be sent. What is sent at once is told as complete
        before that, so that whoever has an answer finds it in the log."""
        record = _record(request)
        if not record.level or record.completed:
            return
        self._complement(request, record, answer.code)
        if record.status is None:
            record.status = success_of(self.resources, record.verb, answer)
        if record.level >= REQUEST:
            await self._add_objects(request, record, answer)
        long_running = is_long_running(request.target)
        if record.is_early or long_running:
            await self._tell_stage(record, STARTED)
        if record.panic:
            await self._tell_panic(record)
        if isinstance(answer, LongAnswer) or (long_running and type(answer) is not Answer):
            return  # it is sent little by little
        record.completed = True
        await self._tell_stage(record, COMPLETE)

    def ended(self, request: Request) -> None:
        """Nothing more will be sent."""
        record = _record(request)
        if record.completed:
            return
        record.completed = True
        if not record.judged:
            self._judge(request, record, None)
        if not record.level:
            return
        if not record.code:
            self._complement(request, record, 500)
            record.status = _CUT_OFF
        if record.collected is not None:
            self._add_collected(record, record.collected)
        if COMPLETE not in record.verdict.omitted:
            self._finish_later(self.tell(record, COMPLETE, stamp()))

    def _judge(self, request: Request, record: Record, user: User | None) -> None:
        """Ask the policy, and note what is known from the start."""
        target = request.target
        name = target.name
        if not name and request.query and target.is_resource:
            selector = request.parameter("fieldSelector")
            name = attributes_of(user or _NOBODY, target, selector).name
        record.judged = True
        record.verdict = self.verdict(user, target, name)
        if not record.level:
            return
        record.user = user
        record.uri = shown_uri(request.path, request.exchange.head.query)
        record.verb = target.verb
        record.addresses = addresses_of(request)
        record.agent = agent_of(request)
        if target.is_resource:
            record.refer(target, name)

    def verdict(self, user: User | None, target: Target, name: str) -> Verdict:
        verdict = self._policy.verdict(user, target, name)
        LEVEL_COUNTS.add(of=_LEVEL_LABELS[verdict.level])
        return verdict

    def _complement(self, request: Request, record: Record, code: int) -> None:
        """What has become known on the way."""
        record.code = code
        if request.impersonator is not None:
            record.impersonated = request.user
        if request.operation is not None:
            record.complement(request.operation)

    # What went in and came out

    async def _add_objects(self, request: Request, record: Record, answer: Answer) -> None:
        operation = request.operation
        if operation is not None and isinstance(operation.sent, bytes) and operation.sent:
            media_type = media_type_of(request.header(b"content-type"))
            record.request_object = await self._json(
                object_json, record, operation.sent, media_type
            )
        if record.level < REQUEST_RESPONSE:
            return
        if isinstance(answer, LongAnswer):
            record.collected = Collected(answer.media_type)
            answer.pieces = record.collected.follow(answer.pieces)
        elif request.path.startswith("/api"):
            body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
            record.response_object = await self._json(answer_json, record, body, answer.media_type)

    async def _json(
        self, read: ReadBody, record: Record, raw: bytes, media_type: str
    ) -> bytes | None:
        managed_fields = not record.verdict.omits_managed_fields
        return await aside(len(raw), read, self.resources, raw, media_type, managed_fields)

    def _add_collected(self, record: Record, collected: Collected) -> None:
        if collected.overflowed:
            record.annotate(self.names.truncated, "true")
            return
        managed_fields = not record.verdict.omits_managed_fields
        whole, media_type = collected.whole(), collected.media_type
        record.response_object = answer_json(self.resources, whole, media_type, managed_fields)

    # Telling

    def tell(self, record: Record, stage: str, moment: str) -> Outcome:
        record.stage, record.stamp = stage, moment
        EVENTS.add()
        return self._backend.take(record)

    async def _tell_stage(self, record: Record, stage: str) -> None:
        if stage not in record.verdict.omitted:
            outcome = self.tell(record, stage, stamp())
            if not isinstance(outcome, bool):
                await outcome

    async def _tell_panic(self, record: Record) -> None:
        answered, record.status = (
            record.status,
            {
                "metadata": {},
                "status": "Failure",
                "message": f"APIServer panic'd: {record.panic}",
                "reason": "InternalError",
                "code": 500,
            },
        )
        await self._tell_stage(record, PANIC)
        record.status = answered

    def _finish_later(self, outcome: Outcome) -> None:
        if not isinstance(outcome, bool):
            task = asyncio.ensure_future(outcome)
            self._late.add(task)
            task.add_done_callback(self._late.discard)

    async def close(self) -> None:
        """Store what was told; nothing may be told afterwards."""
        await asyncio.gather(*self._late, return_exceptions=True)
        await self._backend.close()


def _record(request: Request) -> Record:
    record = request.audited
    assert isinstance(record, Record)
    return record


async def _stored(outcome: Outcome) -> bool:
    return outcome if isinstance(outcome, bool) else await outcome
