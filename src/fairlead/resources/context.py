"""What a kind's rules may know about the request and the server."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Protocol

from fairlead.base.dialect import Dialect
from fairlead.resources.gates import Gates
from fairlead.storage.backend import Precondition
from fairlead.storage.companion import Companion

MOST_WARNINGS = 200  # more than that do not fit into the headers of an answer

# Reads an object of another resource (our name for it, namespace, name) from the cache.
Lookup = Callable[[str, str, str], dict[str, Any] | None]


class Allocators(Protocol):
    """What services are given addresses and ports by; `reserve` gives their own Reservation."""

    @property
    def families(self) -> tuple[str, ...]: ...

    def reserve(self, *, dry_run: bool = False) -> Any: ...

    def claims(self, reservation: Any) -> list[Companion]: ...


class Context:
    """One write. `user_name` is who asks; `warn` reaches the client as a Warning header.

    `group_version` is the version the client speaks, as our tables name it (`events/v1`). What a
    hook set aside for the write goes into `undo`; whoever finds that the write will not happen
    calls `roll_back`. What a judgement rests on goes into `requires`: if that is so no more when
    the write is committed, it is judged again. What a judgement wants to be written with it goes
    into `alongside`, what was set aside for it in the store into `claims`.
    What an audit log shall tell goes into `annotations`.
    """

    def __init__(
        self,
        dialect: Dialect,
        gates: Gates,
        lookup: Lookup,
        namespace: str = "",
        subresource: str = "",
        user_name: str = "",
        dry_run: bool = False,
        warnings: list[str] | None = None,
        group_version: str = "",
        allocators: Allocators | None = None,
        annotations: dict[str, str] | None = None,
        user: Any = None,
        deadline: float = inf,
    ) -> None:
        # One is made for every write: a dataclass would take three times as long.
        self.dialect = dialect
        self.gates = gates
        self.lookup = lookup
        self.namespace = namespace
        self.subresource = subresource
        self.user_name = user_name
        self.dry_run = dry_run
        self.warnings: list[str] = [] if warnings is None else warnings
        self.group_version = group_version
        self.allocators = allocators
        self.annotations: dict[str, str] = {} if annotations is None else annotations
        self.user = (
            user  # fairlead.auth.authentication.user.User, for kinds that write down who asked
        )
        self.deadline = deadline  # of the request, by the clock of the loop
        self.undo: list[Callable[[], None]] = []
        self.requires: list[Precondition] = []
        self.alongside: list[Companion] = []
        self.claims: list[Companion] = []

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
