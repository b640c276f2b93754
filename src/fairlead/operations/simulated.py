"""What the API has to know of nodes that are simulated."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from fairlead.base.errors import StatusError
from fairlead.base.records import dataclass
from fairlead.codec.types.model import Object


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Which part of a log is wanted: what was written since a moment, the last lines, so many
    bytes."""

    previous: bool = False
    timestamps: bool = False
    since: datetime | None = None
    tail: int | None = None
    limit: int | None = None


class Simulated(Protocol):
    """Answers for containers that do not run."""

    def has(self, node: str) -> bool:
        """Whether a node is a simulated one."""

    def refusal(self, what: str) -> StatusError:
        """What is answered to those who want to talk to such a node or to what is on it."""

    def log(self, pod: Object, container: str, options: LogOptions) -> bytes:
        """What a container has written; raises StatusError."""

    async def end_of(self, pod: Object, container: str) -> None:
        """Wait until a container does not run, or the server stops."""

    def stop_waiting(self) -> None:
        """The server stops: nobody waits for containers any longer."""
