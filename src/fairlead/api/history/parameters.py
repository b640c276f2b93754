"""Query parameters of history requests."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.api.parameters import flag, integer
from fairlead.api.request import Request
from fairlead.base.errors import bad_request
from fairlead.operations.options import revision_of

_USUAL, _MOST = 500, 5_000


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """The newest `limit` changes before a revision (0: now) and after `since`. `namespace` and
    `include_noisy` apply to requests for everything. The user may not read changes before
    `begins`."""

    limit: int
    before: int
    since: int
    namespace: str = ""
    include_noisy: bool = False
    begins: int = 0

    @property
    def after(self) -> int:
        return max(self.since, self.begins - 1)


def history_options(request: Request, begins: int = 0) -> HistoryOptions:
    for name in ("fieldSelector", "labelSelector"):
        if name in request.query:
            raise bad_request(f"{name}: the history of objects cannot be selected by it")
    limit = integer(request, "limit")
    if limit is not None and limit < 0:
        raise bad_request("limit: it must not be negative")
    return HistoryOptions(
        min(limit or _USUAL, _MOST),
        revision_of(request.parameter("before"), "before"),
        revision_of(request.parameter("since"), "since"),
        request.parameter("namespace"),
        flag(request, "all"),
        begins,
    )
