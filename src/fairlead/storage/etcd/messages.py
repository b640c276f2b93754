"""The messages of etcd's v3 API used here, as tables of field numbers, with encoders and
parsers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlead.codec.protobuf_wire import BYTES, VARINT, WireError, fields, key, varint

RANGE, TXN, COMPACT = "/etcdserverpb.KV/Range", "/etcdserverpb.KV/Txn", "/etcdserverpb.KV/Compact"
WATCH = "/etcdserverpb.Watch/Watch"
GRANT = "/etcdserverpb.Lease/LeaseGrant"
STATUS = "/etcdserverpb.Maintenance/Status"

# Values of Compare.result and Compare.target.
EQUAL, GREATER, LESS = 0, 1, 2
VERSION, CREATED, MODIFIED = 0, 1, 2

ALL_KEYS = b"\0"  # as range start the lowest key, as range end no limit

Table = Mapping[str, tuple[bytes, bytes]]


def _table(**numbers: int) -> Table:
    """Return the wire keys of a message's fields: as varint and as bytes."""
    return {name: (key(number, VARINT), key(number, BYTES)) for name, number in numbers.items()}


RangeRequest = _table(
    key=1, range_end=2, limit=3, revision=4, sort_order=5, sort_target=6, keys_only=8, count_only=9
)
DESCENDING, BY_MODIFIED = 2, 3
PutRequest = _table(key=1, value=2, lease=3)
DeleteRequest = _table(key=1)
Compare = _table(result=1, target=2, key=3, version=4, create_revision=5, mod_revision=6)
Operation = _table(range=1, put=2, delete=3)
TxnRequest = _table(compare=1, success=2, failure=3)
CompactRequest = _table(revision=1)
GrantRequest = _table(ttl=1)
WatchRequest = _table(create=1)
WatchCreate = _table(key=1, range_end=2, start_revision=3, prev_kv=6, fragment=8)


def encode(table: Table, **values: int | bytes | list[bytes]) -> bytes:
    """Encode a message; a list is a repeated field."""
    parts: list[bytes] = []
    for name, value in values.items():
        number, head = table[name]
        if isinstance(value, int):
            parts += (number, varint(value))
        elif isinstance(value, bytes):
            parts += (head, varint(len(value)), value)
        else:
            for item in value:
                parts += (head, varint(len(item)), item)
    return b"".join(parts)


def end_of(prefix: bytes) -> bytes:
    """Return the end of the range of all keys with a prefix, whose last byte is not 255."""
    return prefix[:-1] + bytes((prefix[-1] + 1,))


class KeyValue(NamedTuple):
    key: bytes
    revision: int
    version: int
    value: bytes


class RangeResponse(NamedTuple):
    """A range response; `total` counts all keys in the range, including those beyond the limit."""

    revision: int
    entries: list[KeyValue]
    total: int


class TxnResponse(NamedTuple):
    """A transaction response; `answers` are the encoded responses of its operations."""

    revision: int
    succeeded: bool
    answers: list[bytes]


class Event(NamedTuple):
    entry: KeyValue
    is_deletion: bool
    before: KeyValue | None


class WatchResponse(NamedTuple):
    """A watch response. After `is_cancelled` no more follow; `compacted` is the compacted revision
    if that is the reason."""

    events: list[Event]
    is_fragment: bool = False
    is_cancelled: bool = False
    compacted: int = 0
    reason: str = ""


class Header(NamedTuple):
    cluster: int
    revision: int


# The fast parsers rely on etcd writing fields in the order of their numbers; messages in another
# order are parsed field by field.
_VARINT = rb"([\x80-\xff]*[\x00-\x7f])"
_SKIPPED = rb"[\x80-\xff]*[\x00-\x7f]"
_HEADER = re.compile(
    rb"\x0a[\x00-\x7f](?:\x08%b)?(?:\x10%b)?\x18%b(?:\x20%b)?"
    % (_SKIPPED, _SKIPPED, _VARINT, _SKIPPED)
)
_ONE_EVENT = re.compile(
    rb"\x0a[\x00-\x7f](?:\x08%b)?(?:\x10%b)?\x18%b(?:\x20%b)?(?:\x10%b)?\x5a%b\x12%b\x0a%b"
    % (*(_SKIPPED,) * 5, *(_VARINT,) * 3)
)
_WATCH_ID = re.compile(rb"(?:\x10%b)?" % _SKIPPED)
_LENGTH = re.compile(_VARINT)
_NUMBERS = re.compile(
    rb"(?:\x10%b)?\x18%b\x20%b(?:\x2a%b)?" % (_SKIPPED, _VARINT, _VARINT, _VARINT)
)
_EVENT, _LEASE = 0x5A, 0x30
_DELETION = b"\x08\x01"
_SUCCEEDED = b"\x10\x01"


def _number(raw: bytes) -> int:
    """Decode a varint; most are short."""
    size = len(raw)
    if size == 1:
        return raw[0]
    if size == 2:
        return raw[0] & 127 | raw[1] << 7
    number = 0
    for byte in reversed(raw):
        number = number << 7 | byte & 127
    return number


def _message_fields(raw: bytes) -> dict[int, Any]:
    """Return the fields of a message without repeated ones."""
    return {number: value for number, _, value in fields(raw)}


def read_header(raw: bytes) -> Header:
    """Parse the header of any response: its first field."""
    for number, _, value in fields(raw):
        if number == 1 and isinstance(value, bytes):
            header = _message_fields(value)
            return Header(header.get(1, 0), header.get(3, 0))
    return Header(0, 0)


def read_revision(raw: bytes) -> int:
    """Parse the revision in the header of any response."""
    match = _HEADER.match(raw)
    return _number(match[1]) if match else read_header(raw).revision


