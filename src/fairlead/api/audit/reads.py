"""Fast path for reads that are answered at once: writes both of their events together."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.api.answers import Answer
from fairlead.api.audit.fragments import instant
from fairlead.api.audit.metrics import LEVEL_LABELS, event_counts, level_counts
from fairlead.api.audit.policy import COMPLETE, METADATA, RECEIVED
from fairlead.api.audit.record import STATUSES, Record, Subject
from fairlead.api.audit.subjects import Subjects
from fairlead.api.request import Request
from fairlead.auth.authorization.attributes import Decision
from fairlead.base import clock

# Stores encoded events; the second argument is their number. Must not block.
Deliver = Callable[[bytes, int], object]

_METADATA = LEVEL_LABELS[METADATA]
_STAMPED = b'","stageTimestamp":"'


class Form:
    """The encoded events of a read without ID and timestamps: equal for repeated requests with the
    same decision and code. `pieces` are the bytes between those; the second is empty if the policy
    omits RequestReceived."""

    __slots__ = ("code", "decision", "pieces")

    def __init__(
        self, decision: Decision | None, code: int, pieces: tuple[bytes, bytes, bytes, bytes, bytes]
    ) -> None:
        self.decision = decision
        self.code = code
        self.pieces = pieces


class Reads:
    """Writes the events of simple reads. `before` and `after` enclose the fields of every event."""

    def __init__(self, subjects: Subjects, before: str, after: str, deliver: Deliver) -> None:
        self._subject_of = subjects.of
        self._names = subjects.names
        self._before = before
        self._after = after
        self._deliver = deliver

    def tell(self, request: Request, record: Record, answer: Answer) -> bool:
        """Write all events of a read if they follow from its subject, decision and code alone.
        Returns whether it did."""
        operation = request.operation
        if (
            operation is None
            or operation.annotations
            or operation.resource.deprecation
            or type(answer) is not Answer
            or request.impersonator is not None
            or record.annotations is not None
        ):
            return False
        subject = self._subject_of(request, request.user)
        if not subject.is_brief:
            return False
        form: Form | None = subject.form
        if form is None or form.decision is not record.decision or form.code != answer.code:
            form = subject.form = self._form(subject, record.decision, answer.code)
        record.waits, record.judged, record.completed = False, True, True
        level_counts[_METADATA] += 1
        event_counts[()] += self._store(form, record.raw_id, instant(record.moment))
        return True

    def _store(self, form: Form, audit_id: bytes, received: bytes) -> int:
        """Deliver the events; returns their number."""
        first, came, between, done, last = form.pieces
        now = instant(clock.time())
        if not came:
            one = (first, audit_id, done, received, _STAMPED, now, last)
            self._deliver(b"".join(one), 1)
            return 1
        both = (
            first, audit_id, came, received, _STAMPED, received, between,
            audit_id, done, received, _STAMPED, now, last,
        )  # fmt: skip
        self._deliver(b"".join(both), 2)
        return 2

    def _form(self, subject: Subject, decision: Decision | None, code: int) -> Form:
        first = f'{self._before}{subject.opening}"'
        came, when = "", ',"requestReceivedTimestamp":"'
        if RECEIVED not in subject.verdict.omitted:
            came = f'","stage":"{RECEIVED}{subject.usual}{when}'
        between = f'"}}{self._after}{first}'
        done = f'","stage":"{COMPLETE}{subject.usual}{STATUSES[code]}{when}'
        last = f'"{self._names.decided(decision)}}}{self._after}'
        pieces = first.encode(), came.encode(), between.encode(), done.encode(), last.encode()
        return Form(decision, code, pieces)
