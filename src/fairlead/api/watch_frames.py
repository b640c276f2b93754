"""Encodes watch events in the negotiated representation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import orjson

from fairlead.api.answers import encode
from fairlead.api.negotiation import JSON, LIST, Representation
from fairlead.api.protobuf_cache import enveloped_message, is_binary
from fairlead.api.representation import metadata_only, table
from fairlead.api.stored_tables import can_write, item_writer, table_of
from fairlead.base.caches import memoized
from fairlead.codec.protobuf import watch_frame
from fairlead.codec.types.decode import zero
from fairlead.operations.api import Api, Object
from fairlead.operations.views import typed
from fairlead.resources.registry import Resource, from_stored
from fairlead.storage.metrics import WATCH_ENCODES
from fairlead.storage.version import ADDED, DELETED, MODIFIED, Change, Version
from fairlead.wire.incoming.exchange import chunk

_NO_KEYS: Final[Mapping[str, str]] = {}


@memoized()
def _frame_keys(form: str) -> Mapping[str, str]:
    """The keys under which a change caches its frames of a form, by type of event; shared by all
    watchers."""
    return {kind: f"{kind} {form}" for kind in (ADDED, MODIFIED, DELETED)}


@dataclass(frozen=True, slots=True)
class Wire:
    """The transfer framing of events. Streams of the same `form` share frames; `end` are the bytes
    that end a stream."""

    form: str
    wrap: Callable[[bytes], bytes]
    end: bytes = b""

    def last(self, event: bytes) -> bytes:
        """The last event, if there is one, followed by the end of the stream."""
        return self.wrap(event) + self.end if event else self.end


PIECES: Final = Wire("", lambda event: event)
CHUNKS: Final = Wire("in chunks", chunk)


class NoList(Exception):
    """The client requested lists, but an event is due: the stream ends without an error."""


class Frames(Protocol):
    """Encodes the events of a stream. `begin` sets the framing once, before any event."""

    @property
    def representation(self) -> Representation: ...

    @property
    def keys(self) -> Mapping[str, str]:
        """The cache keys of frames that all streams share and that need no conversion; empty if
        there are none."""

    def begin(self, wire: Wire) -> None: ...

    def frame(self, kind: str, change: Change) -> bytes:
        """An event with its framing."""

    def bookmark(self, revision: int, *, initial: bool = False) -> bytes:
        """A bookmark with its framing; `initial`: it ends the initial events."""

    def event(self, kind: str, value: Object) -> bytes:
        """An event without framing."""

    def last(self, event: bytes) -> bytes:
        """The bytes that end the stream: an event from `event` or nothing, and the end marker."""


class Framing:
    """Encodes events in one representation. Frames are encoded once and shared by all streams,
    except for Tables: only the first event of a stream has columns."""

    __slots__ = (
        "_api",
        "_columns_sent",
        "_include",
        "_resource",
        "_shared",
        "_wire",
        "_writes_bytes",
        "keys",
        "representation",
    )

    def __init__(
        self, api: Api, resource: Resource, representation: Representation, include: str
    ) -> None:
        self._api = api
        self._resource = resource
        self.representation = representation
        self._include = include
        self._wire = PIECES
        self._columns_sent = False
        self._writes_bytes = can_write(resource, representation)
        self._shared = self.keys = _NO_KEYS

    @property
    def _sends_stored_bytes(self) -> bool:
        is_plain = self.representation.media_type == JSON and not self.representation.transform
        return is_plain and self._resource.sends_stored_bytes

    def begin(self, wire: Wire) -> None:
        self._wire = wire
        form = f"{self._resource.api_version} {self.representation}"
        self._shared = _frame_keys(f"{form} {wire.form}")
        if self._sends_stored_bytes:
            self.keys = self._shared

    def frame(self, kind: str, change: Change) -> bytes:
        if self.representation.transform == "Table":
            return self._wrapped(self._table_frame(kind, change))
        self._check_transform()
        key = self._shared[kind]
        encoded = change.frames.get(key)
        if encoded is None:
            encoded = change.frames[key] = self._wrapped(self._frame(kind, change))
            WATCH_ENCODES.add(of=(change.resource,))
        return encoded

    def _check_transform(self) -> None:
        if self.representation.transform == LIST:
            raise NoList

    def _wrapped(self, event: bytes) -> bytes:
        return self._wire.wrap(event)

    def last(self, event: bytes) -> bytes:
        return self._wire.last(event)

    def _frame(self, kind: str, change: Change) -> bytes:
        body = _body(kind, change)
        if self._sends_stored_bytes:
            return b'{"type":"%s","object":%s%s}\n' % (kind.encode(), self._resource.head, body)
        if is_binary(self._resource, self.representation):
            version = _content(kind, change)
            message = enveloped_message(self._resource, self.representation, version)
            return watch_frame(kind, message)
        if self._writes_bytes:
            item = item_writer(self._resource, self.representation)
            return _json_frame(kind, item(_content(kind, change)))
        return self.event(kind, self._document(orjson.loads(b"{" + body)))

    def _table_frame(self, kind: str, change: Change) -> bytes:
        with_columns, self._columns_sent = not self._columns_sent, True
        if not self._writes_bytes:
            return self.event(
                kind, self._table(orjson.loads(b"{" + _body(kind, change)), with_columns)
            )
        content, form = _content(kind, change), self.representation
        encoded_table = table_of(
            content, self._resource, form, self._include, with_columns=with_columns
        )
        return _json_frame(kind, encoded_table)

    def _document(self, stored: Object) -> Object:
        value = typed(self._resource, from_stored(self._resource, stored))
        if self.representation.transform:
            return metadata_only(self._api.dialect, value, self.representation.version)
        return value

    def _table(self, stored: Object, with_columns: bool) -> Object:
        value = typed(self._resource, from_stored(self._resource, stored))
        metadata = {"resourceVersion": value["metadata"].get("resourceVersion", "")}
        return table(
            self._api.dialect,
            self._resource,
            [value],
            self.representation,
            self._include,
            metadata,
            with_columns=with_columns,
        )

    def bookmark(self, revision: int, *, initial: bool = False) -> bytes:
        self._check_transform()
        version: Object = {"resourceVersion": str(revision)}
        metadata = dict(version)
        if initial:
            end = self._api.dialect.group_name("@/initial-events-end")
            metadata["annotations"] = {end: "true"}
        if not self.representation.transform and self._api.dialect.bare_bookmarks:
            return self._wrapped(
                self.event("BOOKMARK", typed(self._resource, {"metadata": metadata}))
            )
        value: Object = {
            "metadata": {**zero(self._api.types.struct("meta/v1.ObjectMeta")), **metadata}
        }
        if not self.representation.transform:
            document = typed(self._resource, {**_empty(self._resource), **value})
            return self._wrapped(self.event("BOOKMARK", document))
        document = metadata_only(self._api.dialect, value, self.representation.version)
        if self.representation.transform == "Table":
            document = {
                "kind": "Table",
                "apiVersion": document["apiVersion"],
                "metadata": version,
                "columnDefinitions": None,
                "rows": [{"cells": None, "object": document}],
            }
        return self._wrapped(self.event("BOOKMARK", document))

    def event(self, kind: str, value: Object) -> bytes:
        if self.representation.media_type == JSON:
            return json_event(kind, value)
        return watch_frame(kind, encode(value, self.representation, self._api.resources))


def _body(kind: str, change: Change) -> bytes:
    if kind == DELETED:
        return change.last_body()
    assert change.after is not None
    assert change.after.body is not None
    return change.after.body


def _content(kind: str, change: Change) -> Version:
    """The version that an event shows."""
    if kind != DELETED:
        assert change.after is not None
        return change.after
    assert change.before is not None
    return change.before.with_revision(change.revision)


def _json_frame(kind: str, encoded: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), encoded)


def json_event(kind: str, value: Object) -> bytes:
    return orjson.dumps({"type": kind, "object": value}, option=orjson.OPT_APPEND_NEWLINE)


def _empty(resource: Resource) -> Object:
    value: Object = zero(resource.struct)
    return {name: item for name, item in value.items() if name not in ("kind", "apiVersion")}
