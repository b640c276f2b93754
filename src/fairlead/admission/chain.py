"""The admission chain: runs the mutating steps of all plugins, then the validating steps.

Most steps never wait. `admit` and `validate` run the steps at once up to the first that has to
wait; only then they return a coroutine, which runs the rest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import perf_counter

from fairlead.admission.metrics import CONTROLLERS, FIRST_BOUND, REFUSALS, STEPS
from fairlead.admission.plugin import Attributes, LazyPlugin, Plugin, PluginBase
from fairlead.base.errors import StatusError
from fairlead.base.waiting import finish
from fairlead.resources.registry import Resource

ADMIT, VALIDATE = "admit", "validate"  # the methods of plugins, and values of the metrics' labels

Step = Callable[[Attributes], Awaitable[None] | None]


class _Steps:
    """The steps of one phase (admit or validate) for one operation on a resource: the plugin's
    name, its step, and the histogram rows for writes that are not rejected."""

    def __init__(self, phase: str, operation: str, steps: Iterable[tuple[str, Step]]) -> None:
        self.phase = phase
        self.operation = operation
        self.row = STEPS.row((phase, operation, "false"))
        self.steps = [
            (name, step, CONTROLLERS.row((name, phase, operation, "false"))) for name, step in steps
        ]


class _Run:
    """One run of the steps for a write (see `base/waiting.py`). Records the duration of each step
    and of each round."""

    def __init__(self, steps: _Steps, attributes: Attributes) -> None:
        self._steps = steps
        self._attributes = attributes
        self._next = 0
        self._is_second = False
        self._begun = self._last = perf_counter()

    def advance(self) -> Awaitable[None] | None:
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
            self._refused()
            raise
        STEPS.observe_in(self._steps.row, self._last - self._begun)
        wants_round, attributes.wants_round = attributes.wants_round, False
        if not wants_round or self._is_second:
            return None
        attributes.round = 1
        self._is_second = True
        self._next, self._begun = 0, self._last
        return self.advance()

    def _record_step(self) -> None:
        row, now = self._steps.steps[self._next - 1][2], perf_counter()
        took = now - self._last
        self._last = now
        if took <= FIRST_BOUND:  # nearly always: count it without a call
            row[0] += 1
            row[-1] += took
        else:
            CONTROLLERS.observe_in(row, took)

    def failed(self, error: BaseException) -> Awaitable[None] | None:
        if isinstance(error, StatusError):
            self._refused()
        raise error

    @property
    def result(self) -> None:
        return None

    def _refused(self) -> None:
        """Record that the current step has rejected the write."""
        steps, now = self._steps, perf_counter()
        phase, operation, name = steps.phase, steps.operation, steps.steps[self._next - 1][0]
        CONTROLLERS.observe(now - self._last, (name, phase, operation, "true"))
        STEPS.observe(now - self._begun, (phase, operation, "true"))
        REFUSALS.add(of=(name, operation))


class Chain:
    """All plugins in order. The steps are cached by phase, resource and operation: only overridden
    steps of plugins that handle the resource run."""

    def __init__(self, plugins: Sequence[Plugin | LazyPlugin]) -> None:
        self.plugins = tuple(plugins)
        self._steps: dict[tuple[str, str, str], _Steps] = {}
        self._cacheable: dict[str, bool] = {}

    def forget(self) -> None:
        """Drop the cached steps, because the resources of a plugin changed."""
        self._steps.clear()
        self._cacheable.clear()

    def updates_are_cacheable(self, resource: Resource) -> bool:
        """Whether the decision on an update depends only on the update and its user."""
        key = resource.main.key
        cacheable = self._cacheable.get(key)
        if cacheable is None:
            dependent = [plugin.depends_on_other_state for plugin in self._concerned(key)]
            cacheable = not any(key in keys or "*" in keys for keys in dependent)
            self._cacheable[key] = cacheable
        return cacheable

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._run(ADMIT, attributes)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._run(VALIDATE, attributes)

    def _run(self, phase: str, attributes: Attributes) -> Awaitable[None] | None:
        key = phase, attributes.resource.main.key, attributes.operation
        steps = self._steps.get(key)
        if steps is None:
            plugins = self._concerned(key[1])
            base = getattr(PluginBase, phase)
            taking = [p for p in plugins if getattr(type(p), phase) is not base]
            steps = _Steps(phase, key[2], [(p.name, getattr(p, phase)) for p in taking])
            self._steps[key] = steps
        if not steps.steps:
            return None
        run = _Run(steps, attributes)
        waiting = run.advance()
        return None if waiting is None else finish(run, waiting)

    def _concerned(self, key: str) -> list[Plugin]:
        plugins = [p for p in self.plugins if p.concerns is None or key in p.concerns]
        return [p.plugin if isinstance(p, LazyPlugin) else p for p in plugins]

    def built_plugins(self) -> list[Plugin]:
        """Return the plugins that exist, without building lazy ones."""
        lazy = [p.plugin for p in self.plugins if isinstance(p, LazyPlugin) and p.is_built]
        return [*(p for p in self.plugins if not isinstance(p, LazyPlugin)), *lazy]
