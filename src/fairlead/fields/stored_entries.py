"""Entries of `metadata.managedFields` that decode their fields lazily.

The fields that managers own are often half of an object, and most writes leave most of them
unchanged. So they are cut out of the stored JSON before it is decoded, and encoders write the same
bytes back into JSON or a protobuf message.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any

import orjson

from fairlead.base.compiled import mypyc_attr
from fairlead.codec.types.model import Object as Object

_KEY = "fieldsV1"
_LIST = b'"managedFields":[{"manager":"'
_FIELDS = b',"fieldsType":"FieldsV1","fieldsV1":'
_NEXT, _LAST = b'},{"manager":"', b"}]}"
_BRACE = b"}"[0]
_SUBRESOURCE = b',"subresource":"'
_HOLE = b"null"
_BEHIND_A_TEXT = b",:]}"
SHORTEST = 1024  # bytes of entries to cut out; decoding fewer is faster
_MAX_LOOKS = 12  # searches through all bytes; beyond that decoding is cheaper


@mypyc_attr(native_class=False)
class StoredEntry(dict[str, Any]):
    """An entry that is encoded already: `written` is its set of fields as JSON in the stored form.
    Behaves like any other entry, but decodes its fields on first access; encoders use the bytes as
    they are. `is_current`: since it was written, no field of the type has turned from granular to
    atomic or back. Immutable."""

    __slots__ = ("_fields", "_identity", "is_current", "written")

    def __init__(self, head: Object, written: bytes, *, is_current: bool = False) -> None:
        super().__init__(head)
        self.written = written
        self.is_current = is_current
        self._fields: Object | None = None
        self._identity: tuple[str, str, str, str] | None = None
        super().__setitem__(_KEY, orjson.Fragment(written))

    @property
    def fields(self) -> Object:
        """The decoded set, see `field_sets`."""
        if self._fields is None:
            self._fields = orjson.loads(self.written)
        return self._fields

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """The identity, see `entries.identity_of`."""
        if self._identity is None:
            get = super().get
            operation = get("operation", "")
            version = "" if operation == "Apply" else get("apiVersion", "")
            self._identity = get("manager", ""), operation, version, get("subresource", "")
        return self._identity

    def may_contain(self, *sets: Object) -> bool:
        """Whether the fields may contain a path of the sets. Searches the bytes without decoding
        them; True may be wrong."""
        looks = 0
        below = list(sets)
        while below:
            for element, node in below.pop().items():
                looks += 1
                if element == "." or looks > _MAX_LOOKS:
                    return True
                if orjson.dumps(element) in self.written:
                    if not node:
                        return True
                    below.append(node)
        return False

    def place_of(self, element: str, node: bytes) -> int:
        """The offset of a node behind its step, or -1. The step may be one at a deeper level."""
        step = orjson.dumps(element) + b":"
        at = self.written.find(step)
        while at >= 0 and not self.written.startswith(node, at + len(step)):
            at = self.written.find(step, at + 1)
        return at + len(step) if at >= 0 else -1

    def fields_without(self, places: list[tuple[int, int]], elements: list[str]) -> Object | None:
        """The set without the bytes at some places. None if these are not the nodes of the
        top-level steps `elements`."""
        parts: list[bytes] = []
        done = 0
        for start, end in sorted(places):
            parts += (self.written[done:start], _HOLE)
            done = end
        rest: Object = orjson.loads(b"".join((*parts, self.written[done:])))
        for element in elements:
            if rest.pop(element, element) is not None:
                return None
        return rest

    def plain(self) -> Object:
        """A plain dictionary with the same content, owned by the caller."""
        return {name: self[name] for name in self}

    def __getitem__(self, name: str) -> Any:
        return self.fields if name == _KEY else dict.__getitem__(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields if name == _KEY else dict.get(self, name, default)

    def __iter__(self) -> Iterator[str]:
        return super().__iter__()  # overridden: else `dict(entry)` copies the raw fragment

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return self.plain().items()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return self.plain().values()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, dict) or len(self) != len(other):
            return False
        for name in self:
            if name not in other or (name != _KEY and self[name] != other[name]):
                return False
        if isinstance(other, StoredEntry):
            return self.written == other.written or self.fields == other.fields
        given = other[_KEY]
        return _is_written(given, self.written) or bool(given == self.fields)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __copy__(self) -> StoredEntry:
        return self

    def __deepcopy__(self, _: Any) -> StoredEntry:
        return self


def read_with_entries(body: bytes, shortest: int = SHORTEST) -> Object:
    """Decode a stored body, which lacks its opening brace; long entries become `StoredEntry`. The
    kind must be built in: other types may have changed since the object was stored."""
    parts, written = _cut(body, shortest)
    value: Object = orjson.loads(b"".join(parts))
    if not written:
        return value
    entries = value["metadata"].get("managedFields") or ()
    holes = [head for head in entries if head.get(_KEY, head) is None]
    if not len(holes) == len(entries) == len(written):  # other data matched the patterns
        return _all_read(body)
    value["metadata"]["managedFields"] = [
        StoredEntry(head, fields, is_current=True)
        for head, fields in zip(entries, written, strict=True)
    ]
    return value


def _all_read(body: bytes) -> Object:
    value: Object = orjson.loads(b"{" + body)
    return value


def _cut(body: bytes, shortest: int) -> tuple[list[bytes], list[bytes]]:
    """The body in parts, with holes for the fields of its managers, and the bytes cut out.

    Quotes inside strings are escaped, so the patterns, which include quotes, do not match inside a
    string. Where that is not enough, as for the end of the list, nothing is cut.
    """
    whole = [b"{", body]
    at = body.find(_LIST)
    if at < 0:
        return whole, []
    end = body.find(b"]", at) - 1
    if (
        end - at < shortest
        or not body.startswith(_LAST, end)
        or not _is_end(body, end + len(_LAST))
    ):
        return whole, []
    parts, written = [b"{"], []
    done = 0
    found = body.find(_FIELDS, at, end)
    while found >= 0:
        start = found + len(_FIELDS)
        found = body.find(_FIELDS, start, end)
        stop = body.rfind(_NEXT, start, found) if found >= 0 else end
        if stop >= 0 and body[stop - 1] != _BRACE:
            stop = body.rfind(_SUBRESOURCE, start, stop)
        if stop < 0:
            return whole, []
        parts += (body[done:start], _HOLE)
        written.append(body[start:stop])
        done = stop
    parts.append(body[done:])
    return parts, written


def _is_end(body: bytes, at: int) -> bool:
    """Whether metadata ends before `at`, right after its last list, and `at` is not in a string: a
    quote that closes a string is followed by one of `,:]}`, a quote that opens a key is not."""
    if at + 1 == len(body):
        return True
    return body.startswith(b',"', at) and body[at + 2] not in _BEHIND_A_TEXT


def with_plain_entries(value: Object) -> Object:
    """The object with entries that may be changed in place; does not change the given object."""
    metadata = value.get("metadata") or {}
    entries = metadata.get("managedFields")
    if not isinstance(entries, list) or not any(isinstance(one, StoredEntry) for one in entries):
        return value
    plain = [one.plain() if isinstance(one, StoredEntry) else one for one in entries]
    return {**value, "metadata": {**metadata, "managedFields": plain}}


def _is_written(fields: Any, written: bytes) -> bool:
    try:
        return orjson.dumps(fields) == written
    except orjson.JSONEncodeError:
        return False
