"""Failures of gRPC calls."""

from __future__ import annotations

_AWAY = frozenset(("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"))
# Status names by number.
STATUSES = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND"),
    *("ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"),
    *("ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"),
    "UNAUTHENTICATED",
)


class CallFailed(Exception):
    """A call without an answer, or with an error status."""

    def __init__(self, code: str, details: str, *, is_unsent: bool = False) -> None:
        super().__init__(details or code)
        self.code = code
        self.details = details
        self.is_unsent = is_unsent  # the call certainly had no effect

    @property
    def is_away(self) -> bool:
        """Whether another endpoint, or the same one later, may succeed."""
        return self.code in _AWAY

    @property
    def is_late(self) -> bool:
        """Whether the deadline passed without an answer."""
        return self.code == "DEADLINE_EXCEEDED"

    @property
    def is_denied(self) -> bool:
        return self.code == "PERMISSION_DENIED"

    @property
    def is_tls_rejection(self) -> bool:
        """Whether one side rejected the other's certificate."""
        return "SSL" in self.details or "certificate" in self.details
