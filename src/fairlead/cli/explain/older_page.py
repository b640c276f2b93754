"""The layout of `--output=plaintext-openapiv2`, the default of kubectl up to v1.26."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fairlead.base.terminal import printable
from fairlead.cli.explain.schemas import Schema
from fairlead.client import ResourceType

_FIELD = 3  # spaces before a field, per level
_TEXT = 5
_WIDTH = 80
_CODE = "    "
_BULLET = re.compile(r"(\d+\.?|-|\*)\s")


def older_page(
    type: ResourceType, schema: Schema, path: Sequence[str], recursive: bool
) -> Iterator[str]:
    """The lines of the explanation."""
    inner = schema.innermost
    yield f"KIND:     {type.kind}"
    yield f"VERSION:  {type.api_version}"
    yield ""
    if path:
        what = "RESOURCE:" if inner.fields else "FIELD:   "
        yield f"{what} {path[-1]} <{schema.type}>"
        yield ""
    yield "DESCRIPTION:"
    yield from _described(schema, inner)
    if inner.fields:
        yield ""
        yield "FIELDS:"
        yield from _tree(inner, _FIELD, frozenset()) if recursive else _listed(inner)


def _described(schema: Schema, inner: Schema) -> Iterator[str]:
    descriptions = list(schema.descriptions)
    if inner is not schema:
        descriptions += inner.descriptions
    for index, text in enumerate(descriptions or ["<empty>"]):
        if index:
            yield ""
        yield from wrapped(printable(text), _TEXT)


def _head(name: str, field: Schema, indent: int) -> str:
    return f"{' ' * indent}{printable(name)}\t<{field.type}>"


def _listed(schema: Schema) -> Iterator[str]:
    for name, field in schema.fields.items():
        needed = " -required-" if name in schema.required else ""
        yield f"{_head(name, field, _FIELD)}{needed}"
        yield from wrapped(printable(field.description), _TEXT)
        yield ""


def _tree(schema: Schema, indent: int, above: frozenset[str]) -> Iterator[str]:
    """All fields recursively. Recursive schemas are expanded once."""
    for name, field in schema.fields.items():
        yield _head(name, field, indent)
        inner = field.innermost
        if not inner.name:
            yield from _tree(inner, indent + _FIELD, above)
        elif inner.name not in above:
            yield from _tree(inner, indent + _FIELD, above | {inner.name})


# Line wrapping of descriptions


def wrapped(text: str, indent: int) -> Iterator[str]:
    """Wrapped and indented lines. Blank lines, code and lists keep their lines."""
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
