"""What a kind's rules may know about the request and the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from fairlead.dialect import Dialect
from fairlead.kinds.gates import Gates
from fairlead.storage.backend import Precondition
from fairlead.storage.store import Companion

MOST_WARNINGS = 200  # more than that do not fit into the headers of an answer

# Reads an object of another resource (our name for it, namespace, name) from the cache.
Lookup = Callable[[str, str, str], dict[str, Any] | None]


class Allocators(Protocol):
    """What services are given addresses and ports by; `reserve` gives their own Reservation."""

    @property
    def families(self) -> tuple[str, ...]: ...

    def reserve(self, *, dry_run: bool = False) -> Any: ...

    def claims(self, reservation: Any) -> list[Companion]: ...


@dataclass(slots=True)
class Context:
    """One write. `user_name` is who asks; `warn` reaches the client as a Warning header.

    `group_version` is the version the client speaks, as our tables name it (`events/v1`). What a
    hook set aside for the write goes into `undo`; whoever finds that the write will not happen
    calls `roll_back`. What a judgement rests on goes into `requires`: if that is so no more when
    the write is committed, it is judged again. What a judgement wants to be written with it goes
    into `alongside`, what was set aside for it in the store into `claims`.
    What an audit log shall tell goes into `annotations`.
    """

    dialect: Dialect
    gates: Gates
    lookup: Lookup
    namespace: str = ""
    subresource: str = ""
    user_name: str = ""
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)
    group_version: str = ""
    allocators: Allocators | None = None
    undo: list[Callable[[], None]] = field(default_factory=list)
    requires: list[Precondition] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    alongside: list[Companion] = field(default_factory=list)
    claims: list[Companion] = field(default_factory=list)
    user: Any = None  # fairlead.authentication.user.User, for kinds that write down who asked

    def warn(self, text: str) -> None:
        if len(self.warnings) < MOST_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    def forget_judgement(self) -> None:
        """What a judgement rested on and wanted; it is reached anew."""
        self.requires.clear()
        self.alongside.clear()

    def roll_back(self) -> None:
        """Give back what was set aside; does nothing the second time. Not for a write that is
        under way: it may still happen."""
        while self.undo:
            self.undo.pop()()
