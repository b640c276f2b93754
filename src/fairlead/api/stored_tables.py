"""Writes Tables and metadata-only forms directly from stored bytes.

The encoded cells of a row are cached with the version (`storage/derived_cache.py`), with gaps for
ages, which change with time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Final

import orjson

from fairlead.api.negotiation import JSON, Representation
from fairlead.api.streamed_answers import PIECE_BYTES, STEP_SECONDS
from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.codec.types.times import Age, age_text, instant
from fairlead.operations.views import typed
from fairlead.resources.columns import registry as printers
from fairlead.resources.columns.model import Printer
from fairlead.resources.registry import Resource
from fairlead.storage.derived_cache import FORMS
from fairlead.storage.version import Version

Part = bytes | memoryview
# Writes one item of a list, or one row of a Table.
Item = Callable[[Version], bytes]
# Adds items from the iterator to a piece, writing the separator before the first. Returns True when
# the piece is full or the time of a step is over, False at the end of the items.
Add = Callable[[Iterator[Version], list[Part], bytes], bool]

_ROW_BYTES: Final = 250  # bytes; cost of writing a row, beside its object
_CACHED_ROW_BYTES, _AGED_BYTES = 250, 200  # memory overhead of a cached row and of each age in it


# A row up to its object: the bytes before the first age, then for each age its start time and the
# bytes after it. Plain tuples, because they are cheap for the garbage collector.
_CachedRow = tuple[bytes, tuple[tuple[int, bytes], ...]]


def can_write(resource: Resource, representation: Representation) -> bool:
    """Whether the representation can be written from stored bytes."""
    if (
        not representation.transform
        or representation.pretty
        or representation.media_type != JSON
        or not resource.sends_stored_bytes
    ):
        return False
    return representation.transform != "Table" or _printer(resource).order is None


def item_writer(resource: Resource, representation: Representation, include: str = "") -> Item:
    """A writer for the items of one answer. Ages are relative to the time of this call."""
    if representation.transform == "Table":
        rows = _Rows(resource, representation.version, include)

        def row(version: Version) -> bytes:
            parts: list[Part] = []
            rows.add(iter((version,)), parts, b"")
            return b"".join(parts)

        return row
    head = _metadata_head(resource.dialect, representation.version)
    return lambda version: b"".join((head, version.metadata, b"}"))


def row_adder(resource: Resource, representation: Representation, include: str) -> Add:
    """A writer for the rows of a Table that adds as many as fit into a step."""
    return _Rows(resource, representation.version, include).add


def table_of(
    version: Version,
    resource: Resource,
    representation: Representation,
    include: str,
    *,
    with_columns: bool = True,
) -> bytes:
    """A Table with the row of one object."""
    columns = [column.as_dict() for column in _printer(resource).columns] if with_columns else None
    return (
        b'{"kind":"Table","apiVersion":"%b","metadata":{"resourceVersion":"%b"},'
        b'"columnDefinitions":%b,"rows":[%b]}'
    ) % (
        f"{resource.dialect.meta_group}/{representation.version}".encode(),
        str(version.revision or "").encode(),  # empty for a dry run
        orjson.dumps(columns),
        item_writer(resource, representation, include)(version),
    )


def _metadata_head(dialect: Dialect, version: str) -> bytes:
    kind = f'"kind":"PartialObjectMetadata","apiVersion":"{dialect.meta_group}/{version}"'
    return f'{{{kind},"metadata":'.encode()


def _printer(resource: Resource) -> Printer:
    return printers.printer_of(resource)


class _Ages:
    """Formats ages relative to the time of creation; caches them by start time."""

    def __init__(self) -> None:
        self._now = instant(clock.now())
        self._texts: dict[int, bytes] = {}

    def since(self, start: int) -> bytes:
        text = self._texts.get(start)
        if text is None:
            text = self._texts[start] = age_text(start, self._now).encode()
        return text


class _Rows:
    """Writes the rows of a Table."""

    def __init__(self, resource: Resource, version: str, include: str) -> None:
        self._resource = resource
        self._printer = _printer(resource)
        self._is_builtin = resource.main.custom is None
        # The columns of a custom kind change with its definition, hence the printer itself is the
        # key.
        self._key = f"cells {resource.key}" if self._is_builtin else self._printer
        self._ages = _Ages()
        self._include = include
        self._head, self._closing = b"", b"null}"
        if include == "Metadata":
            self._head, self._closing = _metadata_head(resource.dialect, version), b"}}"
        elif include == "Object":
            self._head, self._closing = resource.head, b"}"

    def add(self, versions: Iterator[Version], piece: list[Part], separator: bytes) -> bool:
        ages, include, head, closing = self._ages, self._include, self._head, self._closing
        size, end = 0, perf_counter() + STEP_SECONDS
        for version, cached in FORMS.each(versions, self._key):
            cells: _CachedRow = cached or self._encoded_row(version)
            opening, aged = cells
            piece += (separator, opening)
            for start, text_after in aged:
                piece += (ages.since(start), text_after)
            if include == "Metadata":
                metadata = version.metadata
                piece += (head, metadata, closing)
                size += len(metadata)
            elif include == "Object":
                assert version.body is not None
                piece += (head, version.body, closing)
                size += len(version.body)
            else:
                piece.append(closing)
            separator = b","
            size += _ROW_BYTES
            if size >= PIECE_BYTES or (cached is None and perf_counter() >= end):
                return True
        return False

    def _encoded_row(self, version: Version) -> _CachedRow:
        if self._is_builtin:
            value = version.content()
        else:  # its columns may show kind and apiVersion
            value = typed(self._resource, version.object())
        conditions = self._printer.conditions(value) if self._printer.conditions else []
        closing = b',"conditions":' + orjson.dumps(conditions) if conditions else b""
        opening, *aged = _around_ages(self._printer.values(value), closing + b',"object":')
        cells = opening[1], tuple(aged)
        size = (
            _CACHED_ROW_BYTES + len(opening[1]) + sum(_AGED_BYTES + len(text) for _, text in aged)
        )
        FORMS.keep(version, self._key, cells, size)
        return cells


def _around_ages(values: list[Any], closing: bytes) -> list[tuple[int, bytes]]:
    """Encode a row with these cells, split at its ages. Each element holds the start time of an age
    and the bytes after it, up to the next; the first element holds the bytes before all ages."""
    parts: list[tuple[int, bytes]] = []
    age, text, start = 0, b'{"cells":[', 0
    for index, value in enumerate(values):
        if type(value) is Age:
            if start < index:
                text += orjson.dumps(values[start:index])[1:-1] + b","
            parts.append((age, text + orjson.dumps(value.before)[:-1]))
            age, text, start = value.start, orjson.dumps(value.behind)[1:], index + 1
            if start < len(values):
                text += b","
    parts.append((age, b"%b%b]%b" % (text, orjson.dumps(values[start:])[1:-1], closing)))
    return parts
