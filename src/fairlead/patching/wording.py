"""Values and types as the reference prints them in its messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson


def plain_text(value: Any) -> str:
    """A value as the reference prints it in passing: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        inner = " ".join(f"{name}:{plain_text(item)}" for name, item in sorted(value.items()))
        return f"map[{inner}]"
    if isinstance(value, list):
        return f"[{' '.join(map(plain_text, value))}]"
    return _word(value, str)


def source_text(value: Any) -> str:
    """A value as the reference writes it in source: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_quote(k)}:{source_text(v)}" for k, v in sorted(value.items()))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(source_text, value))}}}"
    return _word(value, _quote)


def type_text(value: Any) -> str:
    """The type of a value that is not a number."""
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    return "bool" if isinstance(value, bool) else "string"


def _quote(text: str) -> str:
    return orjson.dumps(text).decode()


def _word(value: Any, text: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
