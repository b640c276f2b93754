"""Reads history from the server's own `/history` endpoint.

If the endpoint is missing or forbidden, callers fall back to the standard API.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairlead.cli.targets import ObjectReference
from fairlead.client.errors import ApiError, Expired
from fairlead.client.session import Request

_PATH = "/history"
_MAX_PAGES = 20


@dataclass(frozen=True, slots=True)
class Writer:
    """The user of a write, the impersonating user if any, and the time."""

    user: str
    impersonator: str
    time: str

    @property
    def label(self) -> str:
        return f"{self.user} (by {self.impersonator})" if self.impersonator else self.user


async def writers_of(reference: ObjectReference) -> dict[int, Writer]:
    """The writers by revision, as far as the server knows them."""
    writers: dict[int, Writer] = {}
    before = ""
    for _ in range(_MAX_PAGES):
        page = await _fetch(reference, {"before": before} if before else {})
        for item in (page or {}).get("items") or ():
            if item.get("user"):
                writers[int(item["resourceVersion"])] = _writer(item)
        before = (page or {}).get("metadata", {}).get("before") or ""
        if not before:
            break
    return writers


async def value_at(reference: ObjectReference, revision: str) -> dict[str, Any] | None:
    """The object at a revision; None if the endpoint is not available. Raises Expired."""
    return await _fetch(reference, {"resourceVersion": revision})


async def _fetch(reference: ObjectReference, query: dict[str, str]) -> dict[str, Any] | None:
    path = reference.resource.path(reference.name, reference.namespace)
    try:
        return await reference.resource.session.object(Request("GET", _PATH + path, query))
    except Expired:
        raise
    except ApiError as error:
        if error.code >= 500:
            raise
        return None


def _writer(item: dict[str, Any]) -> Writer:
    return Writer(item["user"], item.get("impersonator") or "", item.get("time") or "")
