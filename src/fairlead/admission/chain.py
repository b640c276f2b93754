"""The admission chain: runs the mutating steps of all plugins, then the validating steps.

Most steps never wait, so `admit` and `validate` run them at once. They return an awaitable for the
rest if a step has to wait (`plugin.finish`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import perf_counter

from fairlead.admission.metrics import CONTROLLERS, PROMPT, REFUSALS, STEPS
from fairlead.admission.plugin import Attributes, LazyPlugin, Plugin, PluginBase, finish
from fairlead.base.errors import StatusError
from fairlead.resources.registry import Resource

ADMIT, VALIDATE = "admit", "validate"

Step = Callable[[Attributes], Awaitable[None] | None]


class _Steps:
    """The steps of one type (admit or validate) for one operation on a resource: the plugin's name,
    its step, and the histogram rows for writes that are not rejected."""

    def __init__(self, kind: str, operation: str, steps: Iterable[tuple[str, Step]]) -> None:
        self.kind = kind
        self.operation = operation
        self.row = STEPS.row((kind, operation, "false"))
        self.steps = [
            (name, step, CONTROLLERS.row((name, kind, operation, "false"))) for name, step in steps
        ]


class _Run:
    """One run of the steps for a write. Records the duration of each step and of all. The first
    histogram bucket, which nearly every step falls into, is incremented inline without a call."""

    def __init__(self, steps: _Steps, attributes: Attributes) -> None:
        self._steps = steps
        self._attributes = attributes
        self._next = 0
        self._is_second = False
        self._begun = self._last = perf_counter()

    def advance(self) -> Awaitable[None] | None:
        """Run steps until one has to wait; returns what it waits for, None at the end."""
        steps, attributes = self._steps.steps, self._attributes
        if self._next:
            self._record_step()
        try:
            while self._next < len(steps):
                step = steps[self._next][1]
                self._next += 1
                waiting = step(attributes)
                if waiting is not None:
                    return waiting
                self._record_step()
        except StatusError:
            self.refused()
            raise
        self._record_all()
        wants_round, attributes.wants_round = attributes.wants_round, False
        if not wants_round or self._is_second:
            return None
        attributes.round = 1
        self._is_second = True
        self._next, self._begun = 0, self._last
        return self.advance()

    def _record_step(self) -> None:
        name, _, row = self._steps.steps[self._next - 1]
        now = perf_counter()
        took = now - self._last
        self._last = now
        if took <= PROMPT:
            row[0] += 1
            row[-1] += took
        else:
            CONTROLLERS.observe(took, (name, self._steps.kind, self._steps.operation, "false"))

    def _record_all(self) -> None:
        steps, took = self._steps, self._last - self._begun
        if took <= PROMPT:
            steps.row[0] += 1
            steps.row[-1] += took
        else:
            STEPS.observe(took, (steps.kind, steps.operation, "false"))

    def refused(self) -> None:
        """The current step has rejected the write."""
        steps, now = self._steps, perf_counter()
        kind, operation, name = steps.kind, steps.operation, steps.steps[self._next - 1][0]
        CONTROLLERS.observe(now - self._last, (name, kind, operation, "true"))
        STEPS.observe(now - self._begun, (kind, operation, "true"))
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
        self._admit.clear()
        self._validate.clear()
        self._alone.clear()

    def updates_are_cacheable(self, resource: Resource) -> bool:
        """Whether the decision on an update depends only on the update and its user."""
        key = resource.main.key
        alone = self._alone.get(key)
        if alone is None:
            by_more = [plugin.depends_on_other_state for plugin in self._concerned(key)]
            alone = self._alone[key] = not any(key in keys or "*" in keys for keys in by_more)
        return alone

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        key = attributes.resource.main.key, attributes.operation
        steps = self._admit.get(key)
        if steps is None:
            taking = [p for p in self._concerned(key[0]) if type(p).admit is not PluginBase.admit]
            steps = _Steps(ADMIT, key[1], [(plugin.name, plugin.admit) for plugin in taking])
            self._admit[key] = steps
        return _run(steps, attributes)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        key = attributes.resource.main.key, attributes.operation
        steps = self._validate.get(key)
        if steps is None:
            plugins = self._concerned(key[0])
            taking = [p for p in plugins if type(p).validate is not PluginBase.validate]
            steps = _Steps(VALIDATE, key[1], [(plugin.name, plugin.validate) for plugin in taking])
            self._validate[key] = steps
        return _run(steps, attributes)

    def _concerned(self, key: str) -> list[Plugin]:
        plugins = [p for p in self.plugins if p.concerns is None or key in p.concerns]
        return [p.plugin if isinstance(p, LazyPlugin) else p for p in plugins]

    def built_plugins(self) -> list[Plugin]:
        """Return the plugins that exist, without building lazy ones."""
        lazy = [p.plugin for p in self.plugins if isinstance(p, LazyPlugin) and p.is_built]
        return [*(p for p in self.plugins if not isinstance(p, LazyPlugin)), *lazy]


def _run(steps: _Steps, attributes: Attributes) -> Awaitable[None] | None:
    if not steps.steps:
        return None
    run = _Run(steps, attributes)
    waiting = run.advance()
    return None if waiting is None else finish(run, waiting)
