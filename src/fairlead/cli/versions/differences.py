"""Differences of two versions as lines of YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any

from fairlead.cli.invocation import CYAN, GREEN, RED, Paint
from fairlead.cli.output import documents
from fairlead.cli.output.documents import masked, masked_pair, without

Object = dict[str, Any]
Path = tuple[str, ...]

_STEP = re.compile(r"\[([^\]]*)\]|((?:[^.\[\\]|\\.)+)")
_COLOURS = {"+": (GREEN,), "-": (RED,), "@": (CYAN,)}


class DiffView:
    """Which parts of versions are shown: with or without noise, only some fields, Secrets masked or
    not."""

    def __init__(self, *, noise: bool, secrets: bool, fields: Sequence[Path] = ()) -> None:
        self._noise = noise
        self._secrets = secrets
        self._fields = fields

    def difference(self, before: Object | None, after: Object | None) -> list[str]:
        """A unified diff without its header; empty if nothing shown differs."""
        if not self._secrets:
            before, after = masked_pair(before or {}, after or {})
        lines = unified_diff(self._lines(before), self._lines(after), lineterm="")
        return list(lines)[2:]

    def lines(self, value: Object) -> list[str]:
        """The whole version as lines."""
        return self._lines(value if self._secrets else masked(value))

    def shown(self, value: Object) -> Object:
        """The visible part of a version, for JSON and YAML output."""
        return self._trimmed(value if self._secrets else masked(value))

    def _lines(self, value: Object | None) -> list[str]:
        trimmed = self._trimmed(value) if value else None
        return documents.as_yaml(trimmed).split("\n") if trimmed else []

    def _trimmed(self, value: Object) -> Object:
        if not self._noise:
            value = without(value)
        trimmed: Object = _only(value, self._fields) if self._fields else value
        return trimmed


def painted(lines: Sequence[str], paint: Paint) -> Iterator[str]:
    for line in lines:
        yield paint(line, *_COLOURS.get(line[:1], ()))


def parsed_path(text: str) -> Path:
    r"""Parse `.spec.ports[0]` or `metadata.annotations.a\.b` to steps; raises ValueError."""
    steps: list[str] = []
    position = 0
    while position < len(text):
        if text[position] == ".":
            position += 1
            continue
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(text)
        steps.append(match[1] if match[1] is not None else re.sub(r"\\(.)", r"\1", match[2]))
        position = match.end()
    if not steps or not all(steps):
        raise ValueError(text)
    return tuple(steps)


def _only(value: Any, paths: Sequence[Path]) -> Any:
    """The parts of a value at these paths. List indexes are not preserved."""
    if () in paths or not isinstance(value, (dict, list)):
        return value if () in paths else {}
    entries: Mapping[str, Any] = (
        value if isinstance(value, dict) else {str(index): item for index, item in enumerate(value)}
    )
    selected: Object = {}
    for key, item in entries.items():
        below = [path[1:] for path in paths if path[0] in (key, "*")]
        inner = _only(item, below) if below else {}
        if inner or () in below:
            selected[key] = inner
    return selected if isinstance(value, dict) else list(selected.values())
