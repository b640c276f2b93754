"""The default layout of `explain`, that of kubectl since v1.27."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fairlead.base.terminal import printable
from fairlead.cli.explain.schemas import Schema
from fairlead.client import ResourceType

_FIELD = 2  # spaces before a field, per level
_TEXT = "    "
_WIDTH = 80
_SHOWN_CHOICES = 4  # of a field in a list of fields
_WORD = re.compile(r"(\s*)(\S+)")


def page(type: ResourceType, schema: Schema, path: Sequence[str], recursive: bool) -> Iterator[str]:
    """The lines of the explanation."""
    if type.group:
        yield f"GROUP:      {type.group}"
    yield f"KIND:       {type.kind}"
    yield f"VERSION:    {type.version}"
    yield ""
    if path:
        yield f"FIELD: {path[-1]} <{schema.type_name}>"
        if schema.choices:
            yield "ENUM:"
            yield from (f"{_TEXT}{_choice(value)}" for value in schema.choices)
        else:
            yield ""
        yield ""
    yield "DESCRIPTION:"
    yield from _described(schema)
    inner = schema.innermost
    if inner.fields:
        yield "FIELDS:"
        yield from _tree(inner, _FIELD, frozenset({inner.name})) if recursive else _listed(inner)
    yield ""


def _described(schema: Schema) -> Iterator[str]:
    descriptions = list(schema.descriptions)
    if schema.innermost is not schema:
        descriptions += schema.innermost.descriptions
    for text in descriptions:
        yield from folded(text)
    yield _TEXT if descriptions else f"{_TEXT}<empty>"


def _head(name: str, field: Schema, is_required: bool, indent: str) -> Iterator[str]:
    needed = " -required-" if is_required else ""
    yield f"{indent}{printable(name)}\t<{field.type_name}>{needed}"
    if field.choices:
        shown = [_choice(value) for value in field.choices[:_SHOWN_CHOICES]]
        more = ["...."] if len(field.choices) > _SHOWN_CHOICES else []
        yield f"{indent}enum: {', '.join(shown + more)}"


def _listed(schema: Schema) -> Iterator[str]:
    for name, field in schema.fields.items():
        yield from _head(name, field, name in schema.required, " " * _FIELD)
        yield from folded(field.description or "<no description>")
        yield ""


def _tree(schema: Schema, indent: int, above: frozenset[str]) -> Iterator[str]:
    """All fields recursively. A recursive schema is expanded once."""
    for name, field in schema.fields.items():
        yield from _head(name, field, name in schema.required, " " * indent)
        inner = field.innermost
        if not inner.name:
            yield from _tree(inner, indent + _FIELD, above)
        elif inner.name not in above:
            yield from _tree(inner, indent + _FIELD, above | {inner.name})


def _choice(value: object) -> str:
    """A value of an enumeration."""
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return str(value).lower()
    return printable(str(value)) or '""'


def folded(text: str) -> Iterator[str]:
    """The indented lines of a description. Long lines are broken between words."""
    for line in printable(text).split("\n"):
        piece = _TEXT
        is_begun = False
        for space, word in _WORD.findall(line):
            if is_begun and len(piece) + len(space) + len(word) > _WIDTH:
                yield piece
                piece = _TEXT + word
            else:
                piece += space + word
            is_begun = True
        yield piece
