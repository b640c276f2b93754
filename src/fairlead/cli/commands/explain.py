"""`explain`: describes a kind or a field."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed
from fairlead.cli.explain.older_page import older_page
from fairlead.cli.explain.page import page
from fairlead.cli.explain.schemas import Schema, schema_of
from fairlead.cli.invocation import Invocation
from fairlead.client import ResourceType, UnknownKind

_PAGES = {"plaintext": page, "plaintext-openapiv2": older_page}  # by --output


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND[.FIELD...]", nargs="*")
    parser.add_argument(
        "--api-version", metavar="VERSION", default="", help="use this group and version"
    )
    parser.add_switch("--recursive", help="show all nested fields, without descriptions")
    parser.add_argument(
        "-o", "--output", metavar="FORMAT", default="plaintext", help=f"one of {', '.join(_PAGES)}"
    )


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    layout = _PAGES.get(invocation.options.output)
    if layout is None:
        raise CommandFailed(f"error: --output takes {' or '.join(_PAGES)}")
    if not words:
        raise CommandFailed(
            "error: name the kind to explain, such as pods or pods.spec; fairlead api-resources"
            " lists all kinds"
        )
    if len(words) > 1:
        raise CommandFailed("error: give one kind or field")
    type, path = await _meant(invocation, words[0].split("."))
    if invocation.options.api_version:
        type = await _in_version(invocation, type, invocation.options.api_version)
    schema = schema_at(await schema_of(invocation.client, type), path)
    for line in layout(type, schema, path, invocation.options.recursive):
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
        field = schema.innermost.fields.get(name)
        if field is None:
            raise CommandFailed(f'error: field "{name}" does not exist')
        schema = field
    return schema
