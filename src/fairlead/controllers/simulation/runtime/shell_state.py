"""The state of a shell, and how its commands leave their surroundings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fairlead.controllers.simulation.runtime.memory import Held, OutOfMemory
from fairlead.controllers.simulation.runtime.process import Process, Program
from fairlead.controllers.simulation.runtime.shell_nodes import Command

MAX_CALLS = 20  # nested functions and scripts
SYNTAX_ERROR = 2  # the exit code
_MAX_HELD, _OVERHEAD = 16 * 1024 * 1024, 200  # bytes of variables, and those of one without value
_MAX_FUNCTIONS, _MAX_BACKGROUND = 1_000, 100


class ShellExit(Exception):
    """`exit`: the shell ends."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class FunctionReturn(ShellExit):
    """`return`: the function ends."""


class LoopExit(Exception):
    """`break`, or `continue` if `goes_on`."""

    def __init__(self, *, goes_on: bool) -> None:
        super().__init__()
        self.goes_on = goes_on


@dataclass(slots=True)
class ShellState:
    """`positional` is `$0`, `$1` and so on, `status` the exit code of the last command."""

    process: Process
    positional: list[str]
    stops_at_failure: bool = False
    status: int = 0
    functions: dict[str, Command] = field(default_factory=dict)
    background: list[Callable[[], Program]] = field(default_factory=list)
    calls: int = 0
    _held: Held = field(init=False)

    def __post_init__(self) -> None:
        self._held = Held(_MAX_HELD, self.process.files.memory)

    def assign(self, values: Mapping[str, str]) -> None:
        """Set variables. Raises OutOfMemory."""
        environment = self.process.environment
        for name, value in values.items():
            old = environment.get(name)
            growth = len(value) - (-_OVERHEAD - len(name) if old is None else len(old))
            if not self._held.grow(growth):
                raise OutOfMemory
            environment[name] = value

    def define(self, name: str, body: Command) -> None:
        """Define a function. Raises OutOfMemory."""
        if len(self.functions) >= _MAX_FUNCTIONS:
            raise OutOfMemory
        self.functions[name] = body

    def add_background(self, begin: Callable[[], Program]) -> None:
        """Begin something when the shell waits for it. Raises OutOfMemory."""
        if len(self.background) >= _MAX_BACKGROUND:
            raise OutOfMemory
        self.process.surroundings.has_unknown = True  # it runs already, as far as others see
        self.background.append(begin)

    def copy(self) -> ShellState:
        """The state of a subshell: what it changes is its own."""
        process = self.process.child(self.process.arguments)
        copy = ShellState(process, list(self.positional), self.stops_at_failure, self.status)
        copy.functions, copy.calls = dict(self.functions), self.calls
        return copy
