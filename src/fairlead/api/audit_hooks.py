"""Interfaces through which the request chain reports to the audit log."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from fairlead.auth.authorization.attributes import Decision

if TYPE_CHECKING:
    from fairlead.api.request import Request


class Audited(Protocol):
    """A request that is being audited."""

    def decided(self, decision: Decision) -> None:
        """Record the authorizer's decision."""

    def annotate(self, name: str, text: str) -> None:
        """Add an annotation to the audit event."""

    def failed(self, kind: str) -> None:
        """Record that the server failed, with the type of the exception."""


class Auditor(Protocol):
    def received(self, request: Request) -> Awaitable[None] | None:
        """Called once the user is known and before any work. If it returns an awaitable, the caller
        must await it. In mode blocking-strict that raises a 500 StatusError if the RequestReceived
        event cannot be stored, and the request must not run."""
