"""How long a request may take, where that is less than the server allows every one."""

from __future__ import annotations

from fairlead.api.chain import is_long_running
from fairlead.api.parameters import timeout_of
from fairlead.api.request import Request
from fairlead.base.errors import StatusError

# Verbs of stored objects that may not take as long as others, and how many seconds they may.
BRIEF = frozenset(("create", "update", "patch", "delete"))
_BRIEF_SECONDS = 34.0


def limit(request: Request) -> bool:
    """Let a request that was routed take as long as it says, but not longer than it may; gives
    whether that is over already, so that nothing need be begun."""
    target = request.target
    if is_long_running(target):
        return False
    try:
        seconds = timeout_of(request) if request.query else 0
    except StatusError:
        seconds = 0  # it is refused for that
    if target.verb in BRIEF and target.resource is not None and not 0 < seconds < _BRIEF_SECONDS:
        seconds = _BRIEF_SECONDS
    if seconds > 0:
        request.exchange.limit(seconds)
        request.deadline = request.exchange.deadline
    return request.exchange.timed_out
