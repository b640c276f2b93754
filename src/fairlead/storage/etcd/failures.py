"""What etcd's error messages mean."""

from __future__ import annotations

from fairlead.storage.backend import Compacted, Fault, StorageError, Unanswered
from fairlead.wire.grpc.failures import CallFailed

_BUSY = "etcdserver: too many requests"
_NO_LEADER = "etcdserver: no leader"


def is_unsent(error: CallFailed) -> bool:
    """Whether the call certainly had no effect."""
    return error.is_unsent or error.details in (_BUSY, _NO_LEADER)


def is_away(error: CallFailed) -> bool:
    """Whether another member, or the same one later, may succeed."""
    return error.is_away or error.details == _BUSY


def is_compacted(error: CallFailed) -> bool:
    return error.details.endswith("required revision has been compacted")


def is_future(error: CallFailed) -> bool:
    """Whether the requested revision does not exist yet."""
    return error.details.endswith("required revision is a future revision")


def is_lease_gone(error: CallFailed) -> bool:
    """Whether the lease of a write has expired; nothing was written."""
    return error.details == "etcdserver: requested lease not found"


def storage_error(error: CallFailed) -> StorageError | Compacted:
    """Convert to an exception of the store."""
    if is_compacted(error):
        return Compacted()
    is_open = is_away(error) and not is_unsent(error)
    return (Unanswered if is_open else StorageError)(f"etcd: {error}", Fault.PASSING)
