"""Work that may write only as long as it is its turn.

Whoever does it carries a fence along, into every task that is begun on the way. It is looked at
last of all, when a write is on its way to the store: what was admitted before and comes too late
is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from fairlead.base.errors import StatusError

# Whether it is still the turn of whoever carries it.
Fence = Callable[[], bool]

_fence: ContextVar[Fence | None] = ContextVar("fence", default=None)


def carry(fence: Fence) -> None:
    """From here on this task writes only while the fence says so, and whatever it begins."""
    _fence.set(fence)


def check_fence() -> None:
    """Refuse a write that comes too late."""
    fence = _fence.get()
    if fence is not None and not fence():
        raise StatusError(503, "ServiceUnavailable", "this server no longer leads")
