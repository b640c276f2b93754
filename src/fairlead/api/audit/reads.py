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

    def __init__(self, subjects: Subjects, prefix: str, suffix: str, deliver: Deliver) -> None:
        self._subject_of = subjects.of
        self._names = subjects.names
        self._prefix = prefix
        self._suffix = suffix
        self._deliver = deliver

    def emit(self, request: Request, record: Record, answer: Answer) -> bool:
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
        head, received_part, separator, complete_part, tail = form.pieces
        now = instant(clock.time())
        if not received_part:
            event = (head, audit_id, complete_part, received, _STAMPED, now, tail)
            self._deliver(b"".join(event), 1)
            return 1
        events = (
            head, audit_id, received_part, received, _STAMPED, received, separator,
            audit_id, complete_part, received, _STAMPED, now, tail,
        )  # fmt: skip
        self._deliver(b"".join(events), 2)
        return 2

    def _form(self, subject: Subject, decision: Decision | None, code: int) -> Form:
        head = f'{self._prefix}{subject.opening}"'
        received_part, timestamp_field = "", ',"requestReceivedTimestamp":"'
        if RECEIVED not in subject.verdict.omitted:
            received_part = f'","stage":"{RECEIVED}{subject.typical}{timestamp_field}'
        separator = f'"}}{self._suffix}{head}'
        complete_part = f'","stage":"{COMPLETE}{subject.typical}{STATUSES[code]}{timestamp_field}'
        tail = f'"{self._names.decided(decision)}}}{self._suffix}'
        pieces = (
            head.encode(),
            received_part.encode(),
            separator.encode(),
            complete_part.encode(),
            tail.encode(),
        )
        return Form(decision, code, pieces)
