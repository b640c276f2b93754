"""Converts values in Go's notation, as releases before 1.30 print them, to JSON, as later ones do.

Structs of the API (`v1.LabelSelector`) have the names of JSON and omit what is not set; all others
have Go's names. The notation shows only the address of a pointer: `pointer` hides the value beside
it, between two NULs, which `without_pointees` removes.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Any

import orjson

_ADDRESS = "0xc000000000"  # arbitrary; clients cannot rely on it
_POINTEE = re.compile(r"\0([^\0]*)\0")
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|\(\*[^()]*\)\((?:nil|0x[0-9a-f]+(?:\0[^\0]*\0)?)\)|<nil>|[^\s{}",:]*\(nil\)'
    r"|&?[^\s{}\",:]*(?:\[[^\]]*\][^\s{}\",:]*)?\{|[^\s{}\",:]+|[},:]"
)
_CAPITALS = re.compile(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z]")
_ESCAPES = {"a": "\a", "v": "\v"}


def pointer(kind: str, value: Any) -> str:
    """A pointer as messages print it."""
    if value is None:
        return f"(*{kind})(nil)"
    pointee = value if kind[:3] in ("v1.", "int", "bool") else _with_go_names(value)
    return f"(*{kind})({_ADDRESS}\0{orjson.dumps(pointee).decode()}\0)"


def without_pointees(text: str) -> str:
    return _POINTEE.sub("", text) if "\0" in text else text


def to_value(text: str) -> Any:
    """The value; raises ValueError if the text is not in the notation."""
    tokens = [token for token in _TOKEN.findall(text) if token != ","]
    try:
        value, end = _value(tokens, 0)
    except (IndexError, RecursionError) as error:
        raise ValueError(text) from error
    if end != len(tokens):
        raise ValueError(text)
    return value


def _with_go_names(value: Any) -> Any:
    if isinstance(value, dict):
        return {name[:1].upper() + name[1:]: _with_go_names(part) for name, part in value.items()}
    return [_with_go_names(part) for part in value] if isinstance(value, list) else value


def _value(tokens: list[str], at: int) -> tuple[Any, int]:
    """The value that begins at a token, and the position after it."""
    token = tokens[at]
    if token.endswith("{"):
        return _composite(token[:-1].lstrip("&"), tokens, at + 1)
    if token.endswith(("(nil)", "<nil>")):
        return None, at + 1
    if token.startswith("(*"):
        pointee = _POINTEE.search(token)
        return orjson.loads(pointee[1]) if pointee else None, at + 1
    if token.startswith('"'):
        return _text(token), at + 1
    return int(token, 16) if token[:2] == "0x" else json.loads(token), at + 1


def _composite(kind: str, tokens: list[str], at: int) -> tuple[Any, int]:
    items: list[Any] = []
    pairs: dict[str, Any] = {}
    while tokens[at] != "}":
        if tokens[at + 1] == ":":
            key = tokens[at]
            pairs[_text(key) if key[0] == '"' else key], at = _value(tokens, at + 2)
        else:
            item, at = _value(tokens, at)
            items.append(item)
    if kind.startswith("[]"):
        return b64encode(bytes(items)).decode() if kind == "[]byte" else items, at + 1
    return _struct(kind, pairs), at + 1


def _struct(kind: str, fields: dict[str, Any]) -> Any:
    if kind == "resource.Quantity":
        return fields["s"] or str(fields["i"]["value"] * 10 ** max(fields["i"]["scale"], 0))
    if kind == "intstr.IntOrString":
        return fields["StrVal"] if fields["Type"] else fields["IntVal"]
    if not kind.startswith("v1."):
        return fields
    named = ((_CAPITALS.sub(_lower, name, count=1), value) for name, value in fields.items())
    return {name: value for name, value in named if value is not None}


def _lower(match: re.Match[str]) -> str:
    return match[0].lower()


def _text(token: str) -> str:
    """A quoted text; escapes that JSON does not have are replaced."""
    plain = re.sub(r"\\(x[0-9a-f]{2}|U[0-9a-f]{8}|[av])", _plain, token)
    text: str = json.loads(plain, strict=False)
    return text


def _plain(match: re.Match[str]) -> str:
    escape = match[1]
    return _ESCAPES.get(escape) or chr(int(escape[1:], 16))
