"""The admission plugin interface, and a write as plugins see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from fairlead.auth.authentication.user import User
from fairlead.resources.context import Context
from fairlead.resources.registry import Resource

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


State = TypeVar("State")


class Options(Protocol):
    """The options of a write, besides the object."""

    def document(self, operation: str, group: str) -> dict[str, Any]:
        """The options as an object of the kind for the operation; `group` is that of its
        apiVersion."""


@dataclass(slots=True)
class Attributes:
    """One write as plugins see it. Objects are in the stored version; `value` is None for a delete,
    `old` is None for a create. Plugins change `value` in place. `name` is empty until it is
    generated."""

    operation: str
    resource: Resource
    namespace: str
    name: str
    value: dict[str, Any] | None
    old: dict[str, Any] | None
    user: User
    context: Context
    options: Options | None = None
    round: int = 0  # number of mutating rounds already run
    wants_round: bool = False  # a plugin requests another mutating round
    is_settled: bool = False  # webhooks have decided and are not called again
    states: dict[str, Any] | None = None  # what plugins keep for the next round, by their names

    @property
    def subresource(self) -> str:
        return self.resource.subresource

    def state_of(self, plugin: str, make: Callable[[], State]) -> State:
        """The state that a plugin keeps between rounds; `make` makes it in the first one."""
        if self.states is None:
            self.states = {}
        if plugin not in self.states:
            self.states[plugin] = make()
        state: State = self.states[plugin]
        return state


class Plugin(Protocol):
    """Either step may raise StatusError to reject the write."""

    name: str

    # Resources (internal names, `*` for all) for which the decision on an update depends on more
    # than the write, its namespace and lookups by the functions of `Dependencies`.
    @property
    def depends_on_other_state(self) -> Container[str]: ...

    # Resources (internal names; includes their subresources) that the plugin handles; None for all.
    # The chain skips the plugin for others and caches this: call `Chain.forget` after a change.
    @property
    def concerns(self) -> Container[str] | None: ...

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Mutating step: may change `attributes.value`. The caller awaits what it returns."""

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Validating step: gets the final object and must not change it. The caller awaits what
        it returns."""

    async def close(self) -> None:
        """Release resources at server shutdown."""


class PluginBase:
    """Base class with empty steps; the chain skips steps that a plugin does not override."""

    __slots__ = ()  # compiled plugins have no `__dict__`

    name = ""
    depends_on_other_state: Container[str] = ()
    concerns: Container[str] | None = None

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        return None

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return None

    async def close(self) -> None:
        pass


class LazyPlugin:
    """A plugin that is imported and constructed on the first write to one of its resources."""

    def __init__(self, name: str, concerns: Container[str], build: Callable[[], Plugin]) -> None:
        self.name = name
        self.concerns = concerns
        self._build = build

    @cached_property
    def plugin(self) -> Plugin:
        return self._build()

    @property
    def is_built(self) -> bool:
        return "plugin" in self.__dict__
