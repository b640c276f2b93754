"""Programs that select lines of files, or of their input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fairlead.base.patterns import PatternError, compiled_within
from fairlead.controllers.simulation.runtime.files import MAX_BYTES, FileError
from fairlead.controllers.simulation.runtime.options import Given, Options
from fairlead.controllers.simulation.runtime.process import (
    STDOUT,
    Process,
    Program,
    Wait,
    Write,
    error,
    output,
    read_all,
    written,
)

_MAX_INPUT, _MAX_SEARCHED = 256 * 1024, 1024 * 1024  # bytes; of files that grep reads
_MAX_LINES = 500_000  # that are counted one by one
_MAX_TAIL = 2**31
_FAILED = 2
_HEAD = Options("n,lines: c,bytes:", number="n")
_TAIL = Options("n,lines: c,bytes: f,follow s,sleep-interval: pid:", number="n")
_WC = Options("l,lines w,words c,bytes,m,chars")
_SORT = Options("r,reverse u,unique k,key: t,field-separator: o,output: S,buffer-size: T:")
_GREP = Options(
    "i,y,ignore-case v,invert-match c,count q,quiet,silent e,regexp:"
    " A,after-context: B,before-context: C,context: m,max-count:"
)
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
    options: Options, select: Callable[[Given, bytes], bytes], limit: int = _MAX_INPUT
) -> Callable[[Process], Program]:
    """A program that selects a part of files or of its input."""

    def program(process: Process) -> Program:
        given = options.read(process.arguments[1:])
        names = given.operands
        if names[:1] == ["/dev/null"]:
            if given.has("f"):
                yield Wait(float("inf"))
            return 0
        try:
            read = process.read_files(names, 2 * MAX_BYTES) if names else read_all(process, limit)
            data = yield from read
        except FileError as failed:
            yield error(f"{process.arguments[0]}: {failed}\n")
            return 1
        yield Write(STDOUT, select(given, data))
        if given.has("f", "F"):
            yield Wait(float("inf"))
        return 0

    return program


def _count(given: Given) -> tuple[int, bool]:
    """How many lines or bytes are wanted, and whether that is the place where they begin."""
    text = given.value("c") or given.value("n")
    number = re.search(r"\d{1,9}", text)
    return int(number[0]) if number else 10, text.startswith("+")


def _head(given: Given, text: bytes) -> bytes:
    count, _ = _count(given)
    return text[:count] if given.has("c") else text[: _end_of_line(text, count)]


def _tail(given: Given, text: bytes) -> bytes:
    count, is_from = _count(given)
    if given.has("c"):
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


def _wc(given: Given, text: bytes) -> bytes:
    counts = {"l": text.count(b"\n"), "w": 0, "c": len(text)}
    if not given.has("c", "l") or given.has("w"):
        signs = text.translate(_BLANKS)
        counts["w"] = signs.startswith(b"x") + signs.count(b" x")
    chosen = [count for letter, count in counts.items() if given.has(letter)] or counts.values()
    return " ".join(map(str, chosen)).encode() + b"\n"


def _sort(given: Given, text: bytes) -> bytes:
    lines: Iterable[bytes] = text[:_MAX_INPUT].splitlines(keepends=True)
    return b"".join(sorted(set(lines) if given.has("u") else lines, reverse=given.has("r")))


def _grep(process: Process) -> Program:
    given = _GREP.read(process.arguments[1:])
    names = given.operands
    if not names and not given.has("e"):
        yield error("grep: missing operand\n")
        return _FAILED
    pattern = "|".join(given.values("e")) if given.has("e") else names.pop(0)
    try:
        read = process.read_files(names, _MAX_SEARCHED) if names else read_all(process, _MAX_INPUT)
        data = yield from read
        lines = data.decode(errors="replace").splitlines(keepends=True)
        longest = max(map(len, lines), default=0)
        expression = search_pattern(f"(?i){pattern}" if given.has("i") else pattern, longest)
    except (FileError, PatternError) as failed:
        yield error(f"grep: {failed}\n")
        return _FAILED
    count, is_silent = 0, given.has("c", "q")
    wanted = not given.has("v")

    def matching() -> Iterator[str]:
        nonlocal count
        for line in lines:
            is_shown = bool(expression.search(line.rstrip("\n"))) == wanted
            count += is_shown
            yield line if is_shown and not is_silent else ""

    yield from written(matching())
    if given.has("c"):
        yield output(f"{count}\n")
    return 0 if count else 1


LINE_PROGRAMS: Mapping[str, Callable[[Process], Program]] = {
    "grep": _grep,
    "head": _of_text(_HEAD, _head),
    "sort": _of_text(_SORT, _sort),
    "tail": _of_text(_TAIL, _tail, 2 * MAX_BYTES),
    "wc": _of_text(_WC, _wc),
}
