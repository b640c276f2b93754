"""`-v`: logs a line for every request and for operations of internal components."""

from __future__ import annotations

from fairlead.api.request import Request
from fairlead.base.logs import Logger
from fairlead.operations.operation import Operation

logger = Logger("fairlead.requests")


def log_request(request: Request, code: int, seconds: float) -> None:
    """Log a client request: an operation, a page or a refused request. Its query is left out, which
    may have what a command in a container must not tell."""
    operation = request.operation
    user = getattr(request, "user", None)  # of a request that was not authenticated
    impersonator = request.impersonator
    logger.info(
        "request",
        verb=operation.verb if operation is not None else request.method,
        path=request.path,
        code=code,
        seconds=round(seconds, 6),
        user=user.name if user is not None else "",
        impersonator=impersonator.name if impersonator is not None else "",
        **_object_fields(operation),
        address=request.peer.address,
        user_agent=request.user_agent,
        audit_id=request.audited.id if request.audited is not None else "",
    )


def log_operation(operation: Operation, code: int, seconds: float) -> None:
    """Log an operation of an internal component, such as a controller."""
    logger.info(
        "operation",
        verb=operation.verb,
        code=code,
        seconds=round(seconds, 6),
        user=operation.user.name,
        **_object_fields(operation),
    )


def _object_fields(operation: Operation | None) -> dict[str, object]:
    """The object of an operation, and the bytes of the body that was sent for it."""
    if operation is None:
        return {}
    return {
        "resource": operation.resource.key,
        "namespace": operation.namespace,
        "name": operation.name,
        "bytes": len(operation.sent) if isinstance(operation.sent, bytes) else None,
    }
