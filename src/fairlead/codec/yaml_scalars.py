"""Resolves YAML scalars by the rules of YAML 1.1 as the reference applies them: no timestamps and
no base 60 numbers."""

from __future__ import annotations

import binascii
import math
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

_CORE = "tag:yaml.org,2002:"
_LONGEST_INTEGER = 66  # 64 binary digits with their prefix
_MAX_SHOWN = 64

WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
# The words of YAML 1.2, in which yes, on and y are texts.
CORE_WORDS = {
    word: value
    for word, value in WORDS.items()
    if not isinstance(value, bool) or word.lower() in ("true", "false")
}
_INTEGER = re.compile(r"[-+]?(0b[01]+|0o[0-7]+|0x[0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_KINDS: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
}


class YamlError(ValueError):
    """Text that is not YAML, or has values that JSON does not support."""


def plain(text: str, words: Mapping[str, Any] = WORDS) -> Any:
    """The value of an unquoted scalar."""
    if text in words:
        return words[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    if len(digits) <= _LONGEST_INTEGER and _INTEGER.fullmatch(digits):
        number = _integer(digits)
        if -(2**63) <= number < 2**64:
            return number
    if _FLOAT.fullmatch(digits):
        value = float(digits)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return text


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-")
    if body[:1] == "0" and body[1:2].isdigit():
        return sign * int(body, 8)
    return sign * int(body, 0)


def tagged(tag: str, text: str) -> Any:
    """The value of a scalar with a tag."""
    name = tag.removeprefix(_CORE)
    if name == "binary":
        return _binary(text)
    if name not in _KINDS and name != "timestamp":
        raise YamlError(f"yaml: cannot decode a value of the tag {tag[:_MAX_SHOWN]}")
    value = plain(text)
    if not isinstance(value, _KINDS.get(name, ())) or (name == "int" and isinstance(value, bool)):
        raise YamlError(f"yaml: cannot decode !!{_kind(value)} `{text[:_MAX_SHOWN]}` as a !!{name}")
    return value


def _binary(text: str) -> str:
    try:
        return b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise YamlError("yaml: !!binary value contains invalid base64 data") from None


def _kind(value: Any) -> str:
    return next((name for name, kinds in _KINDS.items() if isinstance(value, kinds)), "str")


def as_json(value: Any) -> Any:
    """The value itself; raises YamlError if JSON does not support it."""
    if value.__class__ is float and not math.isfinite(value):
        shown = {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
        raise YamlError(f"json: unsupported value: {shown}")
    return value


def as_key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        return "null"
    if isinstance(key, (int, float)):
        return str(key)
    raise YamlError("yaml: invalid map key: a list or mapping")
