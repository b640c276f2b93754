"""What has to be there before anybody asks for the past: who may ask, and what was refused."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fairlead.api.answers import Answer
from fairlead.api.chain import Handler
from fairlead.api.history.denied import Denied
from fairlead.api.parameters import flag
from fairlead.api.request import Request
from fairlead.api.routing import PAST
from fairlead.auth.authentication.user import AUTHENTICATED

if TYPE_CHECKING:
    from fairlead.api.history.page import HistoryPage

ALL = f"/{PAST}"
DENIED = f"{ALL}/denied"


class HistoryDoor:
    """Requests for an object or a collection were authorized as reading it; who asks about
    everything is told what they may list."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._denied = Denied()
        handler.refused = self._denied.note

    @cached_property
    def _page(self) -> HistoryPage:
        from fairlead.api.history.page import HistoryPage  # loaded by the first request

        return HistoryPage(self._handler, self._denied)

    def judges(self, request: Request) -> bool:
        target = request.target
        if target.is_resource or AUTHENTICATED not in request.user.groups:
            return False
        path = target.path.rstrip("/")
        return path == ALL or (path == DENIED and flag(request, "mine"))

    async def answer(self, request: Request) -> Answer:
        return await self._page.answer(request)


def add_history(handler: Handler) -> None:
    """Serve the past. It is not among the paths that clients are told of."""
    handler.past = HistoryDoor(handler)
