"""Follows requests from their arrival to the end of their answers, and tells the backend.

The stages of a request are RequestReceived, once it is known who asks; ResponseStarted, if it may
last as long as its client likes or was refused before it was known who asks; Panic, if the server
failed; and at the end, whatever it was, ResponseComplete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fairlead import clock
from fairlead.audit.backend import Backend, Outcome
from fairlead.audit.bodies import Bodies, Collected, media_type_of
from fairlead.audit.counts import EVENTS, REJECTED
from fairlead.audit.counts import LEVELS as LEVEL_COUNTS
from fairlead.audit.fragments import Caller, is_plain, new_id, stamp
from fairlead.audit.policy import (
    COMPLETE,
    LEVELS,
    METADATA,
    PANIC,
    RECEIVED,
    REQUEST,
    REQUEST_RESPONSE,
    STARTED,
    Policy,
)
from fairlead.audit.record import Names, Record, Subject, asked, exact_ref, plain_ref
from fairlead.audit.sources import Callers, attempts
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

_LEVEL_LABELS = tuple((level,) for level in LEVELS)
_events, _levels = EVENTS.values, LEVEL_COUNTS.values  # one is counted for every request
_events[()] = 0
_levels.update(dict.fromkeys(_LEVEL_LABELS, 0))
_ANSWERED_WITH_STATUS = frozenset(("create", "delete", "deletecollection"))
_Key = tuple[str, str, int, int]  # path and verb, and which objects user and caller are
_MOST_KNOWN, _LONGEST_KNOWN = 4096, 1024
_AT_ONCE = frozenset(("get", "list"))
_NOBODY = User("")
_CUT_OFF: dict[str, Any] = {
    "metadata": {},
    "status": "Failure",
    "message": "unexpected EOF",
    "code": 500,
}


TellAtOnce = Callable[[Record], int]


def _is_plain(request: Request, record: Record, answer: Answer) -> bool:
    """Whether all that there is to tell of a request that was not refused follows from what was
    asked and who asked."""
    operation = request.operation
    return (
        record.level == METADATA
        and COMPLETE not in record.subject.verdict.omitted
        and type(answer) is Answer
        and not record.is_given
        and request.impersonator is None
        and operation is not None
        and not operation.annotations
        and not operation.resource.deprecation
    )


class Auditor:
    """The audit log of a server."""

    def __init__(
        self,
        policy: Policy,
        backend: Backend,
        dialect: Dialect,
        resources: Resources,
        tell_at_once: TellAtOnce | None = None,
    ) -> None:
        """`tell_at_once` stores the events of a usual request that was answered as it came, and
        gives how many they are; it must not have to wait."""
        self.names = Names(dialect.group_domain)
        self._bodies = Bodies(resources)
        self._policy = policy
        self._backend = backend
        self._callers = Callers()
        self._known: dict[_Key, Subject] = {}
        self._late: set[asyncio.Future[bool]] = set()
        self._waiting: list[Request] = []
        self._tell_at_once = tell_at_once

    # The way of a request

    def begin(self, request: Request) -> None:
        """A request has come; its answer will tell under which id it is recorded."""
        exchange = request.exchange
        given = exchange.head.named.get(b"audit-id")
        audit_id = given.decode("latin-1") if given else new_id()
        exchange.lines = f"audit-id: {audit_id}\r\n".encode("latin-1")
        record = request.audited = Record(self.names, audit_id, clock.time())
        if given:
            record.is_given = True

    def received(self, request: Request) -> Awaitable[None] | None:
        """Nothing can come of a read before it is answered or the loop turns. Until then it is not
        told that it came: most are answered by then, and both are told by one write."""
        record: Record = request.audited
        target = request.target
        if self._tell_at_once is None or target.verb not in _AT_ONCE or target.subresource:
            return self._receive(request, record)
        record.waits = True
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._catch_up)
        self._waiting.append(request)
        return None

    def _catch_up(self) -> None:
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            if request.audited.waits:
                self._receive(request, request.audited)

    def _receive(self, request: Request, record: Record) -> Awaitable[None] | None:
        record.waits = False
        self._judge(request, record, request.impersonator or request.user)
        return self._tell_received(record)

    def _tell_received(self, record: Record) -> Awaitable[None] | None:
        if not record.level or RECEIVED in record.subject.verdict.omitted:
            return None
        outcome = self.tell(record, RECEIVED, record.received)
        return None if outcome is True else _insist(outcome)

    def refused(self, request: Request, error: StatusError) -> None:
        """The answer will be an error."""
        record: Record = request.audited
        if record.waits:
            self._receive(request, record)
        if not record.judged:
            record.is_early = True
            self._judge(request, record, None)
        if record.level:
            record.status = shown_status(error, request.target, record.level)
            if record.is_early and error.code == 401:
                record.status["message"] = attempts(request)

    def answered(self, request: Request, answer: Answer) -> Awaitable[None] | None:
        """The answer is known and about to be sent. What is sent at once is told as complete
        before that, so that whoever has an answer finds it in the log."""
        record: Record = request.audited
        if record.waits:
            record.waits = False
            self._judge(request, record, request.impersonator or request.user)
            if self._tell_at_once is not None and _is_plain(request, record, answer):
                record.code, record.stamp, record.completed = answer.code, stamp(), True
                _events[()] += self._tell_at_once(record)
                return None
            self._tell_received(record)
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
        if isinstance(answer, LongAnswer) or COMPLETE in record.subject.verdict.omitted:
            return None
        record.completed = True
        outcome = self.tell(record, COMPLETE, stamp())
        return None if isinstance(outcome, bool) else _settled(outcome)

    async def _answered_in_stages(
        self, request: Request, record: Record, answer: Answer, long_running: bool
    ) -> None:
        if record.level >= REQUEST:
            await self._add_objects(request, record, answer)
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
            self._finish_later(self.tell(record, COMPLETE, stamp()))

    def _judge(self, request: Request, record: Record, user: User | None) -> None:
        """Find out what a request is about and what the policy says of that."""
        caller = self._callers.of(request)
        target = request.target
        if request.query:
            known = self._subject(request, user, caller)
        else:
            key = (request.path, target.verb, id(user), id(caller))
            found = self._known.get(key)
            if found is not None and found.user is user and found.caller is caller:
                known = found
            else:
                known = self._subject(request, user, caller)
                self._remember(key, known)
        record.judge(known)
        _levels[_LEVEL_LABELS[record.level]] += 1

    def _remember(self, key: _Key, subject: Subject) -> None:
        """Keep a subject for who asks again; all are forgotten when there are many, which costs
        those who never ask the same less than to find the oldest would."""
        if len(subject.asked) + len(subject.ref) <= _LONGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = subject

    def _subject(self, request: Request, user: User | None, caller: Caller) -> Subject:
        target, query = request.target, request.exchange.head.query
        name = target.name
        if not name and request.query and target.is_resource:
            selector = request.parameter("fieldSelector")
            name = attributes_of(user or _NOBODY, target, selector).name
        return self.subject(user, target, name, shown_uri(request.path, query), caller)

    def subject(
        self, user: User | None, target: Target, name: str, uri: str, caller: Caller
    ) -> Subject:
        ref = ""
        if target.is_resource:
            # Parts of the path are plain where all of it is.
            plain = uri.startswith(target.path) and (name == target.name or is_plain(name))
            ref = plain_ref(target, name) if plain else exact_ref(target, name)
        verdict = self._policy.verdict(user, target, name)
        told = asked(self.names, user, target.verb, uri)
        namespace = target.namespace if target.is_resource else ""
        return Subject(user, target.verb, uri, namespace, name, caller, verdict, told, ref)

    # What went in and came out

    async def _add_objects(self, request: Request, record: Record, answer: Answer) -> None:
        operation = request.operation
        managed_fields = not record.subject.verdict.omits_managed_fields
        if operation is not None and isinstance(operation.sent, bytes) and operation.sent:
            size, media_type = len(operation.sent), media_type_of(request.header(b"content-type"))
            record.request_object = await aside(
                size, self._bodies.sent, operation, media_type, managed_fields
            )
        if record.level < REQUEST_RESPONSE:
            return
        if isinstance(answer, LongAnswer):
            record.collected = Collected(answer.media_type)
            answer.pieces = record.collected.follow(answer.pieces)
        elif request.path.startswith("/api"):
            body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
            record.response_object = await aside(
                len(body), self._bodies.answered, body, answer.media_type, managed_fields
            )

    def _add_collected(self, record: Record, collected: Collected) -> None:
        if collected.overflowed:
            record.annotate(self.names.truncated, "true")
            return
        managed_fields = not record.subject.verdict.omits_managed_fields
        whole, media_type = collected.whole(), collected.media_type
        record.response_object = self._bodies.answered(whole, media_type, managed_fields)

    # Telling

    def tell(self, record: Record, stage: str, moment: str) -> Outcome:
        record.stage, record.stamp = stage, moment
        _events[()] += 1
        return self._backend.take(record)

    async def _tell_stage(self, record: Record, stage: str) -> None:
        if stage not in record.subject.verdict.omitted:
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


async def _insist(outcome: Outcome) -> None:
    """Refuse a request of which nothing would be known."""
    if not (outcome if isinstance(outcome, bool) else await outcome):
        REJECTED.add()
        raise internal("failed to store audit event")


async def _settled(outcome: Awaitable[bool]) -> None:
    await outcome
