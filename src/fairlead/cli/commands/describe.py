"""`describe`: shows objects in detail, with related objects and events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.describe.describer import Describer, run_in_order
from fairlead.cli.describe.layout import layout_of
from fairlead.cli.error_messages import error_text
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.get.output import warn_if_no_nodes
from fairlead.cli.get.requests import ObjectQuery, parse_queries
from fairlead.cli.invocation import Invocation
from fairlead.client import ApiError, Resource, ResourceType, Unreachable
from fairlead.client.errors import NotFound
from fairlead.client.resources import PAGE, Object
from fairlead.client.session import JSON

_EXPECTED = (ApiError, Unreachable, CommandFailed)


class DescribedObject(NamedTuple):
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
    parser.set_defaults(field_selector="", subresource="")  # read by `parse_queries`; no flags here


async def run(invocation: Invocation) -> int:
    if invocation.options.chunk_size < 0:
        raise UsageError(f"--chunk-size must not be negative: {invocation.options.chunk_size}")
    if not invocation.options.words and not invocation.options.filename:
        raise CommandFailed(
            "error: name the kind to describe, such as pods or deployment/web; fairlead"
            " api-resources"
            " lists all kinds"
        )
    failures: list[Exception] = []
    objects = [resolved async for resolved in _objects(invocation, failures)]
    if _may_be_prefix(invocation.options.words) and len(failures) == 1:
        missing = failures[0]
        if isinstance(missing, NotFound):
            return await _describe_matching(invocation, missing)
    if not objects and not failures:
        where = (
            "" if invocation.options.all_namespaces else f" in {invocation.namespace} namespace."
        )
        invocation.screen.warn(f"No resources found{where}")
    separator = ""
    async for text in _texts(invocation, objects, failures):
        invocation.screen.out.write(f"{separator}{text}")
        separator = "\n\n"
    if any(map(_waits_for_node, objects)):
        await warn_if_no_nodes(invocation)
    return _report(invocation, failures)


def _waits_for_node(described: DescribedObject) -> bool:
    phase = (described.value.get("status") or {}).get("phase")
    placed = (described.value.get("spec") or {}).get("nodeName")
    return described.type.kind == "Pod" and phase == "Pending" and not placed


def _may_be_prefix(words: Sequence[str]) -> bool:
    """Whether the words are a kind and a single name, so that the name may be a prefix."""
    return len(words) == 2 and "/" not in words[0]


async def _objects(
    invocation: Invocation, failures: list[Exception]
) -> AsyncIterator[DescribedObject]:
    """Yield all requested objects that exist; errors are added to `failures`."""
    for query in (await parse_queries(invocation)).items:
        resource = await _supported_version(invocation, query.resource)
        versioned = ObjectQuery(resource, query.name, query.namespace, query.labels)
        try:
            async for page in versioned.pages(JSON, invocation.options.chunk_size):
                for value in [page] if versioned.name else page.get("items") or ():
                    yield DescribedObject(resource.type, value)
        except ApiError as error:
            failures.append(error)


async def _supported_version(invocation: Invocation, resource: Resource) -> Resource:
    """The resource in the version that its layout supports, if the server serves that version."""
    type = resource.type
    version = layout_of(type, await invocation.client.discovery.dialect()).version
    if version and version != type.version:
        for other in await invocation.client.discovery.resources(type.group, version):
            if other.kind == type.kind:
                return invocation.client.of(other)
    return resource


async def _describe_matching(invocation: Invocation, missing: NotFound) -> int:
    """Describe all objects whose name begins with the word; raises `missing` if there are none."""
    kind, prefix = invocation.options.words
    if "," in kind:
        raise CommandFailed("error: a name prefix works with one kind only")
    resource = await _supported_version(invocation, await invocation.client.resource(kind))
    answer = await resource.list(invocation.namespace, limit=invocation.options.chunk_size)
    matching = [
        DescribedObject(resource.type, item)
        for item in answer["items"]
        if str((item.get("metadata") or {}).get("name")).startswith(prefix)
    ]
    if not matching:
        raise missing
    failures: list[Exception] = []
    async for text in _texts(invocation, matching, failures):
        invocation.screen.print(text)
    return _report(invocation, failures)


async def _texts(
    invocation: Invocation, objects: Sequence[DescribedObject], failures: list[Exception]
) -> AsyncIterator[str]:
    """Yield the descriptions in the order of the objects; errors are added to `failures`."""
    dialect = await invocation.client.discovery.dialect()
    describer = Describer(
        invocation.client, dialect, invocation.options.chunk_size, invocation.options.show_events
    )

    async def describe(described: DescribedObject) -> str | Exception:
        try:
            return await describer.describe(described.type, described.value)
        except _EXPECTED as error:
            return error

    async for result in run_in_order(describe, objects):
        if isinstance(result, str):
            yield result
        else:
            failures.append(result)


def _report(invocation: Invocation, failures: Sequence[Exception]) -> int:
    """Print each distinct error once; return the exit code."""
    invocation.screen.flush()
    texts = (
        str(failure) if isinstance(failure, CommandFailed) else error_text(failure)
        for failure in failures
    )
    for text in dict.fromkeys(texts):
        invocation.screen.warn(text)
    return int(bool(failures))
