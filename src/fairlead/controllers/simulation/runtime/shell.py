"""Runs shell scripts (`sh -c`) of simulated containers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fairlead.base.digits import whole_number
from fairlead.controllers.simulation.runtime.expansion import Expanding, Expansion, matches
from fairlead.controllers.simulation.runtime.files import MAX_BYTES, FileError
from fairlead.controllers.simulation.runtime.memory import Held, OutOfMemory
from fairlead.controllers.simulation.runtime.options import Options
from fairlead.controllers.simulation.runtime.process import (
    INTERRUPTED,
    NOT_FOUND,
    STDERR,
    STDOUT,
    Interrupted,
    Process,
    Program,
    Read,
    Signals,
    Step,
    error,
    output,
    redirected,
    start,
)
from fairlead.controllers.simulation.runtime.shell_builtins import BUILTINS
from fairlead.controllers.simulation.runtime.shell_nodes import (
    AndOr,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Loop,
    Pipeline,
    Redirect,
    Script,
    Simple,
)
from fairlead.controllers.simulation.runtime.shell_state import (
    MAX_CALLS,
    SYNTAX_ERROR,
    FunctionReturn,
    LoopExit,
    ShellExit,
    ShellState,
)
from fairlead.controllers.simulation.runtime.shell_syntax import MAX_SCRIPT, ShellSyntaxError, parse

_OPTIONS = Options("o: O: rcfile,init-file:", leads=True)
_MAX_SUBSTITUTED = 64 * 1024  # bytes
_MAX_PIPED = 2 * MAX_BYTES  # between the commands of a pipeline: an archive of all files fits


def shell(process: Process) -> Program:
    """`sh [-c SCRIPT [NAME [ARGUMENT...]]]` or `sh FILE [ARGUMENT...]`."""
    given = _OPTIONS.read(process.arguments[1:])
    arguments = given.operands
    if given.has("c"):
        if not arguments:
            yield error("sh: -c requires an argument\n")
            return SYNTAX_ERROR
        text, *positional = arguments
        positional = positional or [process.arguments[0]]
    elif arguments:
        positional = arguments
        try:
            text = process.files.read(process.path(arguments[0])).decode(errors="replace")
        except FileError as failed:
            yield error(f"sh: {failed}\n")
            return NOT_FOUND
    else:
        return (yield from _interactive(process))
    run = Shell(ShellState(process, positional, given.has("e")))
    return (yield from run.run_text(text))


def _interactive(process: Process) -> Program:
    """Run the lines of the input as they come. Ctrl-C ends what a line runs."""
    run = Shell(ShellState(process, [process.arguments[0]]))
    line = b""
    while True:
        try:
            if process.has_terminal:
                yield output(f"{process.directory} # ")
            data = yield Read()
            *lines, line = (line + data).split(b"\n")
            if len(line) > MAX_SCRIPT:
                yield error("sh: line too long\n")
                return SYNTAX_ERROR
            for each in lines if data else [line]:
                yield from run.run_line(each.decode(errors="replace"))
        except ShellExit as end:
            return end.code
        except Interrupted:
            line, run.state.status = b"", INTERRUPTED
            continue
        if not data:
            return run.state.status


class Shell:
    """Runs commands."""

    def __init__(self, state: ShellState) -> None:
        self.state = state
        self._is_condition = False  # failures of conditions do not stop the shell

    @property
    def _words(self) -> Expansion:
        return Expansion(self.state, self._substituted)  # not kept: it refers to this shell

    def run_text(self, text: str) -> Program:
        """Run a script to its end, and what it wants to be run then."""
        code = yield from self._run_text(text)
        signals = self.state.process.signals
        if signals is not None and (action := signals.traps.pop("EXIT", "")):
            self.state.status = code
            try:
                yield from self.run_line(action)
            except ShellExit as end:
                return end.code
        return code

    def _run_text(self, text: str) -> Program:
        try:
            yield from self._script(parse(text))
        except ShellSyntaxError as failed:
            yield error(f"sh: {failed}\n")
            return (yield from self._not_understood())
        except ShellExit as end:
            return end.code
        except LoopExit:
            pass
        return self.state.status

    def _not_understood(self) -> Program:
        """Other shells have more syntax than this one. Where unknown programs run, such a script is
        one of them."""
        process = self.state.process
        unknown = process.find(process.child([""]))
        return SYNTAX_ERROR if unknown is None else (yield from unknown)

    def run_line(self, text: str) -> Program:
        """Run one line; raises ShellExit."""
        try:
            yield from self._script(parse(text))
        except ShellSyntaxError as failed:
            yield error(f"sh: {failed}\n")
            self.state.status = SYNTAX_ERROR
        except LoopExit:
            pass
        return self.state.status

    def _buffer(self, limit: int) -> _Buffer:
        return _Buffer(Held(limit, self.state.process.files.memory))

    def _copy(self) -> Shell:
        return Shell(self.state.copy())

    def _substituted(self, script: Script) -> Expanding:
        """The output of a script in a subshell, without the line ends at its end."""
        buffer, subshell = self._buffer(_MAX_SUBSTITUTED), self._copy()
        try:
            yield from redirected(subshell._script(script), None, {STDOUT: buffer.write})
            self.state.status = subshell.state.status
        except ShellExit as end:
            self.state.status = end.code
        return buffer.data.decode(errors="surrogateescape").rstrip("\n")

    # Lists, pipelines and compound commands

    def _script(self, script: Script) -> Program:
        for each in script.lists:
            if each.in_background:
                self.state.add_background(partial(self._copy()._and_or, each))
                self.state.status = 0
            else:
                yield from self._and_or(each)
            if self.state.process.signals is not None:
                yield from self._run_trap(self.state.process.signals)
        return self.state.status

    def _run_trap(self, signals: Signals) -> Program:
        if signals.is_pending:
            signals.is_pending = False
            status = self.state.status
            yield from self.run_line(signals.traps.get("TERM", ""))
            self.state.status = status
        return 0

    def _and_or(self, each: AndOr) -> Program:
        last = len(each.pipelines) - 1
        for index, (operator, pipeline) in enumerate(each.pipelines):
            if operator and (operator == "&&") != (self.state.status == 0):
                continue
            is_condition, self._is_condition = (
                self._is_condition,
                self._is_condition or index < last,
            )
            try:
                self.state.status = yield from self._pipeline(pipeline)
            finally:
                self._is_condition = is_condition
            fails = self.state.status and index == last and not pipeline.is_negated
            if fails and self.state.stops_at_failure and not self._is_condition:
                raise ShellExit(self.state.status)
        return self.state.status

    def _pipeline(self, pipeline: Pipeline) -> Program:
        data: bytes | None = None
        *before, last = pipeline.commands
        for command in before:
            buffer = self._buffer(_MAX_PIPED)
            stage = self._in_subshell(command)
            yield from redirected(stage, data, {STDOUT: buffer.write})
            data = buffer.take()
        stage = self._command(last) if not before else self._in_subshell(last)
        code = yield from (stage if data is None else redirected(stage, data))
        return int(not code) if pipeline.is_negated else code

    def _in_subshell(self, command: Command) -> Program:
        try:
            return (yield from self._copy()._command(command))
        except ShellExit as end:
            return end.code
        except LoopExit:
            return 0

    def _command(self, command: Command) -> Program:
        yield Step()
        if isinstance(command, Simple):
            return (yield from self._simple(command))
        program = self._compound(command)
        if not command.redirects:
            return (yield from program)
        return (yield from self._with_redirects(program, command.redirects))

    def _compound(self, command: Command) -> Program:
        match command:
            case If():
                return (yield from self._if(command))
            case Loop():
                return (yield from self._loop(command))
            case For():
                return (yield from self._for(command))
            case Case():
                return (yield from self._case(command))
            case Group(is_subshell=True):
                return (yield from self._in_subshell(Group(command.body, is_subshell=False)))
            case Group():
                return (yield from self._script(command.body))
            case Function():
                self.state.define(command.name, command.body)
        return 0

    def _condition(self, script: Script) -> Program:
        outer, self._is_condition = self._is_condition, True
        try:
            return (yield from self._script(script))
        finally:
            self._is_condition = outer

    def _if(self, command: If) -> Program:
        for condition, body in command.branches:
            if not (yield from self._condition(condition)):
                return (yield from self._script(body))
        self.state.status = 0
        return (yield from self._script(command.otherwise)) if command.otherwise else 0

    def _loop(self, command: Loop) -> Program:
        code = 0
        while bool((yield from self._condition(command.condition))) == command.is_until:
            try:
                code = yield from self._script(command.body)
            except LoopExit as leave:
                if not leave.goes_on:
                    break
            yield Step()
        self.state.status = code
        return code

    def _for(self, command: For) -> Program:
        if command.words is None:
            values = self.state.positional[1:]
        else:
            values = yield from self._words.fields(command.words)
        self.state.status = 0
        for value in values:
            self.state.assign({command.name: value})
            try:
                yield from self._script(command.body)
            except LoopExit as leave:
                if not leave.goes_on:
                    break
        return self.state.status

    def _case(self, command: Case) -> Program:
        value = yield from self._words.text(command.word)
        for patterns, body in command.branches:
            for pattern in patterns:
                yield Step()  # a pattern takes long the first time
                text = yield from self._words.text(pattern)
                if matches(value, text):
                    self.state.status = 0
                    return (yield from self._script(body))
        return 0

    # Simple commands

    def _simple(self, command: Simple) -> Program:
        words = yield from self._words.fields(command.words)
        assigned: dict[str, str] = {}
        for name, word in command.assignments:
            assigned[name] = yield from self._words.text(word)
        if not words:
            self.state.assign(assigned)
            program = self._nothing()
        else:
            program = self.call(words, assigned)
        if not command.redirects:
            return (yield from program)
        return (yield from self._with_redirects(program, command.redirects))

    def _nothing(self) -> Program:
        yield Step()
        return 0

    def call(self, words: list[str], assigned: Mapping[str, str]) -> Program:
        name = words[0]
        if name in self.state.functions:
            return (yield from self._call_function(words))
        builtin = BUILTINS.get(name)
        if builtin is not None:
            self.state.assign(assigned)
            try:
                return (yield from builtin(self, words))
            except FileError as failed:  # a name that no file can have
                yield error(f"sh: {name}: {failed}\n")
                return 1
        child = self.state.process.child(words)
        child.environment.update(assigned)
        return (yield from start(child))

    def _call_function(self, words: list[str]) -> Program:
        if self.state.calls >= MAX_CALLS:
            yield error(f"sh: {words[0]}: nested too deeply\n")
            return 1
        outer, self.state.positional = self.state.positional, [self.state.positional[0], *words[1:]]
        self.state.calls += 1
        try:
            return (yield from self._command(self.state.functions[words[0]]))
        except FunctionReturn as end:
            return end.code
        finally:
            self.state.calls -= 1
            self.state.positional = outer

    def _with_redirects(self, program: Program, redirects: Sequence[Redirect]) -> Program:
        data: bytes | None = None
        sinks: dict[int, Callable[[bytes], None] | int] = {}
        files = self.state.process.files
        for stream, operator, target in redirects:
            text = yield from self._words.text(target)
            try:
                if operator == "<<":
                    data = text.encode(errors="surrogateescape")
                elif operator == "<":
                    data = files.read(self.state.process.path(text))
                elif operator == ">&":
                    number = whole_number(text)
                    if number is None:
                        raise FileError(text, "Bad file descriptor")
                    sinks[stream] = sinks.get(number, number)
                else:
                    sinks[stream] = self._opened(text, operator)
            except FileError as failed:
                program.close()
                action = "open" if operator == "<" else "create"
                name = self.state.process.arguments[0]
                yield error(f"{name}: can't {action} {text}: {failed.reason}\n")
                return 1
        try:
            return (yield from redirected(program, data, sinks))
        except FileError as failed:  # the volume is full
            yield error(f"sh: {failed}\n")
            return 1

    def _opened(self, name: str, operator: str) -> Callable[[bytes], None] | int:
        """Open a file for writing. Raises FileError."""
        process = self.state.process
        path = process.path(name)
        standard = {"/dev/stdout": STDOUT, "/dev/stderr": STDERR}.get(path)
        if standard is not None:
            return standard
        of_first = {"/proc/1/fd/1": STDOUT, "/proc/1/fd/2": STDERR}.get(path)
        if of_first is not None:  # the log of the container
            write = process.surroundings.write
            return lambda data: write(of_first, data, process.time())
        files = process.files
        files.write(path, b"", append=operator == ">>")
        return lambda data: files.write(path, data, append=True)


class _Buffer:
    """Output that another command reads; what is too much is dropped."""

    def __init__(self, held: Held) -> None:
        self.data = bytearray()
        self._held = held

    def write(self, data: bytes) -> None:
        data = data[: self._held.limit - self._held.size]
        if not self._held.grow(len(data)):
            raise OutOfMemory
        self.data += data

    def take(self) -> bytes:
        """What was written. It counts as held while this buffer is there."""
        data, self.data = bytes(self.data), bytearray()
        return data
