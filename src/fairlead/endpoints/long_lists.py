"""Writing long lists in steps: in any form, a step takes a few milliseconds and others have their
turn in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from itertools import chain
from time import perf_counter
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import orjson

from fairlead.endpoints.answers import encode
from fairlead.endpoints.from_bytes import can_write, item_writer
from fairlead.endpoints.kept_messages import is_binary, message_maker
from fairlead.endpoints.negotiation import YAML, Representation
from fairlead.endpoints.representing import metadata_only, read, table, untyped
from fairlead.http.exchange import Turn
from fairlead.kinds.resources import Resource, Resources
from fairlead.operations.api import Object
from fairlead.schema.model import ListOf, Struct
from fairlead.serialization.messages.writing import heads, writer
from fairlead.serialization.protobuf import envelope_around
from fairlead.serialization.wire import BYTES, key, varint
from fairlead.storage.version import Version

STEP_SECONDS = 0.001
_STEP_PIECES = 10  # that could be sent within a step
PIECE_BYTES = 256 * 1024
_LOOK_BYTES = 16 * 1024


T = TypeVar("T")


class _Layout(NamedTuple, Generic[T]):
    """How a list is put together: what stands before, between and behind its items."""

    opening: bytes
    item: Callable[[T], bytes]
    between: bytes
    closing: bytes


class _List(NamedTuple):
    """A list without its items: its other fields, the field of the items, and what becomes of
    each object in it."""

    head: Object
    field: str
    item: Callable[[Object], Object]


def encoded_versions(
    resources: Resources,
    resource: Resource,
    versions: Iterable[Version],
    metadata: Object,
    representation: Representation,
    include: str = "Metadata",
    turn: Turn | None = None,
) -> AsyncGenerator[bytes]:
    """The pieces of a list of stored objects, which are not read where their bytes will do."""
    if is_binary(resource, representation):
        listed = _listed(resources, resource, metadata, representation, include)
        made = message_maker(resource, representation)
        return _message(resources, listed, made, versions, turn)
    if not can_write(resource, representation):
        values = (read(resource, version) for version in versions)
        return encoded_list(resources, resource, values, metadata, representation, include, turn)
    listed = _listed(resources, resource, metadata, representation, include)
    opening, _, between, closing = _json_layout(listed)
    item = item_writer(resource, representation, include)
    return _text(_Layout(opening, item, between, closing), iter(versions), turn)


async def encoded_list(
    resources: Resources,
    resource: Resource,
    values: Iterable[Object],
    metadata: Object,
    representation: Representation,
    include: str = "Metadata",
    turn: Turn | None = None,
) -> AsyncGenerator[bytes]:
    """The pieces of a list answer, with the same bytes as if it had been encoded at once. At most
    a piece is held at a time; in protobuf, which tells its length first, all of them are.
    `values` carry kind and apiVersion and may be made while they are asked for. `turn` is waited
    for before each step."""
    listed = _listed(resources, resource, metadata, representation, include)
    values = iter(values)
    first = next(values, None)
    if first is None:
        yield encode({**listed.head, listed.field: []}, representation, resources)
        return
    values = chain((first,), values)
    if listed.field == "rows":
        values = await _in_order(resource, resources, values, turn)
    if is_binary(resource, representation):
        write = writer(_element(resources, listed))
        pieces = _message(resources, listed, lambda value: write(listed.item(value)), values, turn)
    else:
        pieces = _text(_layout(representation, listed), map(listed.item, values), turn)
    async for piece in pieces:
        yield piece


def _listed(
    resources: Resources,
    resource: Resource,
    metadata: Object,
    representation: Representation,
    include: str,
) -> _List:
    dialect = resources.dialect
    meta_version = f"{dialect.meta_group}/{representation.version}"
    if representation.transform == "Table":
        head = table(dialect, resource, [], representation, include, metadata)
        del head["rows"]

        def row(value: Object) -> Object:
            made = table(dialect, resource, [value], representation, include, {}, False)
            found: Object = made["rows"][0]
            return found

        return _List(head, "rows", row)
    if representation.transform:
        head = {"kind": "PartialObjectMetadataList", "apiVersion": meta_version}
        version = representation.version
        return _List(
            {**head, "metadata": metadata},
            "items",
            lambda value: metadata_only(dialect, value, version),
        )
    head = {"kind": resource.list_kind, "apiVersion": resource.api_version}
    if resource.custom is not None:
        return _List({**head, "metadata": {"continue": "", **metadata}}, "items", _as_it_is)
    return _List({**head, "metadata": metadata}, "items", untyped)


def _as_it_is(value: Object) -> Object:
    return value


async def _in_order(
    resource: Resource, resources: Resources, values: Iterable[Object], turn: Turn | None
) -> Iterable[Object]:
    """The objects in the order of their Table, if it has one of its own."""
    from fairlead.kinds.printing import printer_of

    order = printer_of(resource).order
    if order is None:
        return values
    found = [value async for group in _in_steps(values, turn) for value in group]
    return sorted(found, key=order)


async def _in_steps(values: Iterable[Object], turn: Turn | None) -> AsyncIterator[list[Object]]:
    """Values in groups that take one step each to make."""
    group: list[Object] = []
    end = perf_counter() + STEP_SECONDS
    for value in values:
        group.append(value)
        if perf_counter() >= end:
            yield group
            await rest(turn)
            group, end = [], perf_counter() + STEP_SECONDS
    yield group


def _layout(representation: Representation, listed: _List) -> _Layout[Object]:
    if representation.media_type == YAML:
        return _yaml_layout(listed)
    if not representation.pretty:
        return _json_layout(listed)
    frame = orjson.dumps({**listed.head, listed.field: []}, option=orjson.OPT_INDENT_2)
    opening = frame.removesuffix(b"]\n}") + b"\n    "
    return _Layout(opening, _indented, b",\n    ", b"\n  ]\n}\n")


def _json_layout(listed: _List) -> _Layout[Object]:
    frame = orjson.dumps({**listed.head, listed.field: []})
    return _Layout(frame[:-2], orjson.dumps, b",", b"]}\n")


def _indented(item: Object) -> bytes:
    # No line break of a document stands in a text: those are escaped.
    return orjson.dumps(item, option=orjson.OPT_INDENT_2).replace(b"\n", b"\n    ")


def _yaml_layout(listed: _List) -> _Layout[Object]:
    from fairlead.serialization.yaml_writing import dump, dump_item

    before = {name: item for name, item in listed.head.items() if name < listed.field}
    behind = {name: item for name, item in listed.head.items() if name > listed.field}
    closing = dump(behind) if behind else b""
    return _Layout(dump(before) + f"{listed.field}:\n".encode(), dump_item, b"", closing)


async def _text(layout: _Layout[T], items: Iterator[T], turn: Turn | None) -> AsyncGenerator[bytes]:
    piece = [layout.opening]
    between = b""
    while True:
        async with _turn():
            more = _step(layout, items, piece, between)
        if not more:
            break
        yield b"".join(piece)
        await rest(turn)
        piece, between = [], layout.between
    piece.append(layout.closing)
    yield b"".join(piece)


def _step(layout: _Layout[T], items: Iterator[T], piece: list[bytes], between: bytes) -> bool:
    """Add encoded items to a piece until it is large or took its time; whether it ended so."""
    size = 0
    end = perf_counter() + STEP_SECONDS
    for item in items:
        encoded = layout.item(item)
        piece += (between, encoded)
        between = layout.between
        size += len(encoded)
        if size >= PIECE_BYTES or perf_counter() >= end:
            return True
    return False


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def rest(turn: Turn | None) -> None:
    """Between two steps."""
    await (turn(_STEP_PIECES) if turn is not None else asyncio.sleep(0))


def _turn() -> asyncio.Lock:
    """Held during a step: however many lists are written, others wait for one step of one."""
    return _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())


async def _message(
    resources: Resources,
    listed: _List,
    made: Callable[[T], bytes],
    values: Iterable[T],
    turn: Turn | None,
) -> AsyncGenerator[bytes]:
    """A list from the messages of its items."""
    head = listed.head
    struct = _struct(resources, listed)
    item_key = key(struct.fields[listed.field].number, BYTES)
    pieces, piece = [], [writer(struct)(head)]
    left = iter(values)
    while True:
        async with _turn():
            more = _message_step(item_key, map(made, left), piece)
        pieces.append(b"".join(piece))
        if not more:
            break
        await rest(turn)
        piece = []
    opening, closing = envelope_around(head["apiVersion"], head["kind"], sum(map(len, pieces)))
    yield opening
    for encoded in pieces:
        yield encoded
    yield closing


def _message_step(item_key: bytes, messages: Iterator[bytes], piece: list[bytes]) -> bool:
    """As `_step`, with a look at the clock whenever some bytes came together: most messages are
    kept and take no time."""
    known = heads(item_key)
    size = looked = 0
    end = perf_counter() + STEP_SECONDS
    for message in messages:
        length = len(message)
        piece += (known[length] if length < 0x80 else item_key + varint(length), message)
        size += length
        if size - looked > _LOOK_BYTES:
            looked = size
            if size >= PIECE_BYTES or perf_counter() >= end:
                return True
    return False


def _struct(resources: Resources, listed: _List) -> Struct:
    struct = resources.struct_of(listed.head["apiVersion"], listed.head["kind"])
    assert struct is not None, listed.head["kind"]
    return struct


def _element(resources: Resources, listed: _List) -> Struct:
    """The type of the items."""
    found = _struct(resources, listed).fields[listed.field].type
    assert isinstance(found, ListOf)
    assert isinstance(found.element, Struct)
    return found.element