def read_entry(raw: bytes) -> KeyValue:
    if raw[:1] == b"\x0a" and (length := _LENGTH.match(raw, 1)):
        start = length.end()
        end = start + _number(length[1])
        if match := _NUMBERS.match(raw, end):
            revision, version, size = match.groups(b"\0")
            value_start = match.end()
            value_end = value_start + _number(size)
            if value_end == len(raw) or (value_end < len(raw) and raw[value_end] == _LEASE):
                key, value = raw[start:end], raw[value_start:value_end]
                return KeyValue(key, _number(revision), _number(version), value)
    message = _message_fields(raw)
    return KeyValue(message.get(1, b""), message.get(3, 0), message.get(4, 0), message.get(5, b""))


def read_range(raw: bytes) -> RangeResponse:
    total = 0
    entries: list[KeyValue] = []
    for number, _, value in fields(raw):
        if isinstance(value, int):
            total = value if number == 4 else total
        elif number == 2:
            entries.append(read_entry(value))
    return RangeResponse(read_revision(raw), entries, total)


def read_txn(raw: bytes) -> TxnResponse:
    """Parse a transaction response; skips the answers of a successful one, which are unused."""
    if (match := _HEADER.match(raw)) and raw.startswith(_SUCCEEDED, match.end()):
        return TxnResponse(_number(match[1]), True, [])
    succeeded = False
    answers: list[bytes] = []
    for number, _, value in fields(raw):
        if isinstance(value, int):
            succeeded = bool(value) if number == 2 else succeeded
        elif number == 3:
            answers.append(value)
    return TxnResponse(read_revision(raw), succeeded, [] if succeeded else answers)


def read_answer(raw: bytes) -> bytes:
    """Return the response inside an operation's response, of any type."""
    for _, _, value in fields(raw):
        if isinstance(value, bytes):
            return value
    raise WireError("an operation without an answer")


def read_watch(raw: bytes) -> WatchResponse:
    if event := _read_single_put(raw):
        return WatchResponse([event])
    if match := _HEADER.match(raw):
        events = _read_events_only(raw, match.end())
        if events:
            return WatchResponse(events)
    numbers: dict[int, int] = {}
    events, reason = [], ""
    for number, _, value in fields(raw):
        if isinstance(value, int):
            numbers[number] = value
        elif number == 11:
            events.append(_read_event(value))
        elif number == 6:
            reason = value.decode(errors="replace")
    is_fragment, is_cancelled = bool(numbers.get(7)), bool(numbers.get(4))
    return WatchResponse(events, is_fragment, is_cancelled, numbers.get(5, 0), reason)


def _read_single_put(raw: bytes) -> Event | None:
    """Parse a response with a single put in place, the most frequent one; None for any other."""
    match = _ONE_EVENT.match(raw)
    if match is None:
        return None
    event, entry, key = map(_number, match.groups())
    start, end = match.end(), len(raw)
    if match.end(1) + event != end or match.end(2) + entry != end:
        return None
    numbers = _NUMBERS.match(raw, start + key)
    if numbers is None:
        return None
    revision, version, size = numbers.groups(b"\0")
    value_start = numbers.end()
    value_end = value_start + _number(size)
    if value_end != end and (value_end > end or raw[value_end] != _LEASE):
        return None
    value = raw[value_start:value_end]
    put = KeyValue(raw[start : start + key], _number(revision), _number(version), value)
    return Event(put, False, None)


def _read_events_only(raw: bytes, position: int) -> list[Event]:
    """Parse the rest of a response if it consists of events only, else return an empty list."""
    if match := _WATCH_ID.match(raw, position):
        position = match.end()
    events: list[Event] = []
    end = len(raw)
    while position < end:
        if raw[position] != _EVENT or not (match := _LENGTH.match(raw, position + 1)):
            return []
        start = match.end()
        position = start + _number(match[1])
        events.append(_read_event(raw[start:position]))
    return events


def _read_event(raw: bytes) -> Event:
    is_deletion = raw.startswith(_DELETION)
    position = 2 if is_deletion else 0
    if raw.startswith(b"\x12", position) and (length := _LENGTH.match(raw, position + 1)):
        position = length.end()
        if position + _number(length[1]) == len(raw):
            return Event(read_entry(raw[position:]), is_deletion, None)
    message = _message_fields(raw)
    before = message.get(3)
    return Event(
        read_entry(message.get(2, b"")),
        message.get(1, 0) == 1,
        read_entry(before) if before is not None else None,
    )


def read_lease(raw: bytes) -> int:
    number: int = _message_fields(raw).get(2, 0)
    return number


class MemberStatus(NamedTuple):
    """What a member tells of itself. `problems` has its alarms; `quota` is 0 if it is not told."""

    version: str = ""
    size: int = 0  # bytes of the database, with what is free in it
    leader: int = 0  # 0: it knows none
    applied: int = 0  # entries of the cluster's log
    problems: tuple[str, ...] = ()
    used: int = 0  # bytes of the database
    is_learner: bool = False
    quota: int = 0


def read_status(raw: bytes) -> MemberStatus:
    texts = [
        value.decode(errors="replace")
        for number, _, value in fields(raw)
        if number == 8 and isinstance(value, bytes)
    ]
    message = _message_fields(raw)
    return MemberStatus(
        version=message.get(2, b"").decode(errors="replace"),
        size=message.get(3, 0),
        leader=message.get(4, 0),
        applied=message.get(7, 0),
        problems=tuple(texts),
        used=message.get(9, 0),
        is_learner=bool(message.get(10)),
        quota=message.get(12, 0),
    )
