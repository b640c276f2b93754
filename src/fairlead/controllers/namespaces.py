"""What controllers ask about namespaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.base.errors import StatusError
from fairlead.storage.change import Change

NAMESPACES = "core/v1/namespaces"


def name_of(change: Change) -> Iterable[str]:
    """A namespace that exists, as a key."""
    return () if change.deleted else (change.name,)


def is_alive(namespace: dict[str, Any] | None) -> bool:
    """Whether a namespace exists and is not going away."""
    return namespace is not None and not namespace["metadata"].get("deletionTimestamp")


def is_refused_by_ending(error: StatusError) -> bool:
    """Whether nothing can be created because the namespace is going away, or gone."""
    details = error.details or {}
    causes = details.get("causes") or ()
    if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
        return True
    return error.code == 404 and details.get("kind") == "namespaces"
