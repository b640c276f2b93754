"""Runs shell scripts (`sh -c`) of simulated containers."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import ClassVar

from fairlead.controllers.simulation.runtime import arithmetic
from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.process import (
    STDERR,
    STDOUT,
    Effect,
    Process,
    Program,
    Step,
    error,
    output,
    redirected,
    start,
)
from fairlead.controllers.simulation.runtime.process import Read as ReadInput
from fairlead.controllers.simulation.runtime.shell_nodes import (
    AndOr,
    Arithmetic,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Loop,
    Parameter,
    Part,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Text,
    Word,
)
from fairlead.controllers.simulation.runtime.shell_syntax import ShellSyntaxError, parse

MAX_BUFFER = (
    256 * 1024
)  # bytes of a word, of all arguments, between the commands of a pipeline, or of a substitution
_MAX_CALLS = 20  # nested functions and scripts
_PATTERN = re.compile(r"[*?\[]")
_SYNTAX_ERROR = 2

Expanding = Generator[Effect, bytes, str]
Splitting = Generator[Effect, bytes, list[str]]


class _Exit(Exception):
    """`exit`: the shell ends."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Return(_Exit):
    """`return`: the function ends."""


class _LeaveLoop(Exception):
    """`break`, or `continue` if `goes_on`."""

    def __init__(self, *, goes_on: bool) -> None:
        super().__init__()
        self.goes_on = goes_on


def shell(process: Process) -> Program:
    """`sh [-c SCRIPT [NAME [ARGUMENT...]]]` or `sh FILE [ARGUMENT...]`."""
    arguments = process.arguments[1:]
    flags = ""
    while arguments and arguments[0][:1] in "-+" and len(arguments[0]) > 1:
        flags += arguments.pop(0)[1:]
    if "c" in flags:
        if not arguments:
            yield error("sh: -c requires an argument\n")
            return _SYNTAX_ERROR
        text, *positional = arguments
        positional = positional or [process.arguments[0]]
    elif arguments:
        positional = arguments
        try:
            text = process.files.read(process.path(arguments[0])).decode(errors="replace")
        except FileError as failed:
            yield error(f"sh: {failed}\n")
            return 127
    else:
        return (yield from _interactive(process))
    run = _Shell(process, positional, stops_at_failure="e" in flags)
    return (yield from run.run_text(text))


def _interactive(process: Process) -> Program:
    """Run the lines of the input as they come."""
    run = _Shell(process, [process.arguments[0]])
    line = b""
    if process.has_terminal:
        yield output(f"{process.directory} # ")
    while data := (yield ReadInput()):
        *lines, line = (line + data).split(b"\n")
        for each in lines:
            try:
                yield from run.run_line(each.decode(errors="replace"))
            except _Exit as end:
                return end.code
        if process.has_terminal:
            yield output(f"{process.directory} # ")
    try:
        yield from run.run_line(line.decode(errors="replace"))
    except _Exit as end:
        return end.code
    return run.status


