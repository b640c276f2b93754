"""What an admission plugin is, and a write as plugins see it."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import cached_property
from typing import Any, Protocol

from fairlead.auth.authentication.user import User
from fairlead.base.records import dataclass
from fairlead.resources.context import Context
from fairlead.resources.registry import Resource

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


class Options(Protocol):
    """What the caller asked for beside the object."""

    def document(self, operation: str, group: str) -> dict[str, Any]:
        """As an object of a kind that fits the operation; `group` is that of its apiVersion."""


@dataclass(slots=True)
class Attributes:
    """One write as plugins see it. Objects are in the stored version; `value` is None for a
    delete, `old` for a create. Plugins change `value` in place. `name` is empty as long as it is
    still to be generated."""

    operation: str
    resource: Resource
    namespace: str
    name: str
    value: dict[str, Any] | None
    old: dict[str, Any] | None
    user: User
    context: Context
    options: Options | None = None
    round: int = 0  # how often the changing steps have been taken before
    wants_round: bool = False  # one of them wants all to be taken once more
    is_settled: bool = False  # nobody outside this server is asked about it any more
    memory: Any = None  # what a plugin has to know in the next round

    @property
    def subresource(self) -> str:
        return self.resource.subresource


class Plugin(Protocol):
    """Either step may raise a StatusError to refuse the write."""

    name: str

    # Resources (our names, `*` for all) whose updates it judges by more than the write itself,
    # the namespace that it is in and what it looks up through `Needs`.
    @property
    def judged_by_more(self) -> Container[str]: ...

    # Resources (our names; their subresources count too) that it may have something to say about;
    # None for all. It is not asked about others. Whoever changes it tells `Chain.forget`.
    @property
    def concerns(self) -> Container[str] | None: ...

    async def admit(self, attributes: Attributes) -> None:
        """May change `attributes.value`."""

    async def validate(self, attributes: Attributes) -> None:
        """Sees the final object and changes nothing."""

    async def close(self) -> None:
        """Let go of what it holds open; the server ends."""


class PluginBase:
    """Lets a plugin define only the step it takes part in."""

    __slots__ = ()  # compiled plugins have no dictionary

    name = ""
    judged_by_more: Container[str] = ()
    concerns: Container[str] | None = None

    async def admit(self, attributes: Attributes) -> None:
        pass

    async def validate(self, attributes: Attributes) -> None:
        pass

    async def close(self) -> None:
        pass


class UnmadePlugin:
    """A plugin that is loaded and made when there is the first write to one of the resources that
    it concerns."""

    def __init__(self, name: str, concerns: Container[str], make: Callable[[], Plugin]) -> None:
        self.name = name
        self.concerns = concerns
        self._make = make

    @cached_property
    def made(self) -> Plugin:
        return self._make()

    @property
    def is_made(self) -> bool:
        return "made" in self.__dict__
