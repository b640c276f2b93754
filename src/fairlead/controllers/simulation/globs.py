"""Patterns in which `*` stands for any characters. They come from clients, so they are matched in
linear time."""

from __future__ import annotations

from collections.abc import Iterable


def matches(pattern: str, text: str) -> bool:
    first, *parts = pattern.split("*")
    if not parts:
        return text == pattern
    last = parts.pop()
    if len(text) < len(first) + len(last):
        return False
    if not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in parts:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def matches_any(patterns: Iterable[str], text: str) -> bool:
    return any(matches(pattern, text) for pattern in patterns)
