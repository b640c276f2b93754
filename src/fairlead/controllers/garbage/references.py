"""Reads owner references and finalizers of stored versions, from raw bytes where possible."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.codec.types.model import Object
from fairlead.controllers.versions import may_be_terminating
from fairlead.operations.delete import FOREGROUND, ORPHAN
from fairlead.storage.version import OWNED, Version

_OWNERS, _MANAGERS = b'"ownerReferences":[', b'"managedFields":['
_BLOCKS = b'"blockOwnerDeletion":true'
_OURS = tuple(f'"{name}"'.encode() for name in (FOREGROUND, ORPHAN))


class Reference(NamedTuple):
    """An owner reference; `blocks` is blockOwnerDeletion."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool

    @property
    def owner_kind(self) -> tuple[str, str]:
        return self.api_version, self.kind


def references_of(metadata: Object) -> tuple[Reference, ...]:
    return tuple(
        Reference(
            reference.get("apiVersion", ""),
            reference.get("kind", ""),
            reference.get("name", ""),
            reference.get("uid", ""),
            reference.get("blockOwnerDeletion") is True,
        )
        for reference in metadata.get("ownerReferences") or ()
    )


def owners_part(version: Version | None) -> bytes:
    """The bytes from ownerReferences to managedFields: equal bytes mean equal owners. Empty without
    owners; the hint excludes objects whose spec only has a template with owners."""
    if version is None or version.body is None or not version.hints & OWNED:
        return b""
    start = version.body.find(_OWNERS)
    if start < 0:
        return b""
    end = version.body.find(_MANAGERS, start)
    return version.body[start:end] if end >= 0 else version.body[start:]


def owners_of(version: Version | None) -> tuple[Reference, ...]:
    if version is None or version.body is None or not version.hints & OWNED:
        return ()
    return references_of(version.object()["metadata"])


def collector_finalizers(version: Version) -> tuple[str, ...]:
    """The collector's finalizers on an object that is being deleted."""
    body = version.body
    if body is None or not may_be_terminating(version) or not any(name in body for name in _OURS):
        return ()
    metadata = version.object()["metadata"]
    if metadata.get("deletionTimestamp") is None:
        return ()
    finalizers = metadata.get("finalizers") or ()
    return tuple(name for name in (ORPHAN, FOREGROUND) if name in finalizers)


def blocks(version: Version, uid: str) -> bool:
    """Whether an object blocks the deletion of the owner with this uid."""
    if version.body is None or _BLOCKS not in version.body:
        return False
    return any(owner.uid == uid and owner.blocks for owner in owners_of(version))
