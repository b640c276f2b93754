"""Registers the history pages: authorization, and recording of denied requests. The pages
themselves are loaded lazily."""

from __future__ import annotations

from functools import cached_property

from fairlead.api.answers import Answer
from fairlead.api.chain import Handler
from fairlead.api.history import page
from fairlead.api.history.denied import Denied
from fairlead.api.parameters import flag
from fairlead.api.request import Request
from fairlead.api.routing import PAST
from fairlead.auth.authentication.user import AUTHENTICATED

ALL = f"/{PAST}"
DENIED = f"{ALL}/denied"


class HistoryHandler:
    """Entry point of history requests. Those for an object or a collection are authorized as reads
    of it; those for everything are filtered by what the user may list."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._denied = Denied()
        handler.refused = self._denied.note

    @cached_property
    def _page(self) -> page.HistoryPage:
        return page.HistoryPage(self._handler, self._denied)

    def authorizes(self, request: Request) -> bool:
        target = request.target
        if target.is_resource or AUTHENTICATED not in request.user.groups:
            return False
        path = target.path.rstrip("/")
        return path == ALL or (path == DENIED and flag(request, "mine"))

    async def answer(self, request: Request) -> Answer:
        return await self._page.answer(request)


def add_history(handler: Handler) -> None:
    """Serve the history. Its paths are not in the index."""
    handler.past = HistoryHandler(handler)
