"""The generic layout, for kinds without their own: all fields, sorted by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import draw_head
from fairlead.cli.describe.parts.values import shown

_LEFT_OUT = frozenset(
    f".metadata.{name}" for name in ("managedFields", "name", "namespace", "labels", "annotations")
)
_ACRONYMS = ("API", "URL", "UID", "OSB", "GUID")
_MAX_DEPTH = 100


def _draw(page: Page, subject: Subject) -> None:
    draw_head(page, subject)
    _draw_fields(page, subject.value, "", 0)


def _draw_fields(page: Page, value: dict[str, Any], path: str, level: int) -> None:
    for key in sorted(value):
        below = f"{path}.{key}"
        if below in _LEFT_OUT:
            continue
        inside = value[key]
        if level >= _MAX_DEPTH or not isinstance(inside, dict | list):
            page.pair(title(key), shown(inside), level)
            continue
        page.write(f"{title(key)}:", level)
        for item in inside if isinstance(inside, list) else [inside]:
            if isinstance(item, dict):
                _draw_fields(page, item, below, level + 1)
            else:
                page.write(shown(item), level + 1)


GENERIC = Layout(_draw)


def title(key: str) -> str:
    """A field name as words: `API Version`. Names with characters other than letters and `-` stay
    unchanged."""
    if not all(letter.isalpha() or letter == "-" for letter in key):
        return key
    return " ".join(
        word.upper() if word.upper() in _ACRONYMS else word[:1].upper() + word[1:]
        for word in _words(key)
    )


def _words(key: str) -> Iterator[str]:
    """Split camel case. The last capital of a run belongs to the next word: `HTTPGet` is `HTTP`,
    `Get`."""
    runs = ["".join(run) for _, run in groupby(key, _class_of)]
    for index, run in enumerate(runs[:-1]):
        if run[:1].isupper() and runs[index + 1][:1].islower():
            runs[index], runs[index + 1] = run[:-1], run[-1] + runs[index + 1]
    return (run for run in runs if run)


def _class_of(letter: str) -> int:
    return 1 if letter.islower() else 2 if letter.isupper() else 3
