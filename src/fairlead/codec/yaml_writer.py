"""Writes JSON values as YAML in the reference's layout: block style, sorted keys, long text folded
at spaces, and quotes where plain text would be parsed as another type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from math import inf
from typing import Any

from fairlead.base.caches import memoized
from fairlead.codec.yaml_scalars import plain

_LONGEST_SIMPLE_KEY = 128
_WIDTH = 80  # text beyond this column continues on the next line
# Text that is safe without further checks: starts with a letter, no special characters.
_SURELY_PLAIN = re.compile(r"[A-Za-z_/](?:[\w./@+=-]|:(?=[\w./]))*", re.ASCII)
_UNPRINTABLE = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
# Text that cannot be plain: starts with a marker or indicator, contains a comment or a pair, or has
# a space at either end.
_NOT_PLAIN = re.compile(
    r"---|\.\.\.|[#,\[\]{}&*!|>'\"%@`\s]|[-?:](?:\s|\Z)|.*(?::(?:\s|\Z)|\s#|\s\Z)", re.DOTALL
)
_LOOKS_LIKE_TIME = re.compile(
    r"\d{4}-\d\d?-\d\d?(?:[Tt]\d\d?:\d\d?:\d\d?(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)"
    r"| \d\d?:\d\d?:\d\d?(?:\.\d+)?)?",
    re.ASCII,
)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)
_ESCAPES = {
    **{chr(code): f"\\{letter}" for code, letter in zip(range(7, 14), "abtnvfr", strict=True)},
    "\0": "\\0",
    "\x1b": "\\e",
    '"': '\\"',
    "\\": "\\\\",
    "\x85": "\\N",
    "\u2028": "\\L",
    "\u2029": "\\P",
}
_SPACE = re.compile(" ")
_LINE_BREAK = re.compile("[\n\r\x85\u2028\u2029]")
_ESCAPED = re.compile(_UNPRINTABLE.pattern + '|["\\\\\n]')
_EXPONENT_FROM = 1e6
_DIGITS = re.compile(r"[0-9]*")
_MAX_DIGITS = 300  # digits of a number in a key that are compared

Order = Callable[[Mapping[str, Any]], list[str]]


def dump(value: Any, order: Order = sorted) -> bytes:
    """Encode a document; ends with a line break. `order` sorts the keys of each mapping."""
    out: list[str] = []
    if isinstance(value, str):
        out.append(_text(value, "  ", 0))
    else:
        _node(value, "", out, order)
    return "".join(out).encode("utf-8", "replace")


def dump_item(value: Any) -> bytes:
    """Encode an item of a list that is in a mapping without extra indentation."""
    out = ["- "]
    _node(value, "  ", out, sorted)
    return "".join(out).encode("utf-8", "replace")


def _node(value: Any, indent: str, out: list[str], order: Order) -> None:
    """Write a value at the current position; further lines are indented."""
    if isinstance(value, dict) and value:
        _mapping(value, indent, out, order)
    elif value.__class__ is list and value:
        _sequence(value, indent, out, order)
    else:
        out.append(_scalar(value, indent, len(indent)))


def _mapping(value: dict[str, Any], indent: str, out: list[str], order: Order) -> None:
    inner = indent + "  "
    between = ""
    for key in order(value):
        out.append(between)
        between = indent
        item = value[key]
        if len(key) > _LONGEST_SIMPLE_KEY or (not key.isprintable() and _LINE_BREAK.search(key)):
            out.append(f"? {_text(key, inner, len(inner))}{indent}: ")
            _node(item, inner, out, order)
            continue
        shown = _line(key)
        out.append(shown)
        if isinstance(item, dict) and item:
            out.append(":\n" + inner)
            _mapping(item, inner, out, order)
        elif item.__class__ is list and item:
            out.append(":\n" + indent)
            _sequence(item, indent, out, order)
        else:
            out.append(": " + _scalar(item, inner, len(inner) + len(shown)))


def _sequence(value: list[Any], indent: str, out: list[str], order: Order) -> None:
    inner = indent + "  "
    between = "- "
    for item in value:
        out.append(between)
        between = indent + "- "
        _node(item, inner, out, order)


def _scalar(value: Any, indent: str, column: int) -> str:
    """A scalar that starts at a column, up to the end of its line."""
    if value.__class__ is str:
        return _text(value, indent, column)
    if value is None:
        return "null\n"
    if value is True:
        return "true\n"
    if value is False:
        return "false\n"
    if value == {} or value == []:
        return "{}\n" if isinstance(value, dict) else "[]\n"
    return f"{_float(value) if isinstance(value, float) else value}\n"


def _float(value: float) -> str:
    """The shortest text, with an exponent where the reference has one."""
    text = repr(value)
    if "e" in text or not _EXPONENT_FROM <= abs(value) < inf:
        return text.removesuffix(".0")
    digits = text.replace(".", "").lstrip("-").rstrip("0")
    return f"{value:.{len(digits) - 1}e}"


def _text(text: str, indent: str, column: int) -> str:
    """Text up to the end of its last line; all lines but the first are indented."""
    if "\n" in text:
        return _literal(text, indent, column)
    return _folded(_line(text), indent, column) + "\n"


def _folded(shown: str, indent: str, column: int) -> str:
    """Fold long text: a line ends at the first single space beyond the width. In double quotes more
    spaces may follow, after a backslash."""
    if column + len(shown) <= _WIDTH or " " not in shown:
        return shown
    quote = shown[0] if shown[0] in "'\"" else ""
    first, last = (1, len(shown) - 2) if quote else (-1, len(shown))
    pieces: list[str] = []
    start = 0
    for found in _SPACE.finditer(shown, _WIDTH - column):
        at = found.start()
        if column + at - start <= _WIDTH or not first < at < last or shown[at - 1] == " ":
            continue
        escape = "\\" if shown[at + 1] == " " else ""
        if escape and quote != '"':
            continue
        pieces += (shown[start:at], "\n", indent, escape)
        start, column = at + 1, len(indent) + len(escape)
    return "".join([*pieces, shown[start:]])


@memoized(2048, longest=64)
def _line(text: str) -> str:
    """Text without line breaks."""
    if _SURELY_PLAIN.fullmatch(text):
        return text if plain(text) is text else f'"{text}"'
    if _UNPRINTABLE.search(text):
        return _quoted(text)
    if _reads_as_other(text):
        return _quoted(text)
    return "'" + text.replace("'", "''") + "'" if _NOT_PLAIN.match(text) else text


def _reads_as_other(text: str) -> bool:
    """Whether a parser would read the plain text as another type, such as a number or a time."""
    if plain(text) is not text or text == "<<":
        return True
    return bool(_LOOKS_LIKE_TIME.fullmatch(text) or _BASE_60.fullmatch(text))


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    escape = _ESCAPES.get(character)
    if escape is not None:
        return escape
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _literal(text: str, indent: str, column: int) -> str:
    """Text of several lines, as a literal block if the format allows it, else quoted."""
    if _UNPRINTABLE.search(text) or " \n" in text or text[-1] == " ":
        return _folded(_quoted(text), indent, column) + "\n"
    hint = "2" if text[0] in " \n" else ""
    chomping, end = "-", "\n"
    if text[-1] == "\n":
        chomping, end = ("+" if text == "\n" or text[-2] == "\n" else ""), ""
    lines = "\n".join([indent + line if line else "" for line in text.split("\n")])
    return f"|{hint}{chomping}\n{lines}{end}"


def natural_order(mapping: Mapping[str, Any]) -> list[str]:
    """Sort the keys as the reference does: numbers in them by value, other characters before
    letters. This takes too long for a server: clients choose the keys."""
    together = "".join(mapping)
    if together.isascii() and together.isalpha():
        return sorted(mapping)
    return sorted(mapping, key=cmp_to_key(_compare))


def _compare(left: str, right: str) -> int:
    for at, (first, second) in enumerate(zip(left, right, strict=False)):
        if first == second:
            continue
        if first.isalpha() and second.isalpha():
            return -1 if first < second else 1
        if first.isalpha() or second.isalpha():
            return -1 if second.isalpha() else 1
        return _compare_numbers(left, right, at)
    return len(left) - len(right)


def _compare_numbers(left: str, right: str, at: int) -> int:
    """Compare two keys that first differ at `at`, where neither has a letter."""
    before = left[:at]
    begun = before[len(before.rstrip("0123456789")) :].strip("0")
    first, second = (_DIGITS.findall(text[at:])[0] for text in (left, right))
    lead = "1" if begun and "0" in (left[at], right[at]) else "0"
    number, other = (int(f"{lead}{digits[:_MAX_DIGITS]}") for digits in (first, second))
    if number != other:
        return -1 if number < other else 1
    if len(first) != len(second):
        return len(first) - len(second)
    return -1 if left[at] < right[at] else 1