class _Shell:
    """The state of a shell. `positional` is `$0`, `$1` and so on."""

    def __init__(
        self, process: Process, positional: Sequence[str], *, stops_at_failure: bool = False
    ) -> None:
        self.process = process
        self.positional = list(positional)
        self.status = 0
        self.stops_at_failure = stops_at_failure
        self._exported = dict(process.environment)
        self._functions: dict[str, Command] = {}
        self._background: list[Callable[[], Program]] = []
        self._calls = 0
        self._is_condition = False  # failures of conditions do not stop the shell

    def run_text(self, text: str) -> Program:
        """Run a script to its end."""
        try:
            yield from self._script(parse(text))
        except ShellSyntaxError as failed:
            yield error(f"sh: {failed}\n")
            return _SYNTAX_ERROR
        except _Exit as end:
            return end.code
        except _LeaveLoop:
            pass
        return self.status

    def run_line(self, text: str) -> Program:
        """Run one line; raises _Exit."""
        try:
            yield from self._script(parse(text))
        except ShellSyntaxError as failed:
            yield error(f"sh: {failed}\n")
            self.status = _SYNTAX_ERROR
        except _LeaveLoop:
            pass
        return self.status

    def _copy(self) -> _Shell:
        """A subshell: what it changes is its own."""
        copy = _Shell(
            self.process.child(self.process.arguments),
            self.positional,
            stops_at_failure=self.stops_at_failure,
        )
        copy._functions = dict(self._functions)
        copy._exported = dict(self._exported)
        copy._calls = self._calls
        copy.status = self.status
        return copy

    # Lists, pipelines and compound commands

    def _script(self, script: Script) -> Program:
        for each in script.lists:
            if each.in_background:
                self._background.append(partial(self._copy()._and_or, each))
                self.status = 0
            else:
                yield from self._and_or(each)
        return self.status

    def _and_or(self, each: AndOr) -> Program:
        last = len(each.pipelines) - 1
        for index, (operator, pipeline) in enumerate(each.pipelines):
            if operator and (operator == "&&") != (self.status == 0):
                continue
            is_condition, self._is_condition = (
                self._is_condition,
                self._is_condition or index < last,
            )
            try:
                self.status = yield from self._pipeline(pipeline)
            finally:
                self._is_condition = is_condition
            fails = self.status and index == last and not pipeline.is_negated
            if fails and self.stops_at_failure and not self._is_condition:
                raise _Exit(self.status)
        return self.status

    def _pipeline(self, pipeline: Pipeline) -> Program:
        data: bytes | None = None
        *before, last = pipeline.commands
        for command in before:
            buffer = _Buffer()
            stage = self._in_subshell(command)
            yield from redirected(stage, data, {STDOUT: buffer.write})
            data = bytes(buffer.data)
        stage = self._command(last) if not before else self._in_subshell(last)
        code = yield from (stage if data is None else redirected(stage, data))
        return int(not code) if pipeline.is_negated else code

    def _in_subshell(self, command: Command) -> Program:
        try:
            return (yield from self._copy()._command(command))
        except _Exit as end:
            return end.code
        except _LeaveLoop:
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
                self._functions[command.name] = command.body
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
        self.status = 0
        return (yield from self._script(command.otherwise)) if command.otherwise else 0

    def _loop(self, command: Loop) -> Program:
        code = 0
        while bool((yield from self._condition(command.condition))) == command.is_until:
            try:
                code = yield from self._script(command.body)
            except _LeaveLoop as leave:
                if not leave.goes_on:
                    break
            yield Step()
        self.status = code
        return code

    def _for(self, command: For) -> Program:
        if command.words is None:
            values = self.positional[1:]
        else:
            values = yield from self._fields(command.words)
        self.status = 0
        for value in values:
            self.process.environment[command.name] = value
            try:
                yield from self._script(command.body)
            except _LeaveLoop as leave:
                if not leave.goes_on:
                    break
        return self.status

    def _case(self, command: Case) -> Program:
        value = yield from self._text(command.word)
        for patterns, body in command.branches:
            for pattern in patterns:
                text = yield from self._text(pattern)
                if fnmatchcase(value, text):
                    self.status = 0
                    return (yield from self._script(body))
        return 0

    # Simple commands

    def _simple(self, command: Simple) -> Program:
        words = yield from self._fields(command.words)
        assigned: dict[str, str] = {}
        for name, word in command.assignments:
            assigned[name] = yield from self._text(word)
        if not words:
            self.process.environment.update(assigned)
            program = self._nothing()
        else:
            program = self._call(words, assigned)
        if not command.redirects:
            return (yield from program)
        return (yield from self._with_redirects(program, command.redirects))

    def _nothing(self) -> Program:
        yield Step()
        return 0

    def _call(self, words: list[str], assigned: Mapping[str, str]) -> Program:
        name = words[0]
        if name in self._functions:
            return (yield from self._call_function(words))
        builtin = self._BUILTINS.get(name)
        if builtin is not None:
            self.process.environment.update(assigned)
            return (yield from builtin(self, words))
        child = self.process.child(words)
        child.environment.update(assigned)
        return (yield from start(child))

    def _call_function(self, words: list[str]) -> Program:
        if self._calls >= _MAX_CALLS:
            yield error(f"sh: {words[0]}: nested too deeply\n")
            return 1
        outer, self.positional = self.positional, [self.positional[0], *words[1:]]
        self._calls += 1
        try:
            return (yield from self._command(self._functions[words[0]]))
        except _Return as end:
            return end.code
        finally:
            self._calls -= 1
            self.positional = outer

    def _with_redirects(self, program: Program, redirects: Sequence[Redirect]) -> Program:
        data: bytes | None = None
        sinks: dict[int, Callable[[bytes], None] | int] = {}
        files = self.process.files
        for stream, operator, target in redirects:
            text = yield from self._text(target)
            try:
                if operator == "<<":
                    data = text.encode(errors="surrogateescape")
                elif operator == "<":
                    data = files.read(self.process.path(text))
                elif operator == ">&":
                    if not text.isdigit():
                        raise FileError(text, "Bad file descriptor")
                    sinks[stream] = sinks.get(int(text), int(text))
                else:
                    sinks[stream] = self._opened(text, operator)
            except FileError as failed:
                program.close()
                yield error(f"sh: {failed}\n")
                return 1
        try:
            return (yield from redirected(program, data, sinks))
        except FileError as failed:  # the volume is full
            yield error(f"sh: {failed}\n")
            return 1

    def _opened(self, name: str, operator: str) -> Callable[[bytes], None] | int:
        """Open a file for writing. Raises FileError."""
        path = self.process.path(name)
        standard = {"/dev/stdout": STDOUT, "/dev/stderr": STDERR}.get(path)
        if standard is not None or path in ("/proc/1/fd/1", "/proc/1/fd/2"):
            return standard or STDOUT
        files = self.process.files
        files.write(path, b"", append=operator == ">>")
        return lambda data: files.write(path, data, append=True)

    # Expansion of words

    def _text(self, word: Word) -> Expanding:
        """A word as one text, not split."""
        texts = []
        for part in word:
            texts.append((yield from self._part(part)))
        if sum(map(len, texts)) > MAX_BUFFER:
            yield error("sh: word too long\n")
            raise _Exit(_SYNTAX_ERROR)
        return "".join(texts)

    def _fields(self, words: Sequence[Word]) -> Splitting:
        """The words after expansion: unquoted values are split, patterns name files."""
        fields: list[str] = []
        for word in words:
            fields += yield from self._split(word)
            if sum(map(len, fields)) > MAX_BUFFER:
                yield error("sh: argument list too long\n")
                raise _Exit(_SYNTAX_ERROR)
        return fields

    def _split(self, word: Word) -> Splitting:
        if word == (Parameter("@", is_quoted=True),) or word[1:-1] == (
            Parameter("@", is_quoted=True),
        ):
            return self.positional[1:]
        fields: list[str] = []
        current: str | None = None
        has_pattern = False
        for part in word:
            text = yield from self._text((part,))
            if len(text) + len(current or "") > MAX_BUFFER:
                yield error("sh: word too long\n")
                raise _Exit(_SYNTAX_ERROR)
            if isinstance(part, Text) or part.is_quoted:
                current = (current or "") + text
                has_pattern |= isinstance(part, Text) and not part.is_quoted
                continue
            pieces = text.split()
            if text[:1].isspace() and current is not None:
                fields.append(current)
                current = None
            for piece in pieces[:-1]:
                fields.append((current or "") + piece)
                current = None
            if pieces:
                current = (current or "") + pieces[-1]
                if text[-1:].isspace():
                    fields.append(current)
                    current = None
        if current is not None:
            fields.append(current)
        if not has_pattern:
            return fields
        return [name for each in fields for name in self._matching(each)]

    def _matching(self, pattern: str) -> list[str]:
        """The files that a pattern names in its directory, or the pattern if there are none."""
        directory, slash, name = pattern.rpartition("/")
        if not _PATTERN.search(name) or _PATTERN.search(directory):
            return [pattern]
        try:
            names = self.process.files.list(self.process.path(f"{directory}{slash}" or "."))
        except FileError:
            return [pattern]
        hidden = name.startswith(".")
        matching = [
            f"{directory}{slash}{each}"
            for each in names
            if fnmatchcase(each, name) and (hidden or not each.startswith("."))
        ]
        return matching or [pattern]

    def _part(self, part: Part) -> Expanding:
        match part:
            case Text(text=text):
                return text
            case Parameter():
                return (yield from self._parameter(part))
            case Arithmetic(expression=expression):
                text = yield from self._text(expression)
                try:
                    return str(arithmetic.evaluate(text, self.process.environment))
                except ValueError as failed:
                    yield error(f"sh: arithmetic: {failed}\n")
                    raise _Exit(_SYNTAX_ERROR) from None
        buffer = _Buffer()
        copy = self._copy()
        try:
            yield from redirected(copy._script(part.script), None, {STDOUT: buffer.write})
            self.status = copy.status
        except _Exit as end:
            self.status = end.code
        return buffer.data.decode(errors="surrogateescape").rstrip("\n")

    def _value(self, name: str) -> str | None:
        if name.isdigit():
            index = int(name)
            return self.positional[index] if index < len(self.positional) else None
        special: dict[str, Callable[[], str]] = {
            "@": lambda: " ".join(self.positional[1:]),
            "*": lambda: " ".join(self.positional[1:]),
            "#": lambda: str(len(self.positional) - 1),
            "?": lambda: str(self.status),
            "$": lambda: "1",
            "!": lambda: "2",
            "-": lambda: "",
        }
        if name in special:
            return special[name]()
        if name == "PWD":
            return self.process.directory
        return self.process.environment.get(name)

    def _parameter(self, part: Parameter) -> Expanding:
        value = self._value(part.name)
        if part.is_length:
            return str(len(value or ""))
        operator = part.operator
        if not operator:
            return value or ""
        is_missing = value is None or (operator.startswith(":") and not value)
        word = part.word or ()
        match operator[-1]:
            case "-":
                return (yield from self._text(word)) if is_missing else value or ""
            case "+":
                return "" if is_missing else (yield from self._text(word))
            case "=":
                if is_missing:
                    value = yield from self._text(word)
                    self.process.environment[part.name] = value
                return value or ""
            case "?":
                if is_missing:
                    text = (yield from self._text(word)) or "parameter not set"
                    yield error(f"sh: {part.name}: {text}\n")
                    raise _Exit(_SYNTAX_ERROR)
                return value or ""
        pattern = yield from self._text(word)
        return _trimmed(value or "", pattern, operator)

    # Builtins

    def _exit(self, words: list[str]) -> Program:
        yield Step()
        raise _Exit(_code(words, self.status))

    def _return(self, words: list[str]) -> Program:
        yield Step()
        raise _Return(_code(words, self.status))

    def _leave(self, words: list[str]) -> Program:
        yield Step()
        raise _LeaveLoop(goes_on=words[0] == "continue")

    def _cd(self, words: list[str]) -> Program:
        target = words[1] if len(words) > 1 else self.process.environment.get("HOME", "/")
        path = self.process.path(target)
        entry = self.process.files.entry(path)
        if entry is None or entry.data is not None:
            yield error(f"sh: cd: can't cd to {target}\n")
            return _SYNTAX_ERROR
        self.process.directory = path
        return 0

    def _export(self, words: list[str]) -> Program:
        yield Step()
        for word in words[1:]:
            name, equals, value = word.partition("=")
            if equals:
                self.process.environment[name] = value
        return 0

    def _unset(self, words: list[str]) -> Program:
        yield Step()
        for word in words[1:]:
            self.process.environment.pop(word, None)
            self._functions.pop(word, None)
        return 0

    def _set(self, words: list[str]) -> Program:
        yield Step()
        for index, word in enumerate(words[1:], start=1):
            if word == "--":
                self.positional[1:] = words[index + 1 :]
                break
            if word[:1] in "-+" and "e" in word.partition("o")[0]:
                self.stops_at_failure = word[0] == "-"
        return 0

    def _shift(self, words: list[str]) -> Program:
        yield Step()
        count = int(words[1]) if len(words) > 1 and words[1].isdigit() else 1
        del self.positional[1 : 1 + count]
        return 0

    def _read(self, words: list[str]) -> Program:
        data = yield ReadInput(is_line=True)
        line, _, _ = data.decode(errors="replace").partition("\n")
        names = [word for word in words[1:] if not word.startswith("-")] or ["REPLY"]
        values = line.split(None, len(names) - 1) + [""] * len(names)
        self.process.environment.update(zip(names, values, strict=False))
        return 0 if data else 1

    def _wait(self, words: list[str]) -> Program:
        yield Step()
        background, self._background = self._background, []
        for begin in background:
            yield from begin()
        return 0

    def _exec(self, words: list[str]) -> Program:
        if len(words) == 1:
            return 0
        raise _Exit((yield from self._call(words[1:], {})))

    def _eval(self, words: list[str]) -> Program:
        if self._calls >= _MAX_CALLS:
            yield error("sh: eval: nested too deeply\n")
            return 1
        self._calls += 1
        try:
            return (yield from self.run_line(" ".join(words[1:])))
        finally:
            self._calls -= 1

    def _ignored(self, words: list[str]) -> Program:
        """`trap` and others that change nothing here."""
        yield Step()
        return 0

    def _type(self, words: list[str]) -> Program:
        """`command -v` and `type`: whether there is such a command."""
        names = [word for word in words[1:] if not word.startswith("-")]
        if words[0] == "command" and "-v" not in words:
            return (yield from self._call(names, {})) if names else 0
        code = 0
        for name in names:
            child = self.process.child([name])
            known = name in self._BUILTINS or name in self._functions
            program = None if known else self.process.find(child)
            if program is not None:
                program.close()
            if known or program is not None:
                yield output(f"{name}\n")
            else:
                code = 127
        return code

    _BUILTINS: ClassVar[Mapping[str, Callable[[_Shell, list[str]], Program]]] = {
        ":": _ignored,
        ".": _ignored,
        "break": _leave,
        "cd": _cd,
        "command": _type,
        "continue": _leave,
        "eval": _eval,
        "exec": _exec,
        "exit": _exit,
        "export": _export,
        "local": _export,
        "read": _read,
        "readonly": _export,
        "return": _return,
        "set": _set,
        "shift": _shift,
        "trap": _ignored,
        "type": _type,
        "ulimit": _ignored,
        "umask": _ignored,
        "unset": _unset,
        "wait": _wait,
    }


class _Buffer:
    """Output that another command reads; what is too much is dropped."""

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: bytes) -> None:
        self.data += data[: max(0, MAX_BUFFER - len(self.data))]


def _code(words: Sequence[str], status: int) -> int:
    if len(words) < 2:
        return status
    return int(words[1]) % 256 if words[1].isdigit() and len(words[1]) < 10 else _SYNTAX_ERROR


def _trimmed(value: str, pattern: str, operator: str) -> str:
    """Cut a prefix (`#`) or suffix (`%`) that matches; doubled: the longest."""
    positions: Iterator[int] = iter(range(len(value) + 1))
    if (operator == "##") or (operator == "%"):
        positions = reversed(range(len(value) + 1))
    for at in positions:
        head, tail = value[:at], value[at:]
        if operator.startswith("#") and fnmatchcase(head, pattern):
            return tail
        if operator.startswith("%") and fnmatchcase(tail, pattern):
            return head
    return value
