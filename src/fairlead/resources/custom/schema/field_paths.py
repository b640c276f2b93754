"""Paths to fields of a schema: `.spec.mode`, `.spec['some.key']`."""

from __future__ import annotations

import re
from typing import NamedTuple

from fairlead.resources.custom.schema.markers import Schema, values_schema

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*+'|[.\[\]]|[^.\[\]']++[^.\[\]]*+|'.*", re.DOTALL)
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPES |= {"'": "'", "\\": "\\"}
_NO_FIELD = "does not refer to a valid field"


class FieldPathError(ValueError):
    """Text that is not the path of a field; the message says why."""


class FieldPath(NamedTuple):
    """A path: its normal form, its steps, and the schema at its end."""

    text: str
    steps: tuple[str, ...]
    schema: Schema


def field_path(text: str, schema: Schema, with_brackets: bool = True) -> FieldPath:
    """Find a field in a schema; raises FieldPathError."""
    tokens = iter(_TOKEN.findall(text))
    normal, steps = "", []
    for token in tokens:
        if token == "[":
            if not with_brackets:
                raise FieldPathError("array notation is not allowed")
            name = _unquoted(_next(tokens))
            normal, schema = _step(normal, name, schema)
            closing = _next(tokens)
            if closing != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif token == ".":
            name = _next(tokens)
            normal, schema = _step(normal, name, schema)
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
        steps.append(name)
    return FieldPath(normal, tuple(steps), schema)


def _next(tokens: object) -> str:
    token: str | None = next(tokens, None)  # type: ignore[call-overload]
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


def _unquoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")
    return _ESCAPE.sub(_unescaped, token[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    letter = match[0][1]
    if letter not in _ESCAPES:
        raise FieldPathError(f"invalid string literal: invalid escape char {match[0]}")
    return _ESCAPES[letter]


def _step(normal: str, name: str, schema: Schema) -> tuple[str, Schema]:
    properties, values = schema.get("properties"), values_schema(schema)
    if properties is not None:
        if name not in properties:
            raise FieldPathError(_NO_FIELD)
        return (f"{normal}.{name}" if normal else name), properties[name]
    if values is None:
        raise FieldPathError(_NO_FIELD)
    return f"{normal}[{name}]", values
