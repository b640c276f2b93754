"""Failures of etcd calls."""

from __future__ import annotations

from fairlead.storage.backend import Compacted, Fault, StorageError, Unanswered

_AWAY = frozenset(("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"))
_BUSY = "etcdserver: too many requests"
_NO_LEADER = "etcdserver: no leader"
# gRPC status names by number.
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
        # The call certainly had no effect.
        self.is_unsent = is_unsent or details in (_BUSY, _NO_LEADER)

    @property
    def is_away(self) -> bool:
        """Whether another member, or the same one later, may succeed."""
        return self.code in _AWAY or self.details == _BUSY

    @property
    def is_late(self) -> bool:
        """Whether the deadline passed without an answer."""
        return self.code == "DEADLINE_EXCEEDED"

    @property
    def is_denied(self) -> bool:
        return self.code == "PERMISSION_DENIED"

    @property
    def is_compacted(self) -> bool:
        return self.details.endswith("required revision has been compacted")

    @property
    def is_future(self) -> bool:
        """Whether the requested revision does not exist yet."""
        return self.details.endswith("required revision is a future revision")

    @property
    def is_lease_gone(self) -> bool:
        """Whether the lease of a write has expired; nothing was written."""
        return self.details == "etcdserver: requested lease not found"

    @property
    def is_tls_rejection(self) -> bool:
        """Whether one side rejected the other's certificate."""
        return "SSL" in self.details or "certificate" in self.details

    def storage_error(self) -> StorageError | Compacted:
        """Convert to an exception of the store."""
        if self.is_compacted:
            return Compacted()
        is_open = self.is_away and not self.is_unsent
        return (Unanswered if is_open else StorageError)(f"etcd: {self}", Fault.PASSING)
