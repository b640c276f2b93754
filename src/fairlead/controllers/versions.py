"""Reads metadata of stored versions, from hints where possible to avoid decoding."""

from __future__ import annotations

from fairlead.storage.version import HAS_FINALIZERS, TERMINATING, Version


def may_be_terminating(version: Version) -> bool:
    """Whether an object may be in deletion, without decoding it; False is certain."""
    return version.hints & TERMINATING != 0


def is_going(version: Version) -> bool:
    """Whether an object is being deleted."""
    if not may_be_terminating(version):
        return False
    return version.object()["metadata"].get("deletionTimestamp") is not None


def may_have_finalizers(version: Version) -> bool:
    """Whether an object may have finalizers, without decoding it; False is certain."""
    return version.hints & HAS_FINALIZERS != 0
