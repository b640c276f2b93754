"""What the way of a request tells the audit log."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from fairlead.auth.authorization.attributes import Decision

if TYPE_CHECKING:
    from fairlead.api.request import Request


class Audited(Protocol):
    """A request that the audit log follows."""

    def decided(self, decision: Decision) -> None:
        """What the authorizer said."""

    def annotate(self, name: str, text: str) -> None:
        """Something that is to be told beside what is always told."""

    def failed(self, kind: str) -> None:
        """The server failed, and with which kind of error."""


class Auditor(Protocol):
    def received(self, request: Request) -> Awaitable[None] | None:
        """Who asks is known, nothing was done yet. What is given, if anything, has to be awaited:
        it raises a 500 StatusError if the request must not go on, because that it came cannot be
        stored."""
