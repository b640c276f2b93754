"""Audits operations of internal components in the same way as client requests."""

from __future__ import annotations

from typing import Any

from fairlead.api.audit.auditor import Auditor
from fairlead.api.audit.bodies import value_json
from fairlead.api.audit.fragments import caller, new_id, stamp
from fairlead.api.audit.metrics import LEVELS as LEVEL_COUNTS
from fairlead.api.audit.policy import COMPLETE, LEVELS, RECEIVED, REQUEST, REQUEST_RESPONSE
from fairlead.api.audit.record import Record
from fairlead.api.audit.redaction import redacted_status, redacted_uri
from fairlead.api.routing import Target
from fairlead.base import clock
from fairlead.base.errors import StatusError, internal
from fairlead.operations.operation import Operation
from fairlead.storage.version import Version

_HERE = ("127.0.0.1",)
_CODES = {"create": 201}


class OwnOperations:
    """The audit log as operations use it."""

    def __init__(self, auditor: Auditor) -> None:
        self._auditor = auditor

    async def begin(self, operation: Operation, value: Any) -> AuditedOperation:
        auditor, target = self._auditor, _target(operation)
        record = Record(auditor.names, new_id(), clock.time())
        part = caller(_HERE, f"fairlead/{operation.user.name.rpartition(':')[2]}")
        uri = redacted_uri(target.path, b"")
        subject = auditor.subjects.build(operation.user, target, target.name, uri, part)
        record.judge(subject)
        LEVEL_COUNTS.add(of=(LEVELS[record.level],))
        audited = AuditedOperation(auditor, record, operation, target)
        if not record.level:
            return audited
        if isinstance(value, dict):
            operation.identity = (value["metadata"].get("name", ""), "", "")
            if record.level >= REQUEST:
                record.request_object = audited.encoded(value)
        await audited.emit(RECEIVED, record.received)
        return audited


class AuditedOperation:
    """An operation that is being audited."""

    def __init__(
        self, auditor: Auditor, record: Record, operation: Operation, target: Target
    ) -> None:
        self._auditor = auditor
        self._record = record
        self._operation = operation
        self._target = target

    async def end(self, failure: BaseException | None) -> None:
        record = self._record
        if not record.level:
            return
        record.code = _CODES.get(self._target.verb, 200)
        if failure is not None:
            is_status = isinstance(failure, StatusError)
            error = failure if is_status else internal("the server could not do it")
            assert isinstance(error, StatusError)
            record.code = error.code
            record.status = redacted_status(error, self._target, record.level)
        elif record.level >= REQUEST_RESPONSE:
            record.response_object = self.encoded(self._operation.result)
        record.decision = self._operation.decision
        record.complement(self._target, self._operation)
        await self.emit(COMPLETE, stamp())

    def encoded(self, value: Any) -> bytes | None:
        """Encode an object with kind and apiVersion, as in a response."""
        resource = self._operation.resource
        if isinstance(value, Version):
            value = value.object()
        if not isinstance(value, dict):
            return None
        typed = {"kind": resource.kind, "apiVersion": resource.api_version, **value}
        return value_json(typed, not self._record.subject.verdict.omits_managed_fields)

    async def emit(self, stage: str, moment: str) -> None:
        if stage in self._record.subject.verdict.omitted:
            return
        outcome = self._auditor.emit(self._record, stage, moment)
        if not isinstance(outcome, bool):
            await outcome


def _target(operation: Operation) -> Target:
    resource = operation.resource
    steps = ["", "apis", resource.group] if resource.group else ["", "api"]
    steps.append(resource.group_version.version)
    if operation.namespace and resource.namespaced:
        steps += ["namespaces", operation.namespace]
    steps += [resource.main.name, operation.name, resource.subresource]
    path = "/".join(["", *filter(None, steps)])
    return Target(
        path,
        operation.verb,
        True,
        resource.group,
        resource.group_version.version,
        resource.main.name,
        resource.subresource,
        operation.namespace,
        operation.name,
    )
