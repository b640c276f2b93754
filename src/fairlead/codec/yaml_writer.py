"""Writes JSON values as YAML in the reference's layout: block style, sorted keys, long text folded
at spaces, and quotes where plain text would be parsed as another type."""

from __future__ import annotations

import re
from typing import Any

from fairlead.base.caches import remembered
from fairlead.codec.yaml_scalars import plain

_LONGEST_SIMPLE_KEY = 128
_WIDTH = 80  # text beyond this column continues on the next line
# Text that is safe without further checks: starts with a letter, no special characters.
_SAFE = re.compile(r"[A-Za-z_/](?:[\w./@+=-]|:(?=[\w./]))*", re.ASCII)
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
_ESCAPED = re.compile(_UNPRINTABLE.pattern + '|["\\\\\n]')


def dump(value: Any) -> bytes:
    """Encode a document; ends with a line break."""
    out: list[str] = []
    if isinstance(value, str):
        out.append(_text(value, "  ", 0))
    else:
        _node(value, "", out)
    return "".join(out).encode("utf-8", "replace")


def dump_item(value: Any) -> bytes:
    """Encode an item of a list that is in a mapping without extra indentation."""
    out = ["- "]
    _node(value, "  ", out)
    return "".join(out).encode("utf-8", "replace")


def _node(value: Any, indent: str, out: list[str]) -> None:
    """Write a value at the current position; further lines are indented."""
    if isinstance(value, dict) and value:
        _mapping(value, indent, out)
    elif value.__class__ is list and value:
        _sequence(value, indent, out)
    else:
        out.append(_scalar(value, indent, len(indent)))


def _mapping(value: dict[str, Any], indent: str, out: list[str]) -> None:
    inner = indent + "  "
    between = ""
    for key in sorted(value):
        out.append(between)
        between = indent
        item = value[key]
        if len(key) > _LONGEST_SIMPLE_KEY or "\n" in key:
            out.append(f"? {_text(key, inner, len(inner))}{indent}: ")
            _node(item, inner, out)
            continue
        shown = _line(key)
        out.append(shown)
        if isinstance(item, dict) and item:
            out.append(":\n" + inner)
            _mapping(item, inner, out)
        elif item.__class__ is list and item:
            out.append(":\n" + indent)
            _sequence(item, indent, out)
        else:
            out.append(": " + _scalar(item, inner, len(inner) + len(shown)))


def _sequence(value: list[Any], indent: str, out: list[str]) -> None:
    inner = indent + "  "
    between = "- "
    for item in value:
        out.append(between)
        between = indent + "- "
        _node(item, inner, out)


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
    return f"{value!r}\n"


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


@remembered(2048, longest=64)
def _line(text: str) -> str:
    """Text without line breaks."""
    if _SAFE.fullmatch(text):
        return text if plain(text) is text else f'"{text}"'
    if _UNPRINTABLE.search(text):
        return _quoted(text)
    if _reads_as_other(text):
        return _quoted(text)
    return "'" + text.replace("'", "''") + "'" if _NOT_PLAIN.match(text) else text


def _reads_as_other(text: str) -> bool:
    """Whether plain text would be parsed as a number, a time or another type than text."""
    if plain(text) is not text or text == "<<":
        return True
    return bool(_LOOKS_LIKE_TIME.fullmatch(text) or _BASE_60.fullmatch(text))


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    known = _ESCAPES.get(character)
    if known is not None:
        return known
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
