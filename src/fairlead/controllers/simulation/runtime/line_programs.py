"""Programs that select lines of files, or of their input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from fairlead.base.patterns import PatternError, compiled
from fairlead.controllers.simulation.runtime.files import MAX_BYTES, FileError
from fairlead.controllers.simulation.runtime.process import (
    Process,
    Program,
    Wait,
    error,
    operands,
    output,
    read_all,
)

_MAX_INPUT, _MAX_SEARCHED = 256 * 1024, 1024 * 1024  # bytes; of files that grep reads
_MAX_LINES = 500_000  # that are counted one by one
_WORD = re.compile(r"\S+")
_MAX_TAIL = 2**31
_FAILED = 2


def _of_text(
    select: Callable[[Process, str, str], str], limit: int = _MAX_INPUT
) -> Callable[[Process], Program]:
    """A program that selects a part of files or of its input. `select` gets the text and the
    letters of the flags."""

    def program(process: Process) -> Program:
        flags, names = operands(process)
        names = [name for name in names if not name.removeprefix("+").isdigit()]
        if names[:1] == ["/dev/null"]:
            if "f" in flags:
                yield Wait(float("inf"))
            return 0
        try:
            data = process.read_files(names, 2 * MAX_BYTES) if names else b""
        except FileError as failed:
            yield error(f"{process.arguments[0]}: {failed}\n")
            return 1
        if not names:
            data = yield from read_all(limit)
        yield output(select(process, data.decode(errors="surrogateescape"), flags))
        if "f" in flags.lower():
            yield Wait(float("inf"))
        return 0

    return program


def _count(process: Process, default: int = 10) -> int:
    numbers = re.findall(r"\d{1,9}", " ".join(process.arguments[1:]))
    return int(numbers[0]) if numbers else default


def _head(process: Process, text: str, flags: str) -> str:
    count = _count(process)
    return text[:count] if "c" in flags else text[: _end_of_line(text, count)]


def _tail(process: Process, text: str, flags: str) -> str:
    count = _count(process)
    is_from = any(re.search(r"\+\d", word) for word in process.arguments[1:])
    if "c" in flags:
        chosen = slice(max(0, count - 1), None) if is_from else slice(-count or _MAX_TAIL, None)
        return text.encode(errors="surrogateescape")[chosen].decode(errors="surrogateescape")
    if is_from:
        return text[_end_of_line(text, count - 1) :]
    if count > _MAX_LINES:
        return text
    before, *last = text[:-1].rsplit("\n", count)
    return text[len(before) + 1 :] if len(last) == count else text


def _end_of_line(text: str, number: int) -> int:
    """Where the line with a number ends, the first is 1."""
    if number <= 0:
        return 0
    if number > _MAX_LINES:
        return len(text)
    return len(text) - len(rest[0]) if (rest := text.split("\n", number)[number:]) else len(text)


def _wc(process: Process, text: str, flags: str) -> str:
    counts = {
        "l": text.count("\n"),
        "w": sum(1 for _ in _WORD.finditer(text)) if not flags or "w" in flags else 0,
        "c": len(text.encode(errors="surrogateescape")),
    }
    chosen = [count for letter, count in counts.items() if letter in flags] or counts.values()
    return " ".join(map(str, chosen)) + "\n"


def _sort(process: Process, text: str, flags: str) -> str:
    lines: Iterable[str] = text[:_MAX_INPUT].splitlines(keepends=True)
    return "".join(sorted(set(lines) if "u" in flags else lines, reverse="r" in flags))


def _grep(process: Process) -> Program:
    flags, words = operands(process)
    if not words:
        yield error("grep: missing operand\n")
        return _FAILED
    pattern, *names = words
    try:
        data = process.read_files(names, _MAX_SEARCHED) if names else b""
        if not names:
            data = yield from read_all(_MAX_INPUT)
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
    "head": _of_text(_head),
    "sort": _of_text(_sort),
    "tail": _of_text(_tail, 2 * MAX_BYTES),
    "wc": _of_text(_wc),
}
