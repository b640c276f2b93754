"""Values in Go templates: what is true, how values are printed, `printf`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from json import dumps
from math import inf, isfinite
from typing import Any

from fairlead.base import meter
from fairlead.base.quotes import quote

MAX_SIZE = 256 * 1024  # characters of a text, values of a list
_MAX_WIDTH = 200
_SMALLEST, _LARGEST = -4, 6  # exponents of numbers that are printed without one
_NO_VALUE = "<no value>"
_VERB = re.compile(r"%([-+# 0]*)(\d*)(?:\.(\d*))?(.?)", re.DOTALL)


class TemplateError(Exception):
    """A template that is invalid, or fails on an object; the text says why."""


def is_true(value: Any) -> bool:
    return bool(value)


def check_size(value: Any) -> None:
    """Raise TemplateError if a value is too large to be written. Lists may share their items, so
    that a short template makes a huge value."""
    left, waiting = MAX_SIZE, [value]
    while waiting:
        item = waiting.pop()
        left -= 1 + (len(item) if isinstance(item, str | list | dict) else 0)
        if left < 0:
            raise TemplateError(f"the result is larger than {MAX_SIZE} characters")
        meter.spend()
        if isinstance(item, dict):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def joined(parts: Iterable[str], separator: str = "") -> str:
    """The texts in one; raises TemplateError if it is too large."""
    texts = list(parts)
    if sum(map(len, texts)) + len(separator) * len(texts) > MAX_SIZE:
        raise TemplateError(f"the result is larger than {MAX_SIZE} characters")
    return separator.join(texts)


def shown(value: Any) -> str:
    """A value as a template prints it."""
    if isinstance(value, str):
        return value
    check_size(value)
    return _shown(value)


def _shown(value: Any) -> str:
    if value is None:
        return _NO_VALUE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{' '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_shown(value[name])}' for name in sorted(value))}]"
    return _fraction(value) if isinstance(value, float) else str(value)


def _fraction(value: float) -> str:
    """A number as Go prints it: with an exponent from seven digits on."""
    if not isfinite(value):
        return {inf: "+Inf", -inf: "-Inf"}.get(value, "NaN")
    number = Decimal(repr(value)).normalize()
    if value == 0 or _SMALLEST <= number.adjusted() < _LARGEST:
        return f"{number:f}"
    digits, exponent = f"{number:e}".lower().split("e")
    return f"{digits}e{int(exponent):+03d}"


def as_json(value: Any) -> str:
    check_size(value)
    return dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def formatted(text: str, *arguments: Any) -> str:
    """`printf` with the verbs s, v, d, q, t, x and f."""
    parts: list[str] = []
    left = list(arguments)
    at = 0
    for match in _VERB.finditer(text):
        parts.append(text[at : match.start()])
        at = match.end()
        if match[4] == "%":
            parts.append("%")
        elif not left:
            parts.append(f"%!{match[4]}(MISSING)")
        else:
            parts.append(_verb(match, left.pop(0)))
    parts.append(text[at:])
    if left:
        parts.append(f"%!(EXTRA {', '.join(shown(value) for value in left)})")
    return joined(parts)


def _verb(match: re.Match[str], value: Any) -> str:
    flags, width, precision, verb = match.groups()
    wide, digits = int(width or 0), int(precision) if precision else None
    if wide > _MAX_WIDTH or (digits or 0) > _MAX_WIDTH:
        raise TemplateError(f"printf: widths are at most {_MAX_WIDTH}")
    text = _plain(verb, value, digits)
    if "+" in flags and verb in "df" and not text.startswith("-"):
        text = f"+{text}"
    if "-" in flags:
        return text.ljust(wide)
    return text.zfill(wide) if "0" in flags else text.rjust(wide)


def _plain(verb: str, value: Any, digits: int | None) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match verb:
        case "s" | "v":
            return shown(value)[:digits]
        case "q":
            return quote(shown(value))
        case "d" if is_number:
            return str(int(value))
        case "f" if is_number:
            return f"{value:.{6 if digits is None else digits}f}"
        case "x" if isinstance(value, int):
            return f"{value:x}"
        case "x" if isinstance(value, str):
            return value.encode().hex()
        case "t" if isinstance(value, bool):
            return shown(value)
    return f"%!{verb}({shown(value)})"
