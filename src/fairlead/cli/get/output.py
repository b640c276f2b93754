"""Shows objects once: tables page by page, documents as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import groupby
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from fairlead.base.terminal import unguarded
from fairlead.cli import error_messages, similar_objects
from fairlead.cli.get.requests import ObjectQueries, ObjectQuery, first_page
from fairlead.cli.invocation import Invocation, Screen
from fairlead.cli.output import live
from fairlead.cli.output.tables import Layout, TableText, as_table
from fairlead.client import ApiError, ResourceType, UnknownResource, Unreachable
from fairlead.client.errors import NotFound
from fairlead.client.resources import TABLE
from fairlead.client.session import JSON

if TYPE_CHECKING:
    from fairlead.cli.output.printers import Printer
    from fairlead.cli.output.sort import Order

Object = dict[str, Any]
Begun = tuple[ObjectQuery, Object, AsyncIterator[Object]]

_MAX_CONCURRENT = 8
_PROGRESS_DELAY = 1.0  # seconds until it appears


class Failures:
    """Collects errors to print at the end, after all other objects."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._texts: dict[str, None] = {}

    def add(self, error: ApiError) -> None:
        if not (self._invocation.options.ignore_not_found and isinstance(error, NotFound)):
            self._texts[error_messages.error_text(error)] = None

    def hint(self, text: str) -> None:
        """Print this after the errors so far, if it is not empty."""
        if text and not self._invocation.options.ignore_not_found:
            self._texts[text] = None

    def exit_code(self) -> int:
        """Print the errors; return the exit code."""
        self._invocation.screen.flush()
        for text in self._texts:
            self._invocation.screen.warn(text)
        return int(bool(self._texts))

    def __bool__(self) -> bool:
        return bool(self._texts)


def accepted(invocation: Invocation) -> str:
    """The media type to request: tables, or JSON with --server-print=false."""
    return TABLE if invocation.options.server_print else JSON


def table_layout(invocation: Invocation, type: ResourceType, with_kind: bool) -> Layout:
    options = invocation.options
    kind = f"{type.kind}.{type.group}" if type.group else type.kind
    return Layout(
        wide=options.output == "wide",
        headers=not options.no_headers,
        labels=options.show_labels,
        label_columns=tuple(name for text in options.label_columns for name in text.split(",")),
        namespaces=options.all_namespaces and type.namespaced,
        kind=kind.lower() if with_kind or options.show_kind else "",
        events=options.output_watch_events,
    )


async def show_tables(invocation: Invocation, queries: ObjectQueries, order: Order | None) -> int:
    failures = Failures(invocation)
    limit = 0 if order else invocation.options.chunk_size
    query = {"includeObject": "Object"} if order else {}
    begun = await _begun(queries.items, failures, accepted(invocation), limit, query)
    kinds = {(query.resource.type.group, query.resource.type.kind) for query, _, _ in begun}
    count, has_pending = 0, False
    last: tuple[ResourceType, TableText] | None = None
    with Progress(invocation.screen) as progress:
        for type, pages in _tables(begun):
            if last is None or last[0] is not type:
                last = (
                    type,
                    TableText(table_layout(invocation, type, len(kinds) > 1), invocation.screen),
                )
                is_new = True
            try:
                async for page in pages:
                    text = last[1].text(_sorted(page, order))
                    has_pending = has_pending or (type.kind == "Pod" and _has_pending(page))
                    progress.clear()
                    if text and is_new and count and not invocation.options.no_headers:
                        invocation.screen.print()
                    is_new = is_new and not text
                    invocation.screen.out.write(text)
                    count += len(text)
                    progress.seen(page)
            except ApiError as error:
                failures.add(error)
    if not count and not failures and not invocation.options.ignore_not_found:
        _report_nothing(invocation, [query.resource.type for query in queries.items])
    if has_pending:
        await warn_if_no_nodes(invocation)
    return failures.exit_code()


def _has_pending(table: Object) -> bool:
    names = [column.get("name") for column in table.get("columnDefinitions") or ()]
    index = names.index("Status") if "Status" in names else -1
    return index >= 0 and any(row["cells"][index] == "Pending" for row in table.get("rows") or ())


async def warn_if_no_nodes(invocation: Invocation) -> None:
    """Print a hint for Pending pods if there are no nodes and the output is a terminal."""
    if not invocation.screen.errors.isatty():
        return
    try:
        nodes = await (await invocation.client.resource("nodes")).list(limit=1)
    except (ApiError, UnknownResource, Unreachable):  # no hint without an answer
        return
    if not nodes.get("items"):
        invocation.screen.flush()
        invocation.screen.warn(
            "The pods are Pending because there is no node. `fairlead serve --simulate-nodes 3`"
            " starts a server with three simulated nodes."
        )


