r"""JSONPath templates of the command line: text with `{.expressions}` and loops.

parse("{.status.phase}").find(pod)
template('{range .items[*]}{.metadata.name}{"\n"}{end}').render(pods)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.cli.output.documents import as_json
from fairlead.cli.output.values import compact_json, plain
from fairlead.codec.json_path import (
    Evaluation,
    JsonPathError,
    Steps,
    Text,
    Values,
    Word,
    follow,
    parse_action,
)

__all__ = ["JsonPathError", "Path", "Template", "parse", "relaxed", "template"]

_RELAXED = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Loop:
    """`{range over}body{end}`."""

    over: Steps
    body: Sequence[Part]


Part = Steps | Loop


@dataclass(frozen=True, slots=True)
class Path:
    """Expressions that return values instead of text."""

    parts: Sequence[Part]

    def find(self, value: Any, strict: bool = False) -> Values:
        """All values found; raises JsonPathError. A missing field yields nothing, or raises if
        `strict`."""
        return [item for found in _results(self.parts, value, strict) for item in found]


@dataclass(frozen=True, slots=True)
class Template:
    """A text with expressions."""

    parts: Sequence[Part]
    text: str

    def render(self, value: Any, strict: bool = False) -> str:
        """The text; raises JsonPathError. Several values of one expression are separated by
        spaces."""
        results = _results(self.parts, value, strict)
        return "".join(" ".join(map(_shown, values)) for values in results)

    def render_json(self, value: Any, strict: bool = False) -> str:
        """The values of each expression as a JSON list."""
        return "".join(f"{as_json(values)}\n" for values in _results(self.parts, value, strict))


def template(text: str) -> Template:
    """Raises JsonPathError."""
    return Template(_nested(iter(_actions(text))), text)


def parse(text: str) -> Path:
    """Parse an expression in braces; raises JsonPathError. Use `relaxed` for user input."""
    return Path(template(text).parts)


def relaxed(text: str) -> str:
    """Add missing braces and the leading dot; raises JsonPathError."""
    if not text:
        return text
    match = _RELAXED.fullmatch(text)
    if match is None:
        raise JsonPathError(
            "a path consists of names separated by dots, with or without braces, such as"
            " {.metadata.name}"
        )
    return f"{{.{match[1] or match[2]}}}"


def _results(parts: Sequence[Part], value: Any, strict: bool) -> Iterator[Values]:
    for part in parts:
        if not isinstance(part, Loop):
            yield follow(part, [value], Evaluation(strict=strict))
            continue
        for item in follow(part.over, [value], Evaluation(strict=strict)):
            yield from _results(part.body, item, strict)


def _shown(value: Any) -> str:
    return compact_json(value) if value is None or isinstance(value, dict | list) else plain(value)


def _nested(actions: Iterator[Steps], depth: int = 0) -> list[Part]:
    """The parts up to the `{end}` of the current loop, or to the end of the text if it is
    missing."""
    parts: list[Part] = []
    for steps in actions:
        words = [step.name for step in steps if isinstance(step, Word)]
        if "range" in words:
            if depth == _DEEPEST:
                raise JsonPathError("loops are nested too deeply")
            parts.append(Loop(steps, _nested(actions, depth + 1)))
        elif "end" not in words:
            parts.append(steps)
        elif depth:
            return parts
        else:
            raise JsonPathError("{end} without a {range}")
    return parts


def _actions(text: str) -> Iterator[Steps]:
    """The texts and expressions in order."""
    at = 0
    while at < len(text):
        brace = text.find("{", at)
        if brace < 0:
            brace = len(text)
        if brace > at:
            yield (Text(text[at:brace]),)
        if brace == len(text):
            return
        steps, at = parse_action(text, brace + 1)
        yield steps
