"""Programs that select lines of files, or of their input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from fairlead.base.patterns import PatternError, compiled
from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.process import (
    Process,
    Program,
    Wait,
    error,
    operands,
    output,
    read_all,
)

_MAX_INPUT = 256 * 1024
_FAILED = 2


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
        flags, names = operands(process)
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
    flags, words = operands(process)
    if not words:
        yield error("grep: missing operand\n")
        return _FAILED
    pattern, *names = words
    try:
        data = b"".join(_inputs(process, names)) if names else (yield from read_all(_MAX_INPUT))
        expression = compiled(f"(?i){pattern}" if "i" in flags else pattern)
    except (FileError, PatternError) as failed:
        yield error(f"grep: {failed}\n")
        return _FAILED
    lines = data.decode(errors="replace").splitlines(keepends=True)
    matching = [
        line for line in lines if bool(expression.search(line.rstrip("\n"))) != ("v" in flags)
    ]
    if "c" in flags:
        yield output(f"{len(matching)}\n")
    elif "q" not in flags:
        yield output("".join(matching))
    return 0 if matching else 1


LINE_PROGRAMS: Mapping[str, Callable[[Process], Program]] = {
    "grep": _grep,
    "head": _of_lines(_head),
    "sort": _of_lines(_sort),
    "tail": _of_lines(_tail),
    "wc": _of_lines(_wc),
}
