"""KYAML: YAML in which braces show the structure and all text is quoted, so that neither
indentation nor a word such as `no` can be misread."""

from __future__ import annotations

import re
from typing import Any

import orjson

_STEP = 2
_PLAIN_KEY = re.compile(r"\w[\w./-]*")
# Keys that a reader of YAML could take for something other than text.
_AMBIGUOUS_KEY = re.compile(
    r"~|null|true|false|[tfyn]|yes|no|on|off|nan|inf(?:inity)?"
    r"|0x[0-9a-f_]+|0o?[0-7_]+|0b[01_]+|[0-9][0-9_]*(?:\.[0-9_]*)?(?:e[-+]?[0-9]+)?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*",
    re.IGNORECASE,
)
_NAMED = {
    **{'"': '\\"', "\\": "\\\\", "\t": "\t", "\0": "\\0", "\a": "\\a", "\b": "\\b", "\n": "\\n"},
    **{"\v": "\\v", "\f": "\\f", "\r": "\\r", "\x1b": "\\e", "\x85": "\\N", "\xa0": "\\_"},
    **{"\u2028": "\\L", "\u2029": "\\P"},
}


def document(value: Any) -> str:
    """One document, which begins with `---`, without the final line break."""
    return f"---\n{_text(value, 0)}"


def _text(value: Any, indent: int) -> str:
    if isinstance(value, dict):
        return _object(value, indent)
    if isinstance(value, list):
        return _list(value, indent)
    if isinstance(value, str):
        return _lines(value, indent) if "\n" in value else _quoted(value)
    return orjson.dumps(value).decode()


def _object(value: dict[str, Any], indent: int) -> str:
    if not value:
        return "{}"
    inner = indent + _STEP
    fields = [f"{_key(key)}: {_text(value[key], inner)}" for key in sorted(value)]
    return _enclosed("{", fields, "}", indent)


def _list(items: list[Any], indent: int) -> str:
    """Objects and lists stand in the line of the bracket, other items in lines of their own."""
    if all(isinstance(item, dict | list) for item in items):
        return f"[{', '.join(_text(item, indent) for item in items)}]"
    return _enclosed("[", [_text(item, indent + _STEP) for item in items], "]", indent)


def _enclosed(start: str, parts: list[str], end: str, indent: int) -> str:
    lines = "".join(f"{' ' * (indent + _STEP)}{part},\n" for part in parts)
    return f"{start}\n{lines}{' ' * indent}{end}"


def _key(text: str) -> str:
    is_plain = _PLAIN_KEY.fullmatch(text) and not _AMBIGUOUS_KEY.fullmatch(text)
    return text if is_plain else _quoted(text)


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _lines(text: str, indent: int) -> str:
    """Text of several lines, each in a line of its own. A backslash at the end takes back the line
    break behind it, one at the start keeps the space of the text."""
    margin = " " * (indent + _STEP)
    shown = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        start = "\\" if line[0] in " \t" else " "
        shown.append(f"{margin}{start}{_escaped(line)}\\\n")
    return f'"\\\n{"".join(shown)}{margin}"'


def _escaped(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return "".join(_NAMED.get(letter) or _visible(letter) for letter in text)


def _visible(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
