"""What controllers ask about namespaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.storage.entry import Entry

NAMESPACES = "core/v1/namespaces"


def name_of(entry: Entry) -> Iterable[str]:
    """A namespace that exists, as a key."""
    return () if entry.deleted else (entry.name,)


def is_alive(namespace: dict[str, Any] | None) -> bool:
    """Whether a namespace exists and is not going away."""
    return namespace is not None and not namespace["metadata"].get("deletionTimestamp")
