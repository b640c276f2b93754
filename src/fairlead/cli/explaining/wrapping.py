"""Descriptions in lines that fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WIDTH = 80
_CODE = "    "
_BULLET = re.compile(r"(\d+\.?|-|\*)\s")


def wrapped(text: str, indent: int) -> Iterator[str]:
    """Lines with their indent. Blank lines, code and lists stay as they are."""
    for line in _lines(text, _WIDTH - indent):
        yield f"{' ' * indent}{line}" if line else ""


def _lines(text: str, width: int) -> Iterator[str]:
    words: list[str] = []
    size = 0
    begun = False
    for line in text.split("\n"):
        stripped = line.strip()
        starts = line.startswith(_CODE) or not stripped or _BULLET.match(stripped)
        if words and (starts or words[-1].endswith(":")):
            yield " ".join(words)
            words, size, begun = [], 0, True
        if line.startswith(_CODE) or (begun and not stripped):
            yield line if stripped else ""
            begun = True
            continue
        for word in stripped.split():
            if words and size + 1 + len(word) > width:
                yield " ".join(words)
                words, size, begun = [], 0, True
            size += len(word) + (1 if words else 0)
            words.append(word)
    if words:
        yield " ".join(words)
