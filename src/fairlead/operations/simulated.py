"""Interface between the API and simulated nodes."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from fairlead.base.errors import StatusError
from fairlead.codec.types.model import Object


class LogOptions(NamedTuple):
    """The requested part of a log: lines since a time, the last lines, or a number of bytes."""

    previous: bool = False
    timestamps: bool = False
    since: datetime | None = None
    tail: int | None = None
    limit: int | None = None


class Simulated(Protocol):
    """Answers for containers that are simulated."""

    def has(self, node: str) -> bool:
        """Whether a node is simulated."""

    def refusal(self, what: str) -> StatusError:
        """The error for connections to a simulated node or its containers."""

    def log(self, pod: Object, container: str, options: LogOptions) -> bytes:
        """The log of a container; raises StatusError."""

    async def end_of(self, pod: Object, container: str) -> None:
        """Wait until a container is not running, or the server stops."""

    def stop_waiting(self) -> None:
        """Release all waiters of `end_of`, because the server stops."""
