"""The admission chain: runs the mutating steps of all plugins, then the validating steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import perf_counter

from fairlead.admission.metrics import CONTROLLERS, PROMPT, REFUSALS, STEPS
from fairlead.admission.plugin import Attributes, LazyPlugin, Plugin, PluginBase
from fairlead.base.errors import StatusError
from fairlead.resources.registry import Resource

ADMIT, VALIDATE = "admit", "validate"

Step = Callable[[Attributes], Awaitable[None] | None]


class _Steps:
    """The steps of one type (admit or validate) for one operation on a resource: the plugin's name,
    its step, and the histogram rows for writes that are not rejected."""

    __slots__ = ("kind", "operation", "row", "steps")

    def __init__(self, kind: str, operation: str, steps: Iterable[tuple[str, Step]]) -> None:
        self.kind = kind
        self.operation = operation
        self.row = STEPS.row((kind, operation, "false"))
        self.steps = [
            (name, step, CONTROLLERS.row((name, kind, operation, "false"))) for name, step in steps
        ]

    async def take(self, attributes: Attributes) -> None:
        """Run the steps and record the duration of each and of all. The first histogram bucket,
        which nearly every step falls into, is incremented inline without a call."""
        begun = last = perf_counter()
        name = ""
        try:
            for name, step, row in self.steps:
                waiting = step(attributes)
                if waiting is not None:
                    await waiting
                now = perf_counter()
                took = now - last
                last = now
                if took <= PROMPT:
                    row[0] += 1
                    row[-1] += took
                else:
                    CONTROLLERS.observe(took, (name, self.kind, self.operation, "false"))
        except StatusError:
            self._refused(name, begun, last)
            raise
        took = last - begun
        if took <= PROMPT:
            self.row[0] += 1
            self.row[-1] += took
        else:
            STEPS.observe(took, (self.kind, self.operation, "false"))

    def _refused(self, name: str, begun: float, last: float) -> None:
        now, kind, operation = perf_counter(), self.kind, self.operation
        CONTROLLERS.observe(now - last, (name, kind, operation, "true"))
        STEPS.observe(now - begun, (kind, operation, "true"))
        REFUSALS.add(of=(name, operation))


class Chain:
    """All plugins in order. The steps are cached by resource and operation: only overridden steps
    of plugins that handle the resource run."""

    def __init__(self, plugins: Sequence[Plugin | LazyPlugin]) -> None:
        self.plugins = tuple(plugins)
        self._admit: dict[tuple[str, str], _Steps] = {}
        self._validate: dict[tuple[str, str], _Steps] = {}
        self._alone: dict[str, bool] = {}

    def forget(self) -> None:
        """Drop the cached steps, because the resources of a plugin changed."""
        for steps in (self._admit, self._validate, self._alone):
            steps.clear()

    def updates_are_cacheable(self, resource: Resource) -> bool:
        """Whether the decision on an update depends only on the update and its user."""
        key = resource.main.key
        alone = self._alone.get(key)
        if alone is None:
            by_more = (plugin.depends_on_other_state for plugin in self._concerned(key))
            alone = self._alone[key] = not any(key in keys or "*" in keys for keys in by_more)
        return alone

    async def admit(self, attributes: Attributes) -> None:
        key = attributes.resource.main.key, attributes.operation
        steps = self._admit.get(key)
        if steps is None:
            taking = (p for p in self._concerned(key[0]) if type(p).admit is not PluginBase.admit)
            steps = _Steps(ADMIT, key[1], [(plugin.name, plugin.admit) for plugin in taking])
            self._admit[key] = steps
        if not steps.steps:
            return
        await steps.take(attributes)
        if attributes.wants_round:
            attributes.round, attributes.wants_round = 1, False
            await steps.take(attributes)

    async def validate(self, attributes: Attributes) -> None:
        key = attributes.resource.main.key, attributes.operation
        steps = self._validate.get(key)
        if steps is None:
            plugins = self._concerned(key[0])
            taking = (p for p in plugins if type(p).validate is not PluginBase.validate)
            steps = _Steps(VALIDATE, key[1], [(plugin.name, plugin.validate) for plugin in taking])
            self._validate[key] = steps
        if steps.steps:
            await steps.take(attributes)

    def _concerned(self, key: str) -> list[Plugin]:
        plugins = (p for p in self.plugins if p.concerns is None or key in p.concerns)
        return [p.plugin if isinstance(p, LazyPlugin) else p for p in plugins]

    async def close(self) -> None:
        for plugin in self.plugins:
            if not isinstance(plugin, LazyPlugin):
                await plugin.close()
            elif plugin.is_built:
                await plugin.plugin.close()
