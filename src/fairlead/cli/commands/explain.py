"""`explain`: describes a kind or a field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed
from fairlead.cli.explain.schemas import Schema, schema_of
from fairlead.cli.invocation import Invocation
from fairlead.client import ResourceType, UnknownKind

_FIELD = 3  # spaces before a field, per level
_TEXT = 5
_MAX_DEPTH = 20  # limit of nested lists, for malformed schemas
_WIDTH = 80
_CODE = "    "
_FORMATS = ("plaintext", "plaintext-openapiv2")  # both are the same here
_BULLET = re.compile(r"(\d+\.?|-|\*)\s")


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND[.FIELD...]", nargs="*")
    parser.add_argument(
        "--api-version", metavar="VERSION", default="", help="use this group and version"
    )
    parser.add_switch("--recursive", help="show all nested fields, without descriptions")
    parser.add_argument(
        "--output", metavar="FORMAT", default=_FORMATS[0], help=f"one of {', '.join(_FORMATS)}"
    )


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    if invocation.options.output not in _FORMATS:
        raise CommandFailed(f"error: --output takes {' or '.join(_FORMATS)}")
    if not words:
        raise CommandFailed(
            "error: name the kind to explain, such as pods or pods.spec; fairlead api-resources"
            " lists"
            " all kinds"
        )
    if len(words) > 1:
        raise CommandFailed("error: give one kind or field")
    type, path = await _meant(invocation, words[0].split("."))
    if invocation.options.api_version:
        type = await _in_version(invocation, type, invocation.options.api_version)
    schema = schema_at(await schema_of(invocation.client, type), path)
    for line in page(type, schema, path, invocation.options.recursive):
        invocation.screen.print(line)
    return 0


async def _meant(
    invocation: Invocation, steps: Sequence[str]
) -> tuple[ResourceType, Sequence[str]]:
    """The kind and the path of the field. The group may follow the kind:
    `deployments.apps.spec`."""
    discovery = invocation.client.discovery
    if len(steps) > 1:
        for end in range(len(steps), 1, -1):
            rest = ".".join(steps[1:end])
            for group in await discovery.groups():
                named = (group.name, *(f"{version}.{group.name}" for version in group.versions))
                if group.name and rest in named:
                    return await discovery.find(".".join(steps[:end])), steps[end:]
    return await discovery.find(steps[0]), [step for step in steps[1:] if step]


async def _in_version(invocation: Invocation, type: ResourceType, version: str) -> ResourceType:
    try:
        return await invocation.client.discovery.of_kind(version, type.kind)
    except UnknownKind:
        raise CommandFailed(
            f'error: couldn\'t find resource for "{version}, Kind={type.kind}"'
        ) from None


def schema_at(schema: Schema, path: Sequence[str]) -> Schema:
    """The schema of a field, passing through lists and maps; raises CommandFailed."""
    for name in path:
        field = _innermost(schema).fields.get(name)
        if field is None:
            raise CommandFailed(f'error: field "{name}" does not exist')
        schema = field
    return schema


def _innermost(schema: Schema) -> Schema:
    """The schema of the elements of nested lists and maps."""
    for _ in range(_MAX_DEPTH):
        if schema.items is None or schema.fields:
            break
        schema = schema.items
    return schema


def page(type: ResourceType, schema: Schema, path: Sequence[str], recursive: bool) -> Iterator[str]:
    """The lines of the explanation."""
    inner = _innermost(schema)
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
        inner = _innermost(field)
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
