"""What a server tells of the past beside the standard API: `/history`, where it has that.

A server that does not, or does not tell this user, is no error: then the standard API has to do.
"""

from __future__ import annotations

from typing import Any

from fairlead.base.records import dataclass
from fairlead.cli.naming import Named
from fairlead.client.errors import ApiError, Expired
from fairlead.client.session import Request

_PATH = "/history"
_MOST_PAGES = 20


@dataclass(frozen=True, slots=True)
class Writer:
    """Whose rights a version was written with, who really asked if that was another, and when."""

    user: str
    impersonator: str
    time: str

    @property
    def told(self) -> str:
        return f"{self.user} (by {self.impersonator})" if self.impersonator else self.user


async def writers_of(named: Named) -> dict[int, Writer]:
    """Who wrote which revision, as far as the server knows."""
    found: dict[int, Writer] = {}
    before = ""
    for _ in range(_MOST_PAGES):
        page = await _asked(named, {"before": before} if before else {})
        for item in (page or {}).get("items") or ():
            if item.get("user"):
                found[int(item["resourceVersion"])] = _writer(item)
        before = (page or {}).get("metadata", {}).get("before") or ""
        if not before:
            break
    return found


async def told_at(named: Named, revision: str) -> dict[str, Any] | None:
    """The object as it was at a revision; None if the server does not tell. Raises Expired."""
    return await _asked(named, {"resourceVersion": revision})


async def _asked(named: Named, query: dict[str, str]) -> dict[str, Any] | None:
    path = named.resource.path(named.name, named.namespace)
    try:
        return await named.resource.session.object(Request("GET", _PATH + path, query))
    except Expired:
        raise
    except ApiError as error:
        if error.code >= 500:
            raise
        return None


def _writer(item: dict[str, Any]) -> Writer:
    return Writer(item["user"], item.get("impersonator") or "", item.get("time") or "")
