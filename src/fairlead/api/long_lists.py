"""Encodes lists in any representation, in steps of about a millisecond. Yields to the event loop
between steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate, chain
from time import perf_counter
from typing import NamedTuple, TypeVar

import orjson

from fairlead.api.answers import encode
from fairlead.api.negotiation import YAML, Representation
from fairlead.api.protobuf_cache import is_binary, message_fields
from fairlead.api.representation import metadata_only, read, table, untyped
from fairlead.api.stored_tables import Part, can_write, item_writer, row_adder
from fairlead.api.streamed_answers import PIECE_BYTES, STEP_SECONDS, Encoded, pause, step_lock
from fairlead.base import budget, meter
from fairlead.codec import yaml_writer
from fairlead.codec.messages.writer import writer
from fairlead.codec.protobuf import CONTENT, envelope_around
from fairlead.codec.protobuf_wire import delimited
from fairlead.codec.types.model import ListOf, Struct
from fairlead.operations.api import Object
from fairlead.resources.columns import registry as printers
from fairlead.resources.registry import Resource, Resources
from fairlead.storage.version import Version
from fairlead.wire.incoming.exchange import Turn

T = TypeVar("T")


class _Layout(NamedTuple):
    """The bytes before, between and after the items of a list, and the encoder of an item."""

    opening: bytes
    item: Callable[[Object], bytes]
    separator: bytes
    closing: bytes


class _ListTemplate(NamedTuple):
    """A list without its items: the other fields, the name of the items' field, and the conversion
    of each object to an item."""

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
) -> Encoded:
    """Encode a list of stored versions, from their bytes if the representation allows."""
    if is_binary(resource, representation):
        template = _template(resources, resource, metadata, representation, include)
        fields = message_fields(resource, representation, versions)
        return _message_list(resources, template, fields, turn)
    if not can_write(resource, representation):
        values = (read(resource, version) for version in versions)
        return encoded_list(resources, resource, values, metadata, representation, include, turn)
    template = _template(resources, resource, metadata, representation, include)
    opening, _, separator, closing = _json_layout(template)
    if template.field == "rows":
        add = row_adder(resource, representation, include)
    else:
        add = _adder(item_writer(resource, representation), separator)
    return Encoded(lambda _: _text(opening, partial(add, iter(versions)), separator, closing, turn))


def encoded_list(
    resources: Resources,
    resource: Resource,
    values: Iterable[Object],
    metadata: Object,
    representation: Representation,
    include: str = "Metadata",
    turn: Turn | None = None,
) -> Encoded:
    """Encode a list incrementally, with the same bytes as if encoded at once. Holds a piece at a
    time; for protobuf, whose length comes first, the whole list. `values` have kind and apiVersion
    and may be a lazy iterator. `turn` is awaited before each step."""
    template = _template(resources, resource, metadata, representation, include)
    if is_binary(resource, representation):
        write = writer(_element(resources, template))
        fields = (delimited(CONTENT, write(template.item(value))) for value in values)
        return _message_list(resources, template, fields, turn)
    return Encoded(lambda _: _values(resources, resource, template, values, representation, turn))


async def _values(
    resources: Resources,
    resource: Resource,
    template: _ListTemplate,
    values: Iterable[Object],
    representation: Representation,
    turn: Turn | None,
) -> AsyncGenerator[bytes]:
    values = iter(values)
    first_value = next(values, None)
    if first_value is None:
        yield encode({**template.head, template.field: []}, representation, resources)
        return
    values = chain((first_value,), values)
    if template.field == "rows":
        values = await _in_order(resource, values, turn)
    opening, item, separator, closing = _layout(representation, template)
    add = partial(_adder(item, separator), map(template.item, values))
    is_slow = representation.media_type == YAML  # one item may exceed a step: use a thread
    async for piece in _text(opening, add, separator, closing, turn, is_slow):
        yield piece


def _template(
    resources: Resources,
    resource: Resource,
    metadata: Object,
    representation: Representation,
    include: str,
) -> _ListTemplate:
    dialect = resources.dialect
    meta_version = f"{dialect.meta_group}/{representation.version}"
    if representation.transform == "Table":
        head = table(dialect, resource, [], representation, include, metadata)
        del head["rows"]

        def row(value: Object) -> Object:
            row_table = table(dialect, resource, [value], representation, include, {}, False)
            row_object: Object = row_table["rows"][0]
            return row_object

        return _ListTemplate(head, "rows", row)
    if representation.transform:
        head = {"kind": "PartialObjectMetadataList", "apiVersion": meta_version}
        version = representation.version
        return _ListTemplate(
            {**head, "metadata": metadata},
            "items",
            lambda value: metadata_only(dialect, value, version),
        )
    head = {"kind": resource.list_kind, "apiVersion": resource.api_version}
    if resource.custom is not None:
        return _ListTemplate(
            {**head, "metadata": {"continue": "", **metadata}}, "items", _unchanged
        )
    return _ListTemplate({**head, "metadata": metadata}, "items", untyped)


def _unchanged(value: Object) -> Object:
    return value


async def _in_order(
    resource: Resource, values: Iterable[Object], turn: Turn | None
) -> Iterable[Object]:
    """The objects in the sort order of their Table, if the printer defines one."""
    order = printers.printer_of(resource).order
    if order is None:
        return values
    objects = [value async for group in _in_steps(values, turn) for value in group]
    return sorted(objects, key=order)


async def _in_steps(values: Iterable[Object], turn: Turn | None) -> AsyncIterator[list[Object]]:
    """Split the values into groups that take one step each to produce."""
    group: list[Object] = []
    end = perf_counter() + STEP_SECONDS
    for value in values:
        group.append(value)
        if perf_counter() >= end:
            yield group
            await pause(turn)
            group, end = [], perf_counter() + STEP_SECONDS
    yield group


def _layout(representation: Representation, template: _ListTemplate) -> _Layout:
    if representation.media_type == YAML:
        return _yaml_layout(template)
    if not representation.pretty:
        return _json_layout(template)
    frame = orjson.dumps({**template.head, template.field: []}, option=orjson.OPT_INDENT_2)
    opening = frame.removesuffix(b"]\n}") + b"\n    "
    return _Layout(opening, _indented, b",\n    ", b"\n  ]\n}\n")


def _json_layout(template: _ListTemplate) -> _Layout:
    frame = orjson.dumps({**template.head, template.field: []})
    return _Layout(frame[:-2], orjson.dumps, b",", b"]}\n")


def _indented(item: Object) -> bytes:
    # Safe: line breaks inside of strings are escaped.
    return orjson.dumps(item, option=orjson.OPT_INDENT_2).replace(b"\n", b"\n    ")


def _yaml_layout(template: _ListTemplate) -> _Layout:
    fields_before = {name: item for name, item in template.head.items() if name < template.field}
    fields_after = {name: item for name, item in template.head.items() if name > template.field}
    closing = yaml_writer.dump(fields_after) if fields_after else b""
    return _Layout(
        yaml_writer.dump(fields_before) + f"{template.field}:\n".encode(),
        yaml_writer.dump_item,
        b"",
        closing,
    )


async def _text(
    opening: bytes,
    add: Callable[[list[Part], bytes], bool],
    separator: bytes,
    closing: bytes,
    turn: Turn | None,
    in_thread: bool = False,
) -> AsyncGenerator[bytes]:
    """Yield the pieces of a list. Each call of `add` appends the items of one step."""
    piece: list[Part] = [opening]
    prefix = b""  # before the first item of the step
    while True:
        async with step_lock():
            if in_thread:
                has_more = await budget.run(meter.MAX_BYTES_ON_LOOP + 1, add, piece, prefix)
            else:
                has_more = add(piece, prefix)
        if not has_more:
            break
        yield b"".join(piece)
        await pause(turn)
        piece, prefix = [], separator
    piece.append(closing)
    yield b"".join(piece)


def _adder(
    item: Callable[[T], bytes], separator: bytes
) -> Callable[[Iterator[T], list[Part], bytes], bool]:
    """A function that appends encoded items to a piece until the piece is full or the step is
    over."""

    def add(items: Iterator[T], piece: list[Part], prefix: bytes) -> bool:
        size, end = 0, perf_counter() + STEP_SECONDS
        for value in items:
            encoded = item(value)
            piece += (prefix, encoded)
            prefix = separator
            size += len(encoded)
            if size >= PIECE_BYTES or perf_counter() >= end:
                return True
        return False

    return add


def _message_list(
    resources: Resources, template: _ListTemplate, fields: Iterator[bytes], turn: Turn | None
) -> Encoded:
    struct, head = _struct(resources, template), template.head
    return Encoded(lambda encoded: message_list(encoded, struct, head, fields, turn))


def _struct(resources: Resources, template: _ListTemplate) -> Struct:
    struct = resources.struct_of(template.head["apiVersion"], template.head["kind"])
    assert struct is not None, template.head["kind"]
    return struct


def _element(resources: Resources, template: _ListTemplate) -> Struct:
    """The type of the items."""
    field_type = _struct(resources, template).fields[template.field].type
    assert isinstance(field_type, ListOf)
    assert isinstance(field_type.element, Struct)
    return field_type.element


# Lists as protobuf, from the encoded fields of their items


async def message_list(
    encoded: Encoded, struct: Struct, head: Object, fields: Iterator[bytes], turn: Turn | None
) -> AsyncGenerator[bytes]:
    """Yield the pieces of a list with this head. The length comes first, so all items are encoded
    before the first piece is sent; cached items are not copied until then."""
    parts = [writer(struct)(head)]
    while True:
        async with step_lock():
            has_more = _step(fields, parts)
        if not has_more:
            break
        await pause(turn)
    size = sum(map(len, parts))
    opening, closing = envelope_around(head["apiVersion"], head["kind"], size)
    encoded.size = len(opening) + size + len(closing)
    parts = [opening, *parts, closing]
    ends = list(accumulate(map(len, parts)))
    start = sent_bytes = 0
    while start < len(parts):
        end = bisect_left(ends, sent_bytes + PIECE_BYTES) + 1
        yield b"".join(parts[start:end])
        start, sent_bytes = end, ends[min(end, len(ends)) - 1]


def _step(fields: Iterator[bytes], parts: list[bytes]) -> bool:
    """Append fields until the time of a step is over; returns whether there may be more."""
    end = perf_counter() + STEP_SECONDS
    for field in fields:
        parts.append(field)
        if perf_counter() >= end:
            return True
    return False
