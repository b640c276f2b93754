"""`-v`: logs a line for every request and for operations of internal components."""

from __future__ import annotations

import logging

from fairlead.api.request import Request
from fairlead.base.logs import Field, quoted, with_fields
from fairlead.operations.operation import Operation

logger = logging.getLogger("fairlead.requests")


def log_request(request: Request, code: int, seconds: float) -> None:
    """Log a client request: an operation, a page or a refused request."""
    fields = {"method": request.method, "path": request.path, "address": request.peer.address}
    if request.audited is not None:
        fields["audit_id"] = request.audited.id
    operation = request.operation
    if operation is not None:
        _log_operation(operation, code, seconds, fields)
        return
    text = "%s %s: %d in %.1f ms"
    extra = with_fields(**fields, code=code, duration_ms=_milliseconds(seconds))
    logger.info(text, request.method, quoted(request.path), code, seconds * 1000, extra=extra)


def log_operation(operation: Operation, code: int, seconds: float) -> None:
    """Log an operation of an internal component, such as a controller."""
    _log_operation(operation, code, seconds, {})


def _log_operation(operation: Operation, code: int, seconds: float, more: dict[str, str]) -> None:
    impersonator = operation.impersonator.name if operation.impersonator is not None else ""
    user_text = quoted(operation.user.name)
    if impersonator:
        user_text = f"{quoted(impersonator)} as {user_text}"
    sent = len(operation.sent) if isinstance(operation.sent, bytes) else 0
    fields: dict[str, Field] = {
        "verb": operation.verb,
        "resource": operation.resource.key,
        "namespace": operation.namespace,
        "name": operation.name,
        "user": operation.user.name,
        "impersonator": impersonator,
        "code": code,
        "duration_ms": _milliseconds(seconds),
        **more,
    }
    logger.info(
        "%s %s %s by %s:%s %d in %.1f ms",
        operation.verb,
        operation.resource.key,
        quoted("/".join(filter(None, (operation.namespace, operation.name)))),
        user_text,
        f" {sent} bytes" if sent else "",
        code,
        seconds * 1000,
        extra=with_fields(**fields),
    )


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
