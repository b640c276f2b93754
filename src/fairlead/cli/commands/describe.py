"""Show objects in detail, with what belongs to them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import add_file_flags
from fairlead.cli.refusals import worded
from fairlead.client import ApiError, Resource, ResourceType, Unreachable
from fairlead.client.errors import NotFound
from fairlead.client.resources import PAGE, Object

_AT_ONCE = 8  # objects that are asked about
Item = TypeVar("Item")
Result = TypeVar("Result")
_EXPECTED = (ApiError, Unreachable, CommandFailed)


class Described(NamedTuple):
    """An object to describe."""

    type: ResourceType
    value: Object


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND [NAME | PREFIX] | KIND/NAME", nargs="*")
    parser.add_switch("-A", "--all-namespaces", help="objects of all namespaces")
    parser.add_argument("-l", "--selector", metavar="LABELS", help="only objects with these labels")
    add_file_flags(parser, "describe")
    parser.add_switch("--show-events", help="show the events of objects too", default=True)
    parser.add_argument(
        "--chunk-size",
        metavar="NUMBER",
        type=int,
        default=PAGE,
        help="how many objects of a long list are asked for at a time; 0 for all",
    )


async def run(at: Invocation) -> int:
    _check(at)
    failures: list[Exception] = []
    objects = await _objects(at, failures)
    if failures and len(at.options.words) == 2 and isinstance(failures[0], NotFound):
        return await _describe_matching(at, failures[0])
    if not objects and not failures:
        where = "" if at.options.all_namespaces else f" in {at.namespace} namespace."
        at.screen.warn(f"No resources found{where}")
    separator = ""
    async for text in _texts(at, objects, failures):
        at.screen.out.write(f"{separator}{text}")
        separator = "\n\n"
    return _tell(at, failures)


def _check(at: Invocation) -> None:
    """Raises UsageError and CommandFailed for words that contradict each other."""
    options = at.options
    if options.chunk_size < 0:
        raise UsageError(f"--chunk-size must not be negative: {options.chunk_size}")
    if not options.words and not options.filename:
        raise CommandFailed(
            "error: You must specify the type of resource to describe. Use"
            ' "fairlead api-resources" for a complete list of supported resources.'
        )
    if options.words and options.filename:
        raise CommandFailed(
            "error: when paths, URLs, or stdin is provided as input, you may not specify resource"
            " arguments as well"
        )
    named = len(options.words) > 1 or any("/" in word for word in options.words)
    if named and options.selector:
        raise CommandFailed("error: name cannot be provided when a selector is specified")
    if named and options.all_namespaces:
        raise CommandFailed("error: a resource cannot be retrieved by name across all namespaces")


async def _objects(at: Invocation, failures: list[Exception]) -> list[Described]:
    if at.options.filename:
        return await _of_files(at, failures)
    from fairlead.cli.targets import targets_of

    found: list[Described] = []
    for target in await targets_of(at.client, at.options.words):
        resource = await _known(at, target.resource)
        if not target.names:
            found += await _listed(at, resource, failures)
        for name in target.names:
            found += await _named(resource, name, at.namespace, failures)
    return found


async def _known(at: Invocation, resource: Resource) -> Resource:
    """The resource in the version that the layout of its kind knows, if the server has it."""
    from fairlead.cli.describing.layouts import layout_of

    type = resource.type
    wanted = layout_of(type, await at.client.discovery.dialect()).version
    if wanted and wanted != type.version:
        for other in await at.client.discovery.resources(type.group, wanted):
            if other.kind == type.kind:
                return at.client.of(other)
    return resource


async def _listed(at: Invocation, resource: Resource, failures: list[Exception]) -> list[Described]:
    query = {"labelSelector": at.options.selector} if at.options.selector else {}
    namespace = "" if at.options.all_namespaces else at.namespace
    try:
        answer = await resource.list(namespace, limit=at.options.chunk_size, **query)
    except ApiError as error:
        failures.append(error)
        return []
    return [Described(resource.type, item) for item in answer["items"]]


async def _named(
    resource: Resource, name: str, namespace: str, failures: list[Exception]
) -> list[Described]:
    try:
        return [Described(resource.type, await resource.get(name, namespace))]
    except ApiError as error:
        failures.append(error)
        return []


async def _of_files(at: Invocation, failures: list[Exception]) -> list[Described]:
    from fairlead.cli.manifests import manifests

    found: list[Described] = []
    for manifest in manifests(at.options.filename, at.options.recursive):
        resource = await _known(at, await at.client.resource_of(manifest.value))
        metadata = manifest.value.get("metadata") or {}
        namespace = str(metadata.get("namespace") or at.namespace)
        found += await _named(resource, str(metadata.get("name") or ""), namespace, failures)
    return found


async def _describe_matching(at: Invocation, missing: NotFound) -> int:
    """All whose names begin with a word that is nobody's name."""
    word, prefix = at.options.words
    resource = await _known(at, await at.client.resource(word))
    answer = await resource.list(at.namespace, limit=at.options.chunk_size)
    matching = [
        Described(resource.type, item)
        for item in answer["items"]
        if item["metadata"]["name"].startswith(prefix)
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
    """The descriptions in the order of the objects."""
    from fairlead.cli.describing.describer import Describer

    dialect = await at.client.discovery.dialect()
    describer = Describer(at.client, dialect, at.options.chunk_size, at.options.show_events)

    async def describe(one: Described) -> str | Exception:
        try:
            return await describer.describe(one.type, one.value)
        except _EXPECTED as error:
            return error

    async for result in _in_order(describe, objects):
        if isinstance(result, str):
            yield result
        else:
            failures.append(result)


async def _in_order(
    work: Callable[[Item], Awaitable[Result]], items: Sequence[Item]
) -> AsyncIterator[Result]:
    """What comes of some work on each item, a few of them at a time."""
    running: deque[asyncio.Future[Result]] = deque()
    try:
        for item in items:
            if len(running) == _AT_ONCE:
                yield await running.popleft()
            running.append(asyncio.ensure_future(work(item)))
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()


def _tell(at: Invocation, failures: Sequence[Exception]) -> int:
    """Say each thing that went wrong once."""
    at.screen.flush()
    texts = (str(one) if isinstance(one, CommandFailed) else worded(one) for one in failures)
    for text in dict.fromkeys(texts):
        at.screen.warn(text)
    return int(bool(failures))