async def show_documents(
    invocation: Invocation, queries: ObjectQueries, printer: Printer, order: Order | None
) -> int:
    failures = Failures(invocation)
    items: list[Object] = []
    limit = invocation.options.chunk_size
    with Progress(invocation.screen) as progress:
        for query, page, following in await _begun(queries.items, failures, JSON, limit, {}):
            try:
                async for part in _chained(page, following):
                    items += objects_of(part) if not query.name else [part]
                    progress.seen(part)
            except ApiError as error:
                failures.add(error)
    if (not items and invocation.options.ignore_not_found) or (queries.is_single and not items):
        return failures.exit_code()
    if order is not None:
        order.sort(items, lambda item: item)
    value = items[0] if queries.is_single else as_list(items)
    invocation.screen.out.write(printer(value))
    return failures.exit_code()


def as_list(items: Sequence[Object]) -> Object:
    """Objects of any kinds as one List."""
    return {
        "apiVersion": "v1",
        "items": list(items),
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }


def objects_of(page: Object) -> list[Object]:
    """The objects of a list, with apiVersion and kind set, which list items lack."""
    kind, version = str(page.get("kind", "")).removesuffix("List"), page.get("apiVersion")
    items = page.get("items") or []
    for item in items:
        item.setdefault("apiVersion", version)
        item.setdefault("kind", kind)
    return items


async def _begun(
    queries: Sequence[ObjectQuery], failures: Failures, accept: str, limit: int, query: Object
) -> list[Begun]:
    """Request the first pages of all, up to 8 at a time."""
    room = asyncio.Semaphore(_MAX_CONCURRENT)

    async def begin(object_query: ObjectQuery) -> Begun | ApiError:
        async with room:
            try:
                return object_query, *await first_page(object_query, accept, limit, **query)
            except ApiError as error:
                return error

    begun: list[Begun] = []
    results = await asyncio.gather(*map(begin, queries))
    for object_query, result in zip(queries, results, strict=True):
        if isinstance(result, ApiError):
            failures.add(result)
            if isinstance(result, NotFound) and object_query.name:
                missing = object_query
                hint = await similar_objects.hint(missing.resource, missing.name, missing.namespace)
                failures.hint(hint)
        else:
            begun.append(result)
    return begun


def _tables(begun: Sequence[Begun]) -> Iterator[tuple[ResourceType, AsyncIterator[Object]]]:
    """Tables by kind: lists page by page; consecutive named objects of one kind as one table, so
    that they are aligned and sorted together."""
    for (type, is_named), group in groupby(
        begun, lambda entry: (entry[0].resource.type, bool(entry[0].name))
    ):
        if is_named:
            yield type, _merged([page for _, page, _ in group])
            continue
        for _, page, following in group:
            yield type, _each_as_table(_chained(page, following))


async def _merged(objects: Sequence[Object]) -> AsyncIterator[Object]:
    tables = [as_table(value) for value in objects]
    yield {**tables[0], "rows": [row for table in tables for row in table.get("rows") or ()]}


async def _each_as_table(pages: AsyncIterator[Object]) -> AsyncIterator[Object]:
    async for page in pages:
        yield as_table(page)


async def _chained(page: Object, following: AsyncIterator[Object]) -> AsyncIterator[Object]:
    yield page
    async for part in following:
        yield part


def _sorted(table: Object, order: Order | None) -> Object:
    if order is not None:
        order.sort(table.get("rows") or [], lambda row: row.get("object") or {})
    return table


def _report_nothing(invocation: Invocation, types: Sequence[ResourceType]) -> None:
    namespaced = not invocation.options.all_namespaces and all(type.namespaced for type in types)
    where = f" in {invocation.namespace} namespace." if namespaced else ""
    invocation.screen.flush()
    invocation.screen.warn(f"No resources found{where}")


# Progress of long lists


class Progress:
    """A transient progress line on standard error. Shown only after a second, if output and errors
    both go to a terminal."""

    def __init__(self, screen: Screen) -> None:
        self._is_shown = screen.is_terminal and screen.errors.isatty()
        self._screen = screen
        self._begin = monotonic()
        self._count = 0
        self._bar: live.ProgressBar | None = None

    def seen(self, page: dict[str, Any]) -> None:
        """Count a page of a list. Call `clear` before printing anything else."""
        metadata = page.get("metadata") or {}
        self._count += len(page.get("items") or page.get("rows") or ())
        more = metadata.get("continue")
        if not self._is_shown or not more or monotonic() - self._begin < _PROGRESS_DELAY:
            return
        remaining = metadata.get("remainingItemCount")
        self._show(self._count + remaining if isinstance(remaining, int) else None)

    def _show(self, total: int | None) -> None:
        self._screen.flush()
        if self._bar is None:
            self._bar = live.ProgressBar(unguarded(self._screen.errors), total)
        self._bar.show(self._count, total)

    def clear(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.clear()
