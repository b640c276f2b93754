"""The programs that every simulated container has."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from fairlead.controllers.simulation.runtime.agnhost.consumers import consumer
from fairlead.controllers.simulation.runtime.agnhost.programs import agnhost
from fairlead.controllers.simulation.runtime.agnhost.servers import update_demo
from fairlead.controllers.simulation.runtime.archives import tar
from fairlead.controllers.simulation.runtime.arithmetic import evaluate
from fairlead.controllers.simulation.runtime.file_programs import FILE_PROGRAMS
from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.line_programs import LINE_PROGRAMS
from fairlead.controllers.simulation.runtime.links import LINK_PROGRAMS
from fairlead.controllers.simulation.runtime.network_programs import NETWORK_PROGRAMS
from fairlead.controllers.simulation.runtime.options import Options
from fairlead.controllers.simulation.runtime.packing import gzip
from fairlead.controllers.simulation.runtime.process import (
    STDOUT,
    Process,
    Program,
    Read,
    Step,
    Wait,
    Write,
    error,
    output,
    start,
)
from fairlead.controllers.simulation.runtime.shell import shell
from fairlead.controllers.simulation.runtime.system_programs import SYSTEM_PROGRAMS
from fairlead.controllers.simulation.runtime.text_programs import TEXT_PROGRAMS

_CAT = Options()
_DATE = Options("d,date: r,reference: I,iso-8601 R,rfc-email u,utc,universal")
_ENV = Options("i,ignore-environment u,unset: C,chdir:", leads=True)
_ID = Options("u,user g,group G,groups")
_UNAME = Options("a,all s,kernel-name n,nodename r,kernel-release v,kernel-version m,machine")
_MAX_NUMBERS = 10_000
_FEW_PIECES = 16
_MAX_FORM = 1_000  # characters of a form of `date`
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})([smhd]?)", re.ASCII)
_CONVERSION = re.compile(r"(%[-+ #0]*[0-9]{0,4}(?:\.[0-9]{1,4})?[sdiuxXofcb%])")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "e": "\x1b"}


def find_program(process: Process) -> Program | None:
    """The program of a name or path, or None if containers do not have it."""
    name = posixpath.basename(process.arguments[0])
    program = PROGRAMS.get(name)
    if program is not None:
        return program(process)
    return None


def _true(process: Process) -> Program:
    yield Step()
    return 0


def _false(process: Process) -> Program:
    yield Step()
    return 1


def _echo(process: Process) -> Program:
    words = process.arguments[1:]
    flags = ""
    while words and re.fullmatch("-[neE]+", words[0]):
        flags += words.pop(0)[1:]
    text = " ".join(words)
    yield output((_unescaped(text) if "e" in flags else text) + ("" if "n" in flags else "\n"))
    return 0


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match[1][0] in "0x":
            digits = match[1].lstrip("0x") or "0"
            return chr(int(digits, 16 if match[1][0] == "x" else 8))
        return _ESCAPES.get(match[1], match[0])

    return re.sub(r"\\(0[0-7]{0,3}|x[0-9a-fA-F]{1,2}|.)", character, text)


def _printf(process: Process) -> Program:
    if len(process.arguments) < 2:
        yield error("printf: missing operand\n")
        return 2
    form, *values = process.arguments[1:]
    form = _unescaped(form)
    pieces = _CONVERSION.split(form)  # every other one is a conversion
    left = iter(values)
    used = 0
    while True:
        texts: list[str] = []
        for at, piece in enumerate(pieces):
            if piece == "%%":
                texts.append("%")
            elif at % 2:
                texts.append(_formatted(piece, next(left, "")))
                used += 1
            else:
                texts.append(piece)
            if len(texts) >= _FEW_PIECES:  # they may be long
                yield output("".join(texts))
                texts.clear()
        yield output("".join(texts))
        if used in (0, len(values)) or used > len(values):
            return 0


def _formatted(form: str, value: str) -> str:
    kind = form[-1]
    if kind in "sb":
        return (form[:-1] + "s") % (_unescaped(value) if kind == "b" else value)
    if kind == "c":
        return value[:1]
    try:
        return form.replace("u", "d") % (float(value or 0) if kind == "f" else int(value or "0", 0))
    except (ValueError, OverflowError):  # also of numbers with thousands of digits
        return form.replace("u", "d") % 0


def _sleep(process: Process) -> Program:
    seconds = 0.0
    words = process.arguments[1:]
    for word in words:
        match = _DURATION.fullmatch(word)
        if word in ("infinity", "inf"):
            seconds = float("inf")
        elif match is None:
            yield error(f"sleep: invalid time interval '{word}'\n")
            return 1
        else:
            seconds += float(match[1]) * _UNITS[match[2]]
    if not words:
        yield error("sleep: missing operand\n")
        return 1
    yield Wait(seconds)
    return 0


def _pause(process: Process) -> Program:
    if process.signals is not None:
        process.signals.runs_unknown = True  # it ends on SIGTERM
    yield Wait(float("inf"))
    return 0


def _cat(process: Process) -> Program:
    code = 0
    for name in _CAT.read(process.arguments[1:]).operands or ["-"]:
        if name == "-" or name == "/dev/stdin":
            while data := (yield Read()):
                yield Write(STDOUT, data)
            continue
        try:
            yield Write(STDOUT, process.files.read(process.path(name)))
        except FileError as failed:
            yield error(f"cat: {name}: {failed.reason}\n")
            code = 1
    return code


def _env(process: Process) -> Program:
    given = _ENV.read(process.arguments[1:])
    words = given.operands
    environment = {} if given.has("i") else dict(process.environment)
    for name in given.values("u"):
        environment.pop(name, None)
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if words:
        child = process.child(words)
        child.environment = environment
        return (yield from start(child))
    yield output("".join(f"{name}={value}\n" for name, value in environment.items()))
    return 0


def _printenv(process: Process) -> Program:
    names = process.arguments[1:]
    if not names:
        return (yield from _env(process))
    code = 0
    for name in names:
        if name in process.environment:
            yield output(f"{process.environment[name]}\n")
        else:
            code = 1
    return code


def _hostname(process: Process) -> Program:
    yield output(f"{process.hostname}\n")
    return 0


def _pwd(process: Process) -> Program:
    yield output(f"{process.directory}\n")
    return 0


def _date(process: Process) -> Program:
    try:
        moment = datetime.fromtimestamp(process.time(), UTC)
    except (OverflowError, ValueError):  # it has slept for thousands of years
        yield error("date: time too large\n")
        return 1
    given = _DATE.read(process.arguments[1:])
    forms = [word[1:] for word in given.operands if word.startswith("+")]
    unknown = [word for word in given.operands if not word.startswith("+")] + given.values("d")
    if unknown:
        yield error(f"date: invalid date '{unknown[0]}'\n")
        return 1
    form = forms[0][:_MAX_FORM] if forms else "%a %b %e %H:%M:%S UTC %Y"
    form = form.replace("%s", str(int(process.time())))
    try:
        yield output(moment.strftime(form) + "\n")
    except ValueError as failed:  # such as bytes that are no text
        yield error(f"date: invalid format: {failed}\n")
        return 1
    return 0


def _whoami(process: Process) -> Program:
    user = process.identity.user
    if user:
        yield error(f"whoami: unknown uid {user}\n")
        return 1
    yield output("root\n")
    return 0


def _id(process: Process) -> Program:
    def named(number: int) -> str:
        return f"{number}" if number else "0(root)"

    user, group, others = process.identity
    groups = (group, *others)
    listed = " ".join(map(str, groups))
    short = {"u": f"{user}", "g": f"{group}", "G": listed}
    whole = f"uid={named(user)} gid={named(group)} groups={','.join(map(named, groups))}"
    given = _ID.read(process.arguments[1:])
    yield output(next((text for name, text in short.items() if given.has(name)), whole) + "\n")
    return 0


def _uname(process: Process) -> Program:
    given = _UNAME.read(process.arguments[1:])
    names = {"s": "Linux", "n": process.hostname, "r": "6.1.0-simulated", "v": "#1 SMP"}
    names |= {"m": "x86_64", "o": "GNU/Linux"}
    shown = [text for name, text in names.items() if given.has(name, "a")] or ["Linux"]
    yield output(" ".join(shown) + "\n")
    return 0


def _seq(process: Process) -> Program:
    words = process.arguments[1:]
    if not 1 <= len(words) <= 3 or not all(re.fullmatch(r"-?\d{1,9}", word) for word in words):
        yield error("seq: invalid argument\n")
        return 1
    numbers = [int(word) for word in words]
    first, last = numbers[0] if len(numbers) > 1 else 1, numbers[-1]
    step = numbers[1] if len(numbers) == 3 else 1
    if step == 0:
        yield error("seq: invalid Zero increment value\n")
        return 1
    values = range(first, last + (1 if step > 0 else -1), step)
    yield output("".join(f"{value}\n" for value in values[:_MAX_NUMBERS]))
    return 0


def _expr(process: Process) -> Program:
    """Of numbers, or a comparison of two texts. The exit code says whether the result is zero."""
    words = ["==" if word == "=" else word for word in process.arguments[1:]]
    texts = len(words) == 3 and words[1] in ("==", "!=")
    try:
        if len(words) == 1:
            result = words[0]
        elif all(re.fullmatch(r"-?\d{1,18}|[-+*/%()<>=!|&]{1,2}", word) for word in words):
            result = str(evaluate(" ".join(words), {}))
        elif texts:
            result = str(int((words[0] == words[2]) == (words[1] == "==")))
        else:
            raise ValueError("syntax error")
    except ValueError as failed:
        yield error(f"expr: {failed}\n")
        return 2
    yield output(f"{result}\n")
    return int(result in ("", "0"))


# Those that answer on ports.
SERVERS: Mapping[str, Callable[[Process], Program]] = {
    "agnhost": agnhost,
    "agnhost-2": agnhost,
    "consumer": consumer,
    "update-demo": update_demo,
}

PROGRAMS: Mapping[str, Callable[[Process], Program]] = {
    **FILE_PROGRAMS,
    **LINE_PROGRAMS,
    **LINK_PROGRAMS,
    **NETWORK_PROGRAMS,
    **SERVERS,
    **SYSTEM_PROGRAMS,
    **TEXT_PROGRAMS,
    "ash": shell,
    "bash": shell,
    "cat": _cat,
    "date": _date,
    "dash": shell,
    "echo": _echo,
    "env": _env,
    "expr": _expr,
    "false": _false,
    "gunzip": gzip,
    "gzip": gzip,
    "hostname": _hostname,
    "id": _id,
    "pause": _pause,
    "printenv": _printenv,
    "printf": _printf,
    "pwd": _pwd,
    "seq": _seq,
    "sh": shell,
    "sleep": _sleep,
    "sync": _true,
    "tar": tar,
    "true": _true,
    "uname": _uname,
    "whoami": _whoami,
}
