"""The state of one write, as the hooks of a kind and admission plugins see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final, Protocol

from fairlead.base.dialect import Dialect
from fairlead.resources.gates import Gates
from fairlead.storage.backend import Precondition
from fairlead.storage.writes import Companion

MAX_WARNINGS: Final = 200  # more do not fit into the headers of a response

# Reads an object of another resource (key in our tables, namespace, name) from the cache.
Lookup = Callable[[str, str, str], dict[str, Any] | None]


class Allocators(Protocol):
    """Allocates addresses and ports to services; `reserve` returns the allocators' own
    Reservation."""

    @property
    def families(self) -> tuple[str, ...]: ...

    def reserve(self, *, dry_run: bool = False) -> Any: ...

    def claims(self, reservation: Any, service: dict[str, Any]) -> list[Companion]: ...


class Context:
    """The state of one write.

    `group_version` is the version that the client uses, as our tables name it (`events/v1`). `warn`
    adds a Warning header to the response. Hooks that reserve something append its release to
    `undo`; the caller that finds that the write will not happen calls `roll_back`. `requires` holds
    the preconditions of the admission decision: if one fails at commit, admission runs again.
    `alongside` holds changes of other objects that admission wants in the same commit, `claims` the
    reservations in the store. `annotations` go to the audit log.
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
        # Not a dataclass: one is made for every write, and a dataclass takes three times as long.
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
        self.user = user  # a User, for kinds that record the requester
        self.deadline = deadline  # of the request, in the time of the event loop
        self.undo: list[Callable[[], None]] = []
        self.requires: list[Precondition] = []
        self.alongside: list[Companion] = []
        self.claims: list[Companion] = []
        # Permissions that the user lacks, as pairs of the field and the reason.
        self.lacking: Sequence[tuple[str, str]] = ()

    def warn(self, text: str) -> None:
        if len(self.warnings) < MAX_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    @property
    def companions(self) -> Sequence[Companion]:
        """The changes of other objects that are committed with this one."""
        if not self.alongside and not self.claims:
            return ()
        return (*self.alongside, *self.claims)

    def reset_admission(self) -> None:
        """Drop preconditions and companions, because admission runs again."""
        self.requires.clear()
        self.alongside.clear()

    def roll_back(self) -> None:
        """Release all reservations; a second call does nothing. Must not be called while the write
        is in progress: it may still be committed."""
        while self.undo:
            self.undo.pop()()
