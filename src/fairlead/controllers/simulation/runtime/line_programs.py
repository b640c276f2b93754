"""Programs that select lines of files, or of their input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fairlead.base.patterns import PatternError, compiled_within
from fairlead.controllers.simulation.runtime.files import MAX_BYTES, FileError
from fairlead.controllers.simulation.runtime.process import (
    STDOUT,
    Process,
    Program,
    Wait,
    Write,
    error,
    operands,
    output,
    read_all,
    written,
)

_MAX_INPUT, _MAX_SEARCHED = 256 * 1024, 1024 * 1024  # bytes; of files that grep reads
_MAX_LINES = 500_000  # that are counted one by one
_MAX_TAIL = 2**31
_FAILED = 2
_MAX_PATTERN, _PATTERN_BYTES = 1_000, 256 * 1024  # characters, and memory when it is compiled
_MAX_WORK = 4_000_000  # the size of a pattern times the length of a line
# White space as blanks, anything else as the letter x.
_BLANKS = bytes(0x20 if chr(byte) in " \t\n\r\v\f" else 0x78 for byte in range(256))


def search_pattern(text: str, longest: int) -> Any:
    """The pattern of a program that looks at lines of up to so many characters. Raises
    PatternError."""
    if len(text) > _MAX_PATTERN:
        raise PatternError("pattern too long")
    pattern = compiled_within(text, _PATTERN_BYTES)
    if pattern.programsize * longest > _MAX_WORK:
        raise PatternError("pattern too complex for a line that long")
    return pattern


def _of_text(
    select: Callable[[Process, bytes, str], bytes], limit: int = _MAX_INPUT
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
            read = process.read_files(names, 2 * MAX_BYTES) if names else read_all(process, limit)
            data = yield from read
        except FileError as failed:
            yield error(f"{process.arguments[0]}: {failed}\n")
            return 1
        yield Write(STDOUT, select(process, data, flags))
        if "f" in flags.lower():
            yield Wait(float("inf"))
        return 0

    return program


def _count(process: Process, default: int = 10) -> int:
    numbers = re.findall(r"\d{1,9}", " ".join(process.arguments[1:]))
    return int(numbers[0]) if numbers else default


def _head(process: Process, text: bytes, flags: str) -> bytes:
    count = _count(process)
    return text[:count] if "c" in flags else text[: _end_of_line(text, count)]


def _tail(process: Process, text: bytes, flags: str) -> bytes:
    count = _count(process)
    is_from = any(re.search(r"\+\d", word) for word in process.arguments[1:])
    if "c" in flags:
        return text[max(0, count - 1) :] if is_from else text[-count or _MAX_TAIL :]
    if is_from:
        return text[_end_of_line(text, count - 1) :]
    if count > _MAX_LINES:
        return text
    before, *last = text[:-1].rsplit(b"\n", count)
    return text[len(before) + 1 :] if len(last) == count else text


def _end_of_line(text: bytes, number: int) -> int:
    """Where the line with a number ends, the first is 1."""
    if number <= 0:
        return 0
    if number > _MAX_LINES:
        return len(text)
    return len(text) - len(rest[0]) if (rest := text.split(b"\n", number)[number:]) else len(text)


def _wc(process: Process, text: bytes, flags: str) -> bytes:
    counts = {"l": text.count(b"\n"), "w": 0, "c": len(text)}
    if not flags or "w" in flags:
        signs = text.translate(_BLANKS)
        counts["w"] = signs.startswith(b"x") + signs.count(b" x")
    chosen = [count for letter, count in counts.items() if letter in flags] or counts.values()
    return " ".join(map(str, chosen)).encode() + b"\n"


def _sort(process: Process, text: bytes, flags: str) -> bytes:
    lines: Iterable[bytes] = text[:_MAX_INPUT].splitlines(keepends=True)
    return b"".join(sorted(set(lines) if "u" in flags else lines, reverse="r" in flags))


def _grep(process: Process) -> Program:
    flags, words = operands(process)
    if not words:
        yield error("grep: missing operand\n")
        return _FAILED
    pattern, *names = words
    try:
        read = process.read_files(names, _MAX_SEARCHED) if names else read_all(process, _MAX_INPUT)
        data = yield from read
        lines = data.decode(errors="replace").splitlines(keepends=True)
        longest = max(map(len, lines), default=0)
        expression = search_pattern(f"(?i){pattern}" if "i" in flags else pattern, longest)
    except (FileError, PatternError) as failed:
        yield error(f"grep: {failed}\n")
        return _FAILED
    count, is_silent = 0, "c" in flags or "q" in flags

    def matching() -> Iterator[str]:
        nonlocal count
        for line in lines:
            is_shown = bool(expression.search(line.rstrip("\n"))) != ("v" in flags)
            count += is_shown
            yield line if is_shown and not is_silent else ""

    yield from written(matching())
    if "c" in flags:
        yield output(f"{count}\n")
    return 0 if count else 1


LINE_PROGRAMS: Mapping[str, Callable[[Process], Program]] = {
    "grep": _grep,
    "head": _of_text(_head),
    "sort": _of_text(_sort),
    "tail": _of_text(_tail, 2 * MAX_BYTES),
    "wc": _of_text(_wc),
}
