"""`-v`: a line for every request, and for what the server's own parts do."""

from __future__ import annotations

import logging

from fairlead.endpoints.request import Request
from fairlead.logs import quoted
from fairlead.operations.operation import Operation

logger = logging.getLogger("fairlead.requests")


def log_operation(operation: Operation, code: int, seconds: float) -> None:
    """An observer of operations, whoever asked for them."""
    who = quoted(operation.user.name)
    if operation.impersonator is not None:
        who = f"{quoted(operation.impersonator.name)} as {who}"
    sent = f" {len(operation.sent)} bytes" if isinstance(operation.sent, bytes) else ""
    key = quoted("/".join(filter(None, (operation.namespace, operation.name))))
    logger.info(
        "%s %s %s by %s:%s %d in %.1f ms",
        operation.verb,
        operation.resource.key,
        key,
        who,
        sent,
        code,
        seconds * 1000,
    )


def log_page(request: Request, code: int, seconds: float) -> None:
    """A request that came to no operation: a page beside the API, or one that was refused."""
    logger.info("%s %s: %d in %.1f ms", request.method, quoted(request.path), code, seconds * 1000)
