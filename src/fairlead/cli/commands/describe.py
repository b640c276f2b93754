"""`describe`: shows objects in detail, with related objects and events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.error_messages import worded
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.get.output import tell_if_no_nodes
from fairlead.cli.get.requests import Wanted, asked_by
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import add_file_flags
from fairlead.client import ApiError, Resource, ResourceType, Unreachable
from fairlead.client.errors import NotFound
from fairlead.client.resources import PAGE, Object
from fairlead.client.session import JSON

_EXPECTED = (ApiError, Unreachable, CommandFailed)


class Described(NamedTuple):
    """An object to describe."""

    type: ResourceType
    value: Object


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND [NAME | PREFIX] | KIND/NAME", nargs="*")
    parser.add_switch("-A", "--all-namespaces", help="objects of all namespaces")
    parser.add_label_selector()
    add_file_flags(parser, "describe")
    parser.add_switch("--show-events", help="also show the events of objects", default=True)
    parser.add_argument(
        "--chunk-size",
        metavar="NUMBER",
        type=int,
        default=PAGE,
        help="number of objects per list request; 0 for all at once",
    )
    parser.set_defaults(field_selector="", subresource="")  # read by `asked_by`; no flags here


async def run(at: Invocation) -> int:
    if at.options.chunk_size < 0:
        raise UsageError(f"--chunk-size must not be negative: {at.options.chunk_size}")
    if not at.options.words and not at.options.filename:
        raise CommandFailed(
            "error: name the kind to describe, such as pods or deployment/web; fairlead"
            " api-resources"
            " lists all kinds"
        )
    failures: list[Exception] = []
    objects = [one async for one in _objects(at, failures)]
    if _may_be_prefix(at.options.words) and len(failures) == 1:
        missing = failures[0]
        if isinstance(missing, NotFound):
            return await _describe_matching(at, missing)
    if not objects and not failures:
        where = "" if at.options.all_namespaces else f" in {at.namespace} namespace."
        at.screen.warn(f"No resources found{where}")
    separator = ""
    async for text in _texts(at, objects, failures):
        at.screen.out.write(f"{separator}{text}")
        separator = "\n\n"
    if any(map(_waits_for_node, objects)):
        await tell_if_no_nodes(at)
    return _tell(at, failures)


def _waits_for_node(one: Described) -> bool:
    phase = (one.value.get("status") or {}).get("phase")
    placed = (one.value.get("spec") or {}).get("nodeName")
    return one.type.kind == "Pod" and phase == "Pending" and not placed


def _may_be_prefix(words: Sequence[str]) -> bool:
    """Whether the words are a kind and a single name, so that the name may be a prefix."""
    return len(words) == 2 and "/" not in words[0]


async def _objects(at: Invocation, failures: list[Exception]) -> AsyncIterator[Described]:
    """Yield all requested objects that exist; errors are added to `failures`."""
    for wanted in (await asked_by(at)).wanted:
        resource = await _known(at, wanted.resource)
        asked = Wanted(resource, wanted.name, wanted.namespace, wanted.labels)
        try:
            async for page in asked.pages(JSON, at.options.chunk_size):
                for value in [page] if asked.name else page.get("items") or ():
                    yield Described(resource.type, value)
        except ApiError as error:
            failures.append(error)


async def _known(at: Invocation, resource: Resource) -> Resource:
    """The resource in the version that its layout supports, if the server serves that version."""
    from fairlead.cli.describe.layout import layout_of

    type = resource.type
    wanted = layout_of(type, await at.client.discovery.dialect()).version
    if wanted and wanted != type.version:
        for other in await at.client.discovery.resources(type.group, wanted):
            if other.kind == type.kind:
                return at.client.of(other)
    return resource


async def _describe_matching(at: Invocation, missing: NotFound) -> int:
    """Describe all objects whose name begins with the word; raises `missing` if there are none."""
    kind, prefix = at.options.words
    if "," in kind:
        raise CommandFailed("error: a name prefix works with one kind only")
    resource = await _known(at, await at.client.resource(kind))
    answer = await resource.list(at.namespace, limit=at.options.chunk_size)
    matching = [
        Described(resource.type, item)
        for item in answer["items"]
        if str((item.get("metadata") or {}).get("name")).startswith(prefix)
    ]
    if not matching:
        raise missing
    failures: list[Exception] = []
    async for text in _texts(at, matching, failures):
        at.screen.print(text)
    return _tell(at, failures)


async def _texts(
    at: Invocation, objects: Sequence[Described], failures: list[Exception]
) -> AsyncIterator[str]:
    """Yield the descriptions in the order of the objects; errors are added to `failures`."""
    from fairlead.cli.describe.describer import Describer, in_order

    dialect = await at.client.discovery.dialect()
    describer = Describer(at.client, dialect, at.options.chunk_size, at.options.show_events)

    async def describe(one: Described) -> str | Exception:
        try:
            return await describer.describe(one.type, one.value)
        except _EXPECTED as error:
            return error

    async for result in in_order(describe, objects):
        if isinstance(result, str):
            yield result
        else:
            failures.append(result)


def _tell(at: Invocation, failures: Sequence[Exception]) -> int:
    """Print each distinct error once; return the exit code."""
    at.screen.flush()
    texts = (str(one) if isinstance(one, CommandFailed) else worded(one) for one in failures)
    for text in dict.fromkeys(texts):
        at.screen.warn(text)
    return int(bool(failures))
