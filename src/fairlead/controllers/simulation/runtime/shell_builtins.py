"""The commands that a shell carries out itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fairlead.base.digits import whole_number
from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.options import Options
from fairlead.controllers.simulation.runtime.process import (
    NOT_FOUND,
    Program,
    Read,
    SignalArrived,
    Signals,
    Step,
    error,
    output,
)
from fairlead.controllers.simulation.runtime.shell_state import (
    MAX_CALLS,
    SYNTAX_ERROR,
    FunctionReturn,
    LoopExit,
    ShellExit,
)

if TYPE_CHECKING:
    from fairlead.controllers.simulation.runtime.shell import Shell

STOPPED = 143  # the exit code of what SIGTERM ends
_READ = Options("p: t: n: N: d: u: a: i:")
_TYPE = Options(leads=True)
_SIGNALS = {"0": "EXIT", "15": "TERM"}


def _exit(shell: Shell, words: list[str]) -> Program:
    yield Step()
    raise ShellExit(_code(words, shell.state.status))


def _return(shell: Shell, words: list[str]) -> Program:
    yield Step()
    raise FunctionReturn(_code(words, shell.state.status))


def _leave(shell: Shell, words: list[str]) -> Program:
    yield Step()
    raise LoopExit(goes_on=words[0] == "continue")


def _cd(shell: Shell, words: list[str]) -> Program:
    target = words[1] if len(words) > 1 else shell.state.process.environment.get("HOME", "/")
    path = shell.state.process.path(target)
    entry = shell.state.process.files.entry(path)
    if entry is None or entry.data is not None:
        yield error(f"sh: cd: can't cd to {target}\n")
        return SYNTAX_ERROR
    shell.state.process.directory = path
    return 0


def _export(shell: Shell, words: list[str]) -> Program:
    yield Step()
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if equals:
            shell.state.assign({name: value})
    return 0


def _unset(shell: Shell, words: list[str]) -> Program:
    yield Step()
    for word in words[1:]:
        shell.state.process.environment.pop(word, None)
        shell.state.functions.pop(word, None)
    return 0


def _set(shell: Shell, words: list[str]) -> Program:
    yield Step()
    for index, word in enumerate(words[1:], start=1):
        if word == "--":
            shell.state.positional[1:] = words[index + 1 :]
            break
        if word[:1] in "-+" and "e" in word.partition("o")[0]:
            shell.state.stops_at_failure = word[0] == "-"
    return 0


def _shift(shell: Shell, words: list[str]) -> Program:
    yield Step()
    count = whole_number(words[1]) if len(words) > 1 else 1
    if count is None or count >= len(shell.state.positional):
        return 1
    del shell.state.positional[1 : 1 + count]
    return 0


def _read(shell: Shell, words: list[str]) -> Program:
    data = yield Read(is_line=True)
    line, _, _ = data.decode(errors="replace").partition("\n")
    names = _READ.read(words[1:]).operands or ["REPLY"]
    values = line.split(None, len(names) - 1) + [""] * len(names)
    shell.state.assign(dict(zip(names, values, strict=False)))
    return 0 if data else 1


def _wait(shell: Shell, words: list[str]) -> Program:
    yield Step()
    background, shell.state.background = shell.state.background, []
    signals = shell.state.process.signals or Signals()
    signals.is_waiting = True
    try:
        for begin in background:
            yield from begin()
    except SignalArrived:
        return STOPPED
    finally:
        signals.is_waiting = False
    return 0


def _trap(shell: Shell, words: list[str]) -> Program:
    yield Step()
    action, *names = [word for word in words[1:] if word != "--"] or [""]
    signals = shell.state.process.signals
    if signals is None:
        return 0
    for name in names:
        name = _SIGNALS.get(name, name.upper().removeprefix("SIG"))
        if action == "-":
            signals.traps.pop(name, None)
        else:
            signals.traps[name] = action
    return 0


def _exec(shell: Shell, words: list[str]) -> Program:
    if len(words) == 1:
        return 0
    raise ShellExit((yield from shell.call(words[1:], {})))


def _eval(shell: Shell, words: list[str]) -> Program:
    if shell.state.calls >= MAX_CALLS:
        yield error("sh: eval: nested too deeply\n")
        return 1
    shell.state.calls += 1
    try:
        return (yield from shell.run_line(" ".join(words[1:])))
    finally:
        shell.state.calls -= 1


def _source(shell: Shell, words: list[str]) -> Program:
    """`. FILE`. A file that is not there is taken for one that only the image has."""
    process = shell.state.process
    yield Step()
    try:
        text = process.files.read(process.path(words[1])) if len(words) > 1 else b""
    except FileError:
        return 0
    try:
        return (yield from _eval(shell, ["", text.decode(errors="surrogateescape")]))
    except FunctionReturn as end:
        return end.code


def _ignored(shell: Shell, words: list[str]) -> Program:
    """Those that change nothing here."""
    yield Step()
    return 0


def _type(shell: Shell, words: list[str]) -> Program:
    """`command -v` and `type`: whether there is such a command."""
    given = _TYPE.read(words[1:])
    names = given.operands
    if words[0] == "command" and not given.has("v", "V"):
        return (yield from shell.call(names, {})) if names else 0
    code = 0
    for name in names:
        yield Step()
        child = shell.state.process.child([name])
        known = name in BUILTINS or name in shell.state.functions
        program = None if known else shell.state.process.find(child)
        if program is not None:
            program.close()
        if known or program is not None:
            yield output(f"{name}\n")
        else:
            code = NOT_FOUND
    return code


def _code(words: Sequence[str], status: int) -> int:
    if len(words) < 2:
        return status
    code = whole_number(words[1])
    return SYNTAX_ERROR if code is None else code % 256


BUILTINS: Mapping[str, Callable[[Shell, list[str]], Program]] = {
    ":": _ignored,
    ".": _source,
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
    "source": _source,
    "trap": _trap,
    "type": _type,
    "ulimit": _ignored,
    "umask": _ignored,
    "unset": _unset,
    "wait": _wait,
}
