"""The state of a shell, and how its commands leave their surroundings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fairlead.controllers.simulation.runtime.process import Process, Program
from fairlead.controllers.simulation.runtime.shell_nodes import Command

MAX_CALLS = 20  # nested functions and scripts
SYNTAX_ERROR = 2  # the exit code


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

    def copy(self) -> ShellState:
        """The state of a subshell: what it changes is its own."""
        process = self.process.child(self.process.arguments)
        copy = ShellState(process, list(self.positional), self.stops_at_failure, self.status)
        copy.functions, copy.calls = dict(self.functions), self.calls
        return copy
