"""`explain`: describes a kind or a field."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed
from fairlead.cli.explain.pages import at_path, page
from fairlead.cli.explain.schemas import schema_of
from fairlead.cli.invocation import Invocation
from fairlead.client import ResourceType, UnknownKind


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND[.FIELD...]", nargs="*")
    parser.add_argument(
        "--api-version", metavar="VERSION", default="", help="use this group and version"
    )
    parser.add_switch("--recursive", help="show all nested fields, without descriptions")


async def run(at: Invocation) -> int:
    words = at.options.words
    if not words:
        raise CommandFailed(
            "error: name the kind to explain, such as pods or pods.spec; fairlead api-resources"
            " lists"
            " all kinds"
        )
    if len(words) > 1:
        raise CommandFailed("error: give one kind or field")
    type, path = await _meant(at, words[0].split("."))
    if at.options.api_version:
        type = await _in_version(at, type, at.options.api_version)
    schema = at_path(await schema_of(at.client, type), path)
    for line in page(type, schema, path, at.options.recursive):
        at.screen.print(line)
    return 0


async def _meant(at: Invocation, steps: Sequence[str]) -> tuple[ResourceType, Sequence[str]]:
    """The kind and the path of the field. The group may follow the kind:
    `deployments.apps.spec`."""
    discovery = at.client.discovery
    if len(steps) > 1:
        for end in range(len(steps), 1, -1):
            rest = ".".join(steps[1:end])
            for group in await discovery.groups():
                named = (group.name, *(f"{version}.{group.name}" for version in group.versions))
                if group.name and rest in named:
                    return await discovery.find(".".join(steps[:end])), steps[end:]
    return await discovery.find(steps[0]), [step for step in steps[1:] if step]


async def _in_version(at: Invocation, type: ResourceType, version: str) -> ResourceType:
    try:
        return await at.client.discovery.of_kind(version, type.kind)
    except UnknownKind:
        raise CommandFailed(
            f'error: couldn\'t find resource for "{version}, Kind={type.kind}"'
        ) from None
