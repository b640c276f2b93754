"""What controllers ask about namespaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.storage.change import Change

NAMESPACES = "core/v1/namespaces"


def name_of(change: Change) -> Iterable[str]:
    """A namespace that exists, as a key."""
    return () if change.deleted else (change.name,)


def is_alive(namespace: dict[str, Any] | None) -> bool:
    """Whether a namespace exists and is not going away."""
    return namespace is not None and not namespace["metadata"].get("deletionTimestamp")
