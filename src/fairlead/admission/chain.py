"""The admission chain: plugins that change a write, then plugins that only judge it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

from fairlead.admission.counts import CONTROLLERS, PROMPT, REFUSALS, STEPS
from fairlead.authentication.user import User
from fairlead.errors import StatusError
from fairlead.kinds.context import Context
from fairlead.kinds.resources import Resource

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"
ADMIT, VALIDATE = "admit", "validate"


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

    name = ""
    judged_by_more: Container[str] = ()
    concerns: Container[str] | None = None

    async def admit(self, attributes: Attributes) -> None:
        pass

    async def validate(self, attributes: Attributes) -> None:
        pass

    async def close(self) -> None:
        pass


Step = Callable[[Attributes], Awaitable[None]]
# The name of a plugin, its step, and its row of durations for writes that it lets pass.
Steps = Sequence[tuple[str, Step, list[float]]]


class Chain:
    """All plugins in their order; steps that a plugin leaves out cost nothing, nor do plugins that
    a resource does not concern."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        self._admit: dict[tuple[str, str], Steps] = {}
        self._validate: dict[tuple[str, str], Steps] = {}
        self._alone: dict[str, bool] = {}

    def forget(self) -> None:
        """Ask the plugins again what concerns them."""
        for known in (self._admit, self._validate, self._alone):
            known.clear()

    def judges_updates_alone(self, resource: Resource) -> bool:
        """Whether the same update by the same user always meets the same judgement."""
        key = resource.main.key
        alone = self._alone.get(key)
        if alone is None:
            by_more = (plugin.judged_by_more for plugin in self.plugins)
            alone = self._alone[key] = not any(key in found or "*" in found for found in by_more)
        return alone

    async def admit(self, attributes: Attributes) -> None:
        key = attributes.resource.main.key, attributes.operation
        steps = self._admit.get(key)
        if steps is None:
            steps = self._admit[key] = [
                (plugin.name, plugin.admit, _row(plugin, ADMIT, attributes))
                for plugin in self._concerned(key[0])
                if type(plugin).admit is not PluginBase.admit
            ]
        if not steps:
            return
        await _take(ADMIT, steps, attributes)
        if attributes.wants_round:
            attributes.round, attributes.wants_round = 1, False
            await _take(ADMIT, steps, attributes)

    async def validate(self, attributes: Attributes) -> None:
        key = attributes.resource.main.key, attributes.operation
        steps = self._validate.get(key)
        if steps is None:
            steps = self._validate[key] = [
                (plugin.name, plugin.validate, _row(plugin, VALIDATE, attributes))
                for plugin in self._concerned(key[0])
                if type(plugin).validate is not PluginBase.validate
            ]
        if steps:
            await _take(VALIDATE, steps, attributes)

    def _concerned(self, key: str) -> list[Plugin]:
        return [p for p in self.plugins if p.concerns is None or key in p.concerns]

    async def close(self) -> None:
        for plugin in self.plugins:
            await plugin.close()


def _row(plugin: Plugin, kind: str, attributes: Attributes) -> list[float]:
    return CONTROLLERS.row((plugin.name, kind, attributes.operation, "false"))


async def _take(kind: str, steps: Steps, attributes: Attributes) -> None:
    """Take the steps, and note how long each and all of them took."""
    begun = last = perf_counter()
    name, operation = "", attributes.operation
    try:
        for name, step, row in steps:
            await step(attributes)
            now = perf_counter()
            took, last = now - last, now
            if took <= PROMPT:
                row[0] += 1
                row[-1] += took
            else:
                CONTROLLERS.observe(took, (name, kind, operation, "false"))
    except StatusError:
        now = perf_counter()
        CONTROLLERS.observe(now - last, (name, kind, operation, "true"))
        STEPS.observe(now - begun, (kind, operation, "true"))
        REFUSALS.add(of=(name, operation))
        raise
    STEPS.observe(last - begun, (kind, operation, "false"))
