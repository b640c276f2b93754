"""The admission chain: plugins that change a write, then plugins that only judge it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fairlead.admission.counts import REFUSALS
from fairlead.authentication.user import User
from fairlead.errors import StatusError
from fairlead.kinds.context import Context
from fairlead.kinds.resources import Resource

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


@dataclass(slots=True)
class Attributes:
    """One write as plugins see it. Objects are in the stored version; `value` is None for a
    delete, `old` for a create. Plugins change `value` in place."""

    operation: str
    resource: Resource
    namespace: str
    name: str
    value: dict[str, Any] | None
    old: dict[str, Any] | None
    user: User
    context: Context

    @property
    def subresource(self) -> str:
        return self.resource.subresource


class Plugin(Protocol):
    """Either step may raise a StatusError to refuse the write."""

    name: str
    # Resources (our names, `*` for all) whose updates it judges by more than the write itself,
    # the namespace that it is in and what it looks up through `Needs`.
    judged_by_more: tuple[str, ...]

    async def admit(self, attributes: Attributes) -> None:
        """May change `attributes.value`."""

    async def validate(self, attributes: Attributes) -> None:
        """Sees the final object and changes nothing."""

    async def close(self) -> None:
        """Let go of what it holds open; the server ends."""


class PluginBase:
    """Lets a plugin define only the step it takes part in."""

    name = ""
    judged_by_more: tuple[str, ...] = ()

    async def admit(self, attributes: Attributes) -> None:
        pass

    async def validate(self, attributes: Attributes) -> None:
        pass

    async def close(self) -> None:
        pass


Step = Callable[[Attributes], Awaitable[None]]


class Chain:
    """All plugins in their order; steps that a plugin leaves out cost nothing."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        self._admit = [(p.name, p.admit) for p in plugins if type(p).admit is not PluginBase.admit]
        self._validate = [
            (p.name, p.validate) for p in plugins if type(p).validate is not PluginBase.validate
        ]
        self._judged_by_more = {key for plugin in plugins for key in plugin.judged_by_more}

    def judges_updates_alone(self, resource: Resource) -> bool:
        """Whether the same update by the same user always meets the same judgement."""
        return self._judged_by_more.isdisjoint((resource.main.key, "*"))

    async def admit(self, attributes: Attributes) -> None:
        await _take(self._admit, attributes)

    async def validate(self, attributes: Attributes) -> None:
        await _take(self._validate, attributes)

    async def close(self) -> None:
        for plugin in self.plugins:
            await plugin.close()


async def _take(steps: Sequence[tuple[str, Step]], attributes: Attributes) -> None:
    name = ""
    try:
        for name, step in steps:  # noqa: B007
            await step(attributes)
    except StatusError:
        REFUSALS.add(of=(name, attributes.operation))
        raise
