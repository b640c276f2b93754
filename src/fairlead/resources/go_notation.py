"""Converts values in Go's notation, as releases before 1.30 print them, to JSON, as later ones do.

Structs of the API (`v1.LabelSelector`) have the names of JSON and omit what is not set; all others
have Go's names. The notation shows only the address of a pointer; the values behind the addresses
come beside the text, in the order of the addresses.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from typing import Any, NamedTuple

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|\(\*[^()]*\)\((?:nil|0x[0-9a-f]+)\)|<nil>|[^\s{}",:]*\(nil\)'
    r"|&?[^\s{}\",:]*(?:\[[^\]]*\][^\s{}\",:]*)?\{|[^\s{}\",:]+|[},:]"
)
_CAPITALS = re.compile(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z]")
_ESCAPES = {"a": "\a", "v": "\v"}


class Pointee(NamedTuple):
    """The value behind an address, and its type."""

    kind: str
    value: Any

    def named(self) -> Any:
        """The value with the names that its type has."""
        is_own = self.kind[:3] in ("v1.", "int", "bool")
        return self.value if is_own else _with_go_names(self.value)


def to_value(text: str, pointees: Iterable[Pointee] = ()) -> Any:
    """The value; raises ValueError if the text is not in the notation. An address without a
    pointee is null."""
    tokens = [token for token in _TOKEN.findall(text) if token != ","]
    try:
        value, end = _Reader(tokens, pointees).value(0)
    except (IndexError, RecursionError) as error:
        raise ValueError(text) from error
    if end != len(tokens):
        raise ValueError(text)
    return value


def _with_go_names(value: Any) -> Any:
    if isinstance(value, dict):
        return {name[:1].upper() + name[1:]: _with_go_names(part) for name, part in value.items()}
    return [_with_go_names(part) for part in value] if isinstance(value, list) else value


class _Reader:
    def __init__(self, tokens: list[str], pointees: Iterable[Pointee]) -> None:
        self._tokens = tokens
        self._pointees = iter(pointees)

    def value(self, at: int) -> tuple[Any, int]:
        """The value that begins at a token, and the position after it."""
        token = self._tokens[at]
        if token.endswith("{"):
            return self._composite(token[:-1].lstrip("&"), at + 1)
        if token.endswith(("(nil)", "<nil>")):
            return None, at + 1
        if token.startswith("(*"):
            pointee = next(self._pointees, None)
            return None if pointee is None else pointee.named(), at + 1
        if token.startswith('"'):
            return _text(token), at + 1
        return int(token, 16) if token[:2] == "0x" else json.loads(token), at + 1

    def _composite(self, kind: str, at: int) -> tuple[Any, int]:
        tokens = self._tokens
        items: list[Any] = []
        pairs: dict[str, Any] = {}
        while tokens[at] != "}":
            if tokens[at + 1] == ":":
                key = tokens[at]
                pairs[_text(key) if key[0] == '"' else key], at = self.value(at + 2)
            else:
                item, at = self.value(at)
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
