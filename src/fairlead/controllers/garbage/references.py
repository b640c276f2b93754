"""Reads owner references and finalizers of stored versions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.codec.types.model import Object
from fairlead.controllers.versions import is_going
from fairlead.operations.delete import FOREGROUND, ORPHAN
from fairlead.storage.version import Version


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


def references_of(references: Iterable[Object] | None) -> tuple[Reference, ...]:
    return tuple(
        Reference(
            reference.get("apiVersion", ""),
            reference.get("kind", ""),
            reference.get("name", ""),
            reference.get("uid", ""),
            reference.get("blockOwnerDeletion") is True,
        )
        for reference in references or ()
    )


def owners_of(version: Version | None) -> tuple[Reference, ...]:
    return references_of(version.owner_references()) if version is not None else ()


def collector_finalizers(version: Version) -> tuple[str, ...]:
    """The collector's finalizers on an object that is being deleted."""
    finalizers = version.finalizers()
    steps = tuple(name for name in (ORPHAN, FOREGROUND) if name in finalizers)
    return steps if steps and is_going(version) else ()


def blocks(version: Version, uid: str) -> bool:
    """Whether an object blocks the deletion of the owner with this uid."""
    return any(owner.uid == uid and owner.blocks for owner in owners_of(version))
