"""The programs that every simulated container has."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from fairlead.controllers.simulation.runtime.archives import tar
from fairlead.controllers.simulation.runtime.files import Entry, FileError
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
    read_all,
    start,
)
from fairlead.controllers.simulation.runtime.shell import shell

_MAX_INPUT = 4 * 1024 * 1024
_MAX_NUMBERS = 100_000
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})([smhd]?)", re.ASCII)
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
    pieces = re.split(r"(%[-+ #0]*\d{0,4}(?:\.\d{1,4})?[sdiuxXofcb%])", form)
    while True:
        texts = []
        for piece in pieces:
            if piece == "%%":
                texts.append("%")
            elif len(piece) > 1 and piece.startswith("%"):
                texts.append(_formatted(piece, values.pop(0) if values else ""))
            else:
                texts.append(piece)
        yield output("".join(texts))
        if not values or len(pieces) == 1:
            return 0


def _formatted(form: str, value: str) -> str:
    kind = form[-1]
    if kind in "sb":
        return (form[:-1] + "s") % (_unescaped(value) if kind == "b" else value)
    if kind == "c":
        return value[:1]
    try:
        number = float(value or 0) if kind == "f" else int(value or "0", 0)
    except (ValueError, OverflowError):
        number = 0
    return form.replace("u", "d") % number


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


def _cat(process: Process) -> Program:
    names = [word for word in process.arguments[1:] if word == "-" or not word.startswith("-")]
    code = 0
    for name in names or ["-"]:
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
    words = process.arguments[1:]
    assigned = {}
    while words and "=" in words[0] and not words[0].startswith("-"):
        name, _, value = words.pop(0).partition("=")
        assigned[name] = value
    if words and not words[0].startswith("-"):
        return (yield from start(process.child(words, **assigned)))
    environment = {**process.environment, **assigned}
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
    moment = datetime.fromtimestamp(process.time(), UTC)
    forms = [word[1:] for word in process.arguments[1:] if word.startswith("+")]
    form = forms[0].replace("%s", str(int(process.time()))) if forms else "%a %b %e %H:%M:%S UTC %Y"
    yield output(moment.strftime(form) + "\n")
    return 0


def _whoami(process: Process) -> Program:
    yield output("root\n")
    return 0


def _id(process: Process) -> Program:
    flags = [word for word in process.arguments[1:] if word.startswith("-")]
    yield output("0\n" if flags else "uid=0(root) gid=0(root) groups=0(root)\n")
    return 0


def _uname(process: Process) -> Program:
    everything = f"Linux {process.hostname} 6.1.0-simulated #1 SMP x86_64 GNU/Linux"
    answers = {"-a": everything, "-n": process.hostname, "-m": "x86_64", "-r": "6.1.0-simulated"}
    yield output(answers.get("".join(process.arguments[1:2]), "Linux") + "\n")
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


# Files


def _operands(process: Process) -> tuple[str, list[str]]:
    """The letters of flags, and the other arguments."""
    flags = [word for word in process.arguments[1:] if word.startswith("-") and word != "-"]
    names = [word for word in process.arguments[1:] if not word.startswith("-") or word == "-"]
    return "".join(flags).replace("-", ""), names


def _for_each(
    process: Process, names: Iterable[str], do: Callable[[str], None], *, quiet: bool = False
) -> Program:
    """Do something to files, and report those for which it fails."""
    code = 0
    for name in names:
        yield Step()
        try:
            do(process.path(name))
        except FileError as failed:
            if not quiet:
                yield error(f"{process.arguments[0]}: {name}: {failed.reason}\n")
                code = 1
    return code


def _ls(process: Process) -> Program:
    flags, names = _operands(process)
    code = 0
    for name in names or ["."]:
        path = process.path(name)
        try:
            entry = process.files.entry(path)
            is_directory = entry is not None and entry.data is None and "d" not in flags
            listed = process.files.list(path) if is_directory or entry is None else [name]
        except FileError as failed:
            yield error(f"ls: {name}: {failed.reason}\n")
            code = 1
            continue
        shown = [each for each in listed if "a" in flags or not each.startswith("..")]
        for each in shown:
            inner = process.files.entry(posixpath.join(path, each) if is_directory else path)
            yield output(_long(each, inner) if "l" in flags and inner else f"{each}\n")
    return code


def _long(name: str, entry: Entry) -> str:
    kind = "d" if entry.data is None else "-"
    rights = "".join(
        sign if entry.mode >> (8 - place) & 1 else "-" for place, sign in enumerate("rwxrwxrwx")
    )
    return (
        f"{kind}{rights}    1 root     root     {len(entry.data or b''):>9} Jan  1 00:00 {name}\n"
    )


def _mkdir(process: Process) -> Program:
    flags, names = _operands(process)

    def make(path: str) -> None:
        process.files.make_directory(path, with_parents="p" in flags)

    return (yield from _for_each(process, names, make))


def _touch(process: Process) -> Program:
    _, names = _operands(process)

    def touch(path: str) -> None:
        process.files.write(path, b"", append=True)

    return (yield from _for_each(process, names, touch))


def _rm(process: Process) -> Program:
    flags, names = _operands(process)

    def remove(path: str) -> None:
        entry = process.files.entry(path)
        if entry is not None and entry.data is None and "r" not in flags.lower():
            raise FileError(path, "is a directory")
        process.files.remove(path)

    return (yield from _for_each(process, names, remove, quiet="f" in flags))


def _copy(process: Process) -> Program:
    """`cp` and `mv`."""
    _, names = _operands(process)
    if len(names) < 2:
        yield error(f"{process.arguments[0]}: missing operand\n")
        return 1
    *sources, target = names
    files, place = process.files, process.path(target)

    def copy(source: str) -> None:
        into = files.entry(place)
        inside = into is not None and into.data is None
        base = posixpath.join(place, posixpath.basename(source)) if inside else place
        for path, entry in list(files.walk(source)):
            goal = base + path[len(source) :]
            if entry.data is None:
                files.make_directory(goal, with_parents=True)
            else:
                files.write(goal, entry.data, mode=entry.mode)
        if posixpath.basename(process.arguments[0]) == "mv":
            files.remove(source)

    return (yield from _for_each(process, sources, copy))


def _tee(process: Process) -> Program:
    flags, names = _operands(process)
    is_first, code = True, 0
    while True:
        data = yield Read()
        for name in names:
            append = "a" in flags or not is_first
            try:
                process.files.write(process.path(name), data, append=append)
            except FileError as failed:
                yield error(f"tee: {name}: {failed.reason}\n")
                code = 1
        if not data:
            return code
        is_first = False
        yield Write(STDOUT, data)


def _test(process: Process) -> Program:
    """`test` and `[`."""
    words = process.arguments[1:]
    if posixpath.basename(process.arguments[0]) == "[":
        if words[-1:] != ["]"]:
            yield error("sh: [: missing ]\n")
            return 2
        words = words[:-1]
    yield Step()
    try:
        return int(not _holds(process, words))
    except ValueError as failed:
        yield error(f"sh: {failed}\n")
        return 2


def _holds(process: Process, words: list[str]) -> bool:
    """Raises ValueError."""
    for operator, combine in (("-o", any), ("-a", all)):
        if operator in words[1:-1]:
            at = words.index(operator, 1)
            return combine((_holds(process, words[:at]), _holds(process, words[at + 1 :])))
    if words[:1] == ["!"]:
        return not _holds(process, words[1:])
    if len(words) < 2:
        return bool(words and words[0])
    if len(words) == 2:
        return _unary(process, *words)
    if len(words) == 3 and words[1] in _COMPARISONS:
        return _COMPARISONS[words[1]](words[0], words[2])
    raise ValueError(f"{words[1]}: unknown operand")


def _unary(process: Process, operator: str, operand: str) -> bool:
    if operator in "-z-n" and len(operator) == 2:
        return (operator == "-z") == (operand == "")
    entry = process.files.entry(process.path(operand))
    if operator == "-f":
        return entry is not None and entry.data is not None
    if operator == "-d":
        return entry is not None and entry.data is None
    if operator == "-s":
        return entry is not None and bool(entry.data)
    if operator in ("-e", "-r", "-w", "-x"):
        return entry is not None
    raise ValueError(f"{operator}: unknown operand")


def _integers(compare: Callable[[int, int], bool]) -> Callable[[str, str], bool]:
    def compared(left: str, right: str) -> bool:
        for text in (left, right):
            if not re.fullmatch(r"\s*[-+]?\d{1,18}\s*", text):
                raise ValueError(f"{text}: bad number")
        return compare(int(left), int(right))

    return compared


_COMPARISONS: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "-eq": _integers(lambda a, b: a == b),
    "-ne": _integers(lambda a, b: a != b),
    "-lt": _integers(lambda a, b: a < b),
    "-le": _integers(lambda a, b: a <= b),
    "-gt": _integers(lambda a, b: a > b),
    "-ge": _integers(lambda a, b: a >= b),
}


# Lines


def _inputs(process: Process, names: list[str]) -> Iterator[bytes]:
    """The contents of files. Raises FileError."""
    for name in names:
        yield process.files.read(process.path(name))


def _of_lines(
    select: Callable[[Process, list[str], str], Iterable[str]],
) -> Callable[[Process], Program]:
    """A program that selects lines of files or of its input. `select` gets the lines and the
    letters of the flags."""

    def program(process: Process) -> Program:
        flags, names = _operands(process)
        names = [name for name in names if not name.isdigit()]
        if names[:1] == ["/dev/null"]:
            if "f" in flags:
                yield Wait(float("inf"))
            return 0
        try:
            data = b"".join(_inputs(process, names)) if names else (yield from read_all(_MAX_INPUT))
        except FileError as failed:
            yield error(f"{process.arguments[0]}: {failed}\n")
            return 1
        lines = data.decode(errors="surrogateescape").splitlines(keepends=True)
        yield output("".join(select(process, lines, flags)))
        if "f" in flags.lower():
            yield Wait(float("inf"))
        return 0

    return program


def _count(process: Process, default: int = 10) -> int:
    numbers = re.findall(r"\d{1,9}", " ".join(process.arguments[1:]))
    return int(numbers[0]) if numbers else default


def _head(process: Process, lines: list[str], flags: str) -> Iterable[str]:
    if "c" in flags:
        return ["".join(lines)[: _count(process)]]
    return lines[: _count(process)]


def _tail(process: Process, lines: list[str], flags: str) -> Iterable[str]:
    count = _count(process)
    return lines[-count:] if count else ()


def _wc(process: Process, lines: list[str], flags: str) -> Iterable[str]:
    text = "".join(lines)
    counts = {
        "l": text.count("\n"),
        "w": len(text.split()),
        "c": len(text.encode(errors="surrogateescape")),
    }
    chosen = [count for letter, count in counts.items() if letter in flags] or counts.values()
    return [" ".join(map(str, chosen)) + "\n"]


def _sort(process: Process, lines: list[str], flags: str) -> Iterable[str]:
    return sorted(set(lines) if "u" in flags else lines, reverse="r" in flags)


def _grep(process: Process) -> Program:
    flags, operands = _operands(process)
    if not operands:
        yield error("grep: missing operand\n")
        return 2
    pattern, *names = operands
    try:
        data = b"".join(_inputs(process, names)) if names else (yield from read_all(_MAX_INPUT))
    except FileError as failed:
        yield error(f"grep: {failed}\n")
        return 2
    if "i" in flags:
        pattern = pattern.lower()
    # Patterns are plain texts with `^` and `$`: no regular expression can hold up the server.
    plain = pattern.removeprefix("^").removesuffix("$")
    matching = []
    for line in data.decode(errors="surrogateescape").splitlines(keepends=True):
        text = line.rstrip("\n").lower() if "i" in flags else line.rstrip("\n")
        begins, ends = pattern.startswith("^"), pattern.endswith("$")
        matches = (
            text == plain
            if begins and ends
            else text.startswith(plain)
            if begins
            else text.endswith(plain)
            if ends
            else plain in text
        )
        if matches != ("v" in flags):
            matching.append(line)
    if "c" in flags:
        yield output(f"{len(matching)}\n")
    elif "q" not in flags:
        yield output("".join(matching))
    return 0 if matching else 1


PROGRAMS: Mapping[str, Callable[[Process], Program]] = {
    "[": _test,
    "ash": shell,
    "bash": shell,
    "cat": _cat,
    "cp": _copy,
    "date": _date,
    "dash": shell,
    "echo": _echo,
    "env": _env,
    "false": _false,
    "grep": _grep,
    "head": _of_lines(_head),
    "hostname": _hostname,
    "id": _id,
    "ls": _ls,
    "mkdir": _mkdir,
    "mv": _copy,
    "printenv": _printenv,
    "printf": _printf,
    "pwd": _pwd,
    "rm": _rm,
    "seq": _seq,
    "sh": shell,
    "sleep": _sleep,
    "sort": _of_lines(_sort),
    "sync": _true,
    "tail": _of_lines(_tail),
    "tar": tar,
    "tee": _tee,
    "test": _test,
    "touch": _touch,
    "true": _true,
    "uname": _uname,
    "wc": _of_lines(_wc),
    "whoami": _whoami,
}
