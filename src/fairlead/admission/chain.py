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
    # Resources (our names; their subresources count too) that it may have something to say about;
    # None for all. It is not asked about others.
    concerns: frozenset[str] | None

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
    concerns: frozenset[str] | None = None

    async def admit(self, attributes: Attributes) -> None:
        pass

    async def validate(self, attributes: Attributes) -> None:
        pass

    async def close(self) -> None:
        pass


Step = Callable[[Attributes], Awaitable[None]]
Steps = Sequence[tuple[str, Step]]


class Chain:
    """All plugins in their order; steps that a plugin leaves out cost nothing, nor do plugins that
    a resource does not concern."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        self._admit: dict[str, Steps] = {}
        self._validate: dict[str, Steps] = {}
        self._judged_by_more = {key for plugin in plugins for key in plugin.judged_by_more}

    def judges_updates_alone(self, resource: Resource) -> bool:
        """Whether the same update by the same user always meets the same judgement."""
        return self._judged_by_more.isdisjoint((resource.main.key, "*"))

    async def admit(self, attributes: Attributes) -> None:
        key = attributes.resource.main.key
        steps = self._admit.get(key)
        if steps is None:
            steps = self._admit[key] = [
                (plugin.name, plugin.admit)
                for plugin in self._concerned(key)
                if type(plugin).admit is not PluginBase.admit
            ]
        await _take(steps, attributes)

    async def validate(self, attributes: Attributes) -> None:
        key = attributes.resource.main.key
        steps = self._validate.get(key)
        if steps is None:
            steps = self._validate[key] = [
                (plugin.name, plugin.validate)
                for plugin in self._concerned(key)
                if type(plugin).validate is not PluginBase.validate
            ]
        await _take(steps, attributes)

    def _concerned(self, key: str) -> list[Plugin]:
        return [p for p in self.plugins if p.concerns is None or key in p.concerns]

    async def close(self) -> None:
        for plugin in self.plugins:
            await plugin.close()


async def _take(steps: Steps, attributes: Attributes) -> None:
    name = ""
    try:
        for name, step in steps:  # noqa: B007
            await step(attributes)
    except StatusError:
        REFUSALS.add(of=(name, attributes.operation))
        raise
