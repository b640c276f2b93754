"""Reads metadata of stored versions, from hints and raw bytes where possible to avoid decoding."""

from __future__ import annotations

from fairlead.storage.version import GOING, HELD, Version

_UID = b'"uid":"'


def uid_of(version: Version) -> str:
    """The uid, by its first occurrence: in stored JSON only names precede it."""
    assert version.body is not None
    start = version.body.index(_UID) + len(_UID)
    return version.body[start : version.body.index(b'"', start)].decode()


def may_be_terminating(version: Version) -> bool:
    """False if the object is not being deleted; True may be wrong in rare cases."""
    return version.hints & GOING != 0


def is_going(version: Version) -> bool:
    """Whether an object is being deleted."""
    if not may_be_terminating(version):
        return False
    return version.object()["metadata"].get("deletionTimestamp") is not None


def may_have_finalizers(version: Version) -> bool:
    """False if the object has no finalizers; True may be wrong in rare cases."""
    return version.hints & HELD != 0


def finalizers_of(version: Version) -> list[str]:
    if not may_have_finalizers(version):
        return []
    return version.object()["metadata"].get("finalizers") or []
