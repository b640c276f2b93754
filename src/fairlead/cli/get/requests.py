"""Translates the words and flags of a command to requests."""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairlead.cli import manifests
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.targets import Target, checked_name, targets_of
from fairlead.client import ApiError, Resource
from fairlead.client.errors import BadRequest, NotFound
from fairlead.client.session import Request

if TYPE_CHECKING:
    from fairlead.cli.manifests import Manifest

Object = dict[str, Any]


class ObjectQuery(NamedTuple):
    """A request for one object, or for all objects of a resource if `name` is empty."""

    resource: Resource
    name: str = ""
    namespace: str = ""  # empty for all namespaces
    labels: str = ""
    fields: str = ""
    subresource: str = ""

    async def pages(self, accept: str, limit: int, **query: Any) -> AsyncIterator[Object]:
        """The object, or the pages of the list; raises ApiError."""
        if self.name:
            path = self.resource.path(self.name, self.namespace, self.subresource)
            yield await self.resource.session.json(Request("GET", path, query, accept=accept))
            return
        query = {**self.selectors(), **query}
        try:
            async for page in self.resource.pages(
                self.namespace, limit=limit, accept=accept, **query
            ):
                yield page
        except (BadRequest, NotFound) as error:
            raise self._list_error(error) from None

    def selectors(self) -> dict[str, str]:
        parameters = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: text for name, text in parameters.items() if text}

    def _list_error(self, error: ApiError) -> ApiError:
        """The error with the failed list in its message."""
        type = self.resource.type
        name = f"{type.group}/{type.version}, Resource={type.name}"
        problem = f'Unable to list "{name}"'
        if self.labels or self.fields:
            problem = (
                f'{name} cannot be chosen by labels "{self.labels}" and fields "{self.fields}"'
            )
        message = f"{problem}: {error.message}"
        return error.__class__({**error.status, "message": message}, error.retry_after)


class ObjectQueries(NamedTuple):
    """All requests of a command. `is_single` if the result is one object, not a list."""

    items: Sequence[ObjectQuery]
    is_single: bool


async def parse_queries(invocation: Invocation) -> ObjectQueries:
    """Raises CommandFailed, UsageError and UnknownResource."""
    options = invocation.options
    if options.filename:
        found = manifests.manifests(options.filename, options.recursive)
        return await _in_files(invocation, found)
    targets = await targets_of(invocation.client, options.words)
    _check(invocation, targets)
    namespace = "" if options.all_namespaces else checked_name(invocation.namespace, "namespace")
    queries = [
        ObjectQuery(
            resource,
            name,
            namespace,
            options.selector,
            options.field_selector,
            options.subresource,
        )
        for resource, names in targets
        for name in names or ("",)
    ]
    return ObjectQueries(queries, len(queries) == 1 and bool(queries[0].name))


def _check(invocation: Invocation, targets: Sequence[Target]) -> None:
    """Raises CommandFailed if flags and words contradict each other."""
    options = invocation.options
    named = [target.resource.type for target in targets if target.names]
    if options.subresource and not named:
        raise _failed("--subresource is of single objects: name them")
    if named and (options.selector or options.field_selector):
        if "/" in options.words[0] or "," in options.words[0]:
            raise _failed("names and a selector contradict each other: give one of them")
        raise _failed("names and a selector contradict each other: give one of them")
    if options.all_namespaces and any(type.namespaced for type in named):
        raise _failed("a name cannot be used with -A: leave out one of them")


async def _in_files(invocation: Invocation, found: Sequence["Manifest"]) -> ObjectQueries:
    options = invocation.options
    if options.words:
        raise _failed("objects are given both by files (-f) and by name: use one of them")
    queries = []
    for value, origin in found:
        metadata = value.get("metadata") or {}
        name = metadata.get("name")
        if not isinstance(name, str) or not name:
            raise _failed(f"{origin}: an object has no name")
        resource = await invocation.client.resource_of(value)
        namespace = metadata.get("namespace") or invocation.namespace
        queries.append(
            ObjectQuery(
                resource, name, checked_name(str(namespace)), subresource=options.subresource
            )
        )
    is_single = len(options.filename) == 1 and options.filename[0] != "-"
    return ObjectQueries(queries, is_single and len(queries) == 1)


def _failed(text: str) -> CommandFailed:
    return CommandFailed(f"error: {text}")


async def first_page(
    object_query: ObjectQuery, accept: str, limit: int, **query: Any
) -> tuple[Object, AsyncIterator[Object]]:
    """The first page, and an iterator of the rest; raises ApiError."""
    pages = object_query.pages(accept, limit, **query)
    return await anext(pages), pages
