"""Programs that change texts: `cut`, `tr`, `uniq`, `sed`, `awk`, `base64` and sums."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from fairlead.base.patterns import PatternError
from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.line_programs import search_pattern
from fairlead.controllers.simulation.runtime.options import Given, Options
from fairlead.controllers.simulation.runtime.process import (
    STDOUT,
    Process,
    Program,
    Write,
    error,
    output,
    read_all,
    written,
)

_MAX_INPUT = 256 * 1024
_MAX_FIELDS = 1_000
_AWK = Options("F,field-separator: v,assign:")
_BASE64 = Options("d,D,decode w,wrap:")
_CUT = Options("f,fields: c,characters: b,bytes: d,delimiter:")
_HEXDUMP = Options("n: s: e:")
_SED = Options("n,quiet,silent e,expression: r,E,regexp-extended")
_SUM = Options("c,check")
_TR = Options("d,delete s,squeeze-repeats")
_UNIQ = Options("c,count f,skip-fields: s,skip-chars: w,check-chars:")
_PRINT = re.compile(r"(?:NR\s*==\s*(\d{1,6})\s*)?\{\s*print([^{}]*)\}")


class _UsageError(Exception):
    """The arguments are not understood."""


def _texts(
    options: Options, change: Callable[[Given, list[str]], Iterable[str]], taken: int = 0
) -> Callable[[Process], Program]:
    """A program that turns lines into others. The first `taken` of its operands are not files."""

    def program(process: Process) -> Program:
        given = options.read(process.arguments[1:])
        names = given.operands[0 if given.has("e") else taken :]
        try:
            if names:
                data = yield from process.read_files(names, _MAX_INPUT)
            else:
                data = yield from read_all(process, _MAX_INPUT)
            lines = data.decode(errors="surrogateescape").splitlines(keepends=True)
            yield from written(change(given, lines))
        except (FileError, PatternError, _UsageError, ValueError) as failed:
            yield error(f"{process.arguments[0]}: {failed}\n")
            return 1
        return 0

    return program


def _ranges(text: str) -> list[tuple[int, int]]:
    """The numbers of a list as ranges in ascending order that do not touch."""
    ranges: list[tuple[int, int]] = []
    for piece in text.split(","):
        match = re.fullmatch(r"(\d{0,6})(-?)(\d{0,6})", piece)
        if match is None or not (match[1] or match[3]):
            raise _UsageError(f"invalid list: {text}")
        first = int(match[1] or 1)
        last = int(match[3] or _MAX_INPUT) if match[2] else first
        ranges.append((first, last))
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _cut(given: Given, lines: list[str]) -> Iterable[str]:
    fields = given.value("f")
    separator = given.value("d") or "\t"
    ranges = _ranges(fields or given.value("c") or given.value("b"))
    for line in lines:
        text = line.rstrip("\n")
        parts = text.split(separator) if fields else list(text)
        if fields and len(parts) == 1:
            yield f"{text}\n"
            continue
        kept: list[str] = []
        for first, last in ranges:
            if first > len(parts):
                break
            kept += parts[max(0, first - 1) : last]
        yield (separator if fields else "").join(kept) + "\n"


def _set_of(text: str) -> list[str]:
    """The characters of a set of `tr`."""
    text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")
    named = {"[:upper:]": "A-Z", "[:lower:]": "a-z", "[:digit:]": "0-9", "[:space:]": " \t\n\r"}
    for name, characters in named.items():
        text = text.replace(name, characters)
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            found += map(chr, range(ord(text[at]), min(ord(text[at + 2]), 0x7F) + 1))
            at += 3
        else:
            found.append(text[at])
            at += 1
    return found


def _tr(given: Given, lines: list[str]) -> Iterable[str]:
    sets = [_set_of(word) for word in given.operands]
    text = "".join(lines)
    if given.has("d") and sets:
        return [text.translate({ord(each): None for each in sets[0]})]
    if given.has("s") and len(sets) == 1 and sets[0]:
        return [re.sub(f"([{re.escape(''.join(sets[0]))}])\\1+", r"\1", text)]
    if len(sets) < 2 or not sets[1]:
        raise _UsageError("missing operand")
    last = sets[1][-1]
    table = {
        ord(each): sets[1][at] if at < len(sets[1]) else last for at, each in enumerate(sets[0])
    }
    return [text.translate(table)]


def _uniq(given: Given, lines: list[str]) -> Iterable[str]:
    for line, same in groupby(lines):
        yield f"{sum(1 for _ in same):7} {line}" if given.has("c") else line


def _sed(given: Given, lines: list[str]) -> Iterable[str]:
    """`s/PATTERN/TEXT/[g]`, and `Np` with `-n`."""
    script = given.value("e") or "".join(given.operands[:1])
    if match := re.fullmatch(r"(\d{1,6})p", script):
        yield from lines[int(match[1]) - 1 : int(match[1])]
        return
    pattern, text, is_global = _substitution(script, max(map(len, lines), default=0))
    first, *others = text.split("&")
    for line in lines:
        at = 0
        for each in pattern.finditer(line.rstrip("\n")):
            yield line[at : each.start()] + first
            for other in others:
                yield each.group(0) + other
            at = each.end()
            if not is_global:
                break
        yield line[at:]


def _substitution(script: str, longest: int) -> tuple[Any, str, bool]:
    """The pattern, the replacement, and whether it is for all matches of a line."""
    if not script.startswith("s") or len(script) < 2:
        raise _UsageError(f"unsupported command: {script}")
    parts = re.split(rf"(?<!\\){re.escape(script[1])}", script[2:], maxsplit=2)
    if len(parts) < 3 or parts[2] not in ("", "g"):
        raise _UsageError(f"unsupported command: {script}")
    return search_pattern(parts[0], longest), parts[1], parts[2] == "g"


def _awk(given: Given, lines: list[str]) -> Iterable[str]:
    """`[NR==N]{print $N, ...}`."""
    separator = given.value("F") or None
    script = "".join(given.operands[:1])
    match = _PRINT.fullmatch(script.strip())
    if match is None:
        raise _UsageError(f"unsupported program: {script}")
    terms = [each.strip() for each in match[2].split(",")]
    for number, line in enumerate(lines, start=1):
        if match[1] and number != int(match[1]):
            yield ""
            continue
        text = line.rstrip("\n")
        fields = [text, *text.split(separator)[:_MAX_FIELDS]]
        for at, term in enumerate(terms):
            yield (" " if at else "") + _awk_value(term, fields)
        yield "\n"


def _awk_value(term: str, fields: list[str]) -> str:
    if term in ("", "$0"):
        return fields[0]
    if term == "$NF":
        return fields[-1]
    if re.fullmatch(r"\$\d{1,4}", term):
        at = int(term[1:])
        return fields[at] if at < len(fields) else ""
    return term.strip('"')


def _base64(process: Process) -> Program:
    given = _BASE64.read(process.arguments[1:])
    names = given.operands
    try:
        if names:
            data = process.files.read(process.path(names[0]))
        else:
            data = yield from read_all(process, _MAX_INPUT)
        if given.has("d"):
            yield Write(STDOUT, base64.b64decode(data))
        else:
            yield Write(STDOUT, base64.b64encode(data) + b"\n")
    except (FileError, binascii.Error) as failed:
        yield error(f"base64: {failed}\n")
        return 1
    return 0


def _sum(algorithm: str) -> Callable[[Process], Program]:
    def program(process: Process) -> Program:
        names = _SUM.read(process.arguments[1:]).operands
        code = 0
        if not names:
            data = yield from read_all(process, _MAX_INPUT)
            yield output(f"{hashlib.new(algorithm, data).hexdigest()}  -\n")
        for name in names:
            try:
                data = process.files.read(process.path(name))
                yield output(f"{hashlib.new(algorithm, data).hexdigest()}  {name}\n")
            except FileError as failed:
                yield error(f"{process.arguments[0]}: {name}: {failed.reason}\n")
                code = 1
        return code

    return program


def _hexdump(process: Process) -> Program:
    """`hexdump -C`: sixteen bytes to a line, as numbers and as text."""
    names = _HEXDUMP.read(process.arguments[1:]).operands
    try:
        if names:
            data = process.files.read(process.path(names[0]))[:_MAX_INPUT]
        else:
            data = yield from read_all(process, _MAX_INPUT)
    except FileError as failed:
        yield error(f"hexdump: {failed}\n")
        return 1
    lines = []
    for at in range(0, len(data), 16):
        piece = data[at : at + 16]
        numbers = f"{piece[:8].hex(' '):<23}  {piece[8:].hex(' '):<23}"
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        lines.append(f"{at:08x}  {numbers}  |{text}|\n")
    yield output("".join(lines) + f"{len(data):08x}\n")
    return 0


TEXT_PROGRAMS: Mapping[str, Callable[[Process], Program]] = {
    "awk": _texts(_AWK, _awk, 1),
    "base64": _base64,
    "cut": _texts(_CUT, _cut),
    "hexdump": _hexdump,
    "md5sum": _sum("md5"),
    "sed": _texts(_SED, _sed, 1),
    "sha1sum": _sum("sha1"),
    "sha256sum": _sum("sha256"),
    "tr": _texts(_TR, _tr, 2),
    "uniq": _texts(_UNIQ, _uniq),
}
