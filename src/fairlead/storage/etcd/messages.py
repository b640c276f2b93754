"""The messages of etcd's v3 interface that are used here, as tables of field numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlead.serialization.wire import BYTES, VARINT, WireError, fields, key, varint

RANGE, TXN, COMPACT = "/etcdserverpb.KV/Range", "/etcdserverpb.KV/Txn", "/etcdserverpb.KV/Compact"
WATCH = "/etcdserverpb.Watch/Watch"
GRANT = "/etcdserverpb.Lease/LeaseGrant"
STATUS = "/etcdserverpb.Maintenance/Status"

# Compare: what is compared with the number that is given, and how.
EQUAL, GREATER = 0, 1
VERSION, CREATED, MODIFIED = 0, 1, 2

ALL_KEYS = b"\0"  # as the start of a range the least key, as its end none

Table = Mapping[str, tuple[bytes, bytes]]


def _table(**numbers: int) -> Table:
    """The heads of a message's fields: as a number, and as bytes."""
    return {name: (key(number, VARINT), key(number, BYTES)) for name, number in numbers.items()}


RangeRequest = _table(
    key=1, range_end=2, limit=3, revision=4, keys_only=8, count_only=9, min_mod_revision=10
)
PutRequest = _table(key=1, value=2, lease=3)
DeleteRequest = _table(key=1)
Compare = _table(result=1, target=2, key=3, version=4, create_revision=5, mod_revision=6)
Operation = _table(range=1, put=2, delete=3)
TxnRequest = _table(compare=1, success=2, failure=3)
CompactRequest = _table(revision=1)
GrantRequest = _table(ttl=1)
WatchRequest = _table(create=1, progress=3)
WatchCreate = _table(key=1, range_end=2, start_revision=3, progress_notify=4, prev_kv=6, fragment=8)


def encode(table: Table, **given: int | bytes | list[bytes]) -> bytes:
    """A message with these fields; a list is a repeated one."""
    parts: list[bytes] = []
    for name, value in given.items():
        number, head = table[name]
        if isinstance(value, int):
            parts += (number, varint(value))
        elif isinstance(value, bytes):
            parts += (head, varint(len(value)), value)
        else:
            for one in value:
                parts += (head, varint(len(one)), one)
    return b"".join(parts)


def end_of(prefix: bytes) -> bytes:
    """The end of the range of all keys with a prefix; its last byte is not 255."""
    return prefix[:-1] + bytes((prefix[-1] + 1,))


class KeyValue(NamedTuple):
    key: bytes
    revision: int
    version: int
    value: bytes


class Found(NamedTuple):
    """The answer to a range: `total` is how many keys there are, those left out included."""

    revision: int
    entries: list[KeyValue]
    total: int


class Outcome(NamedTuple):
    """The answer to a transaction: `answers` are those of its operations, as bytes."""

    revision: int
    succeeded: bool
    answers: list[bytes]


class Event(NamedTuple):
    entry: KeyValue
    is_deletion: bool
    before: KeyValue | None


class Told(NamedTuple):
    """An answer on a watch: of the first `cancelled` and `compacted` say why there is no more."""

    revision: int
    events: list[Event]
    created: bool
    cancelled: bool
    compacted: int
    reason: str
    is_fragment: bool


class Header(NamedTuple):
    cluster: int
    revision: int


class Status(NamedTuple):
    version: str
    size: int


def _last(raw: bytes) -> dict[int, Any]:
    """The fields of a message that has no repeated ones."""
    return {number: value for number, _, value in fields(raw)}


def read_header(raw: bytes) -> Header:
    """The header of any answer: its first field."""
    for number, _, value in fields(raw):
        if number == 1 and isinstance(value, bytes):
            found = _last(value)
            return Header(found.get(1, 0), found.get(3, 0))
    return Header(0, 0)


def read_entry(raw: bytes) -> KeyValue:
    found = _last(raw)
    return KeyValue(found.get(1, b""), found.get(3, 0), found.get(4, 0), found.get(5, b""))


def read_range(raw: bytes) -> Found:
    revision = total = 0
    entries: list[KeyValue] = []
    for number, _, value in fields(raw):
        if isinstance(value, int):
            total = value if number == 4 else total
        elif number == 1:
            revision = _last(value).get(3, 0)
        elif number == 2:
            entries.append(read_entry(value))
    return Found(revision, entries, total)


def read_txn(raw: bytes) -> Outcome:
    revision, succeeded = 0, False
    answers: list[bytes] = []
    for number, _, value in fields(raw):
        if isinstance(value, int):
            succeeded = bool(value) if number == 2 else succeeded
        elif number == 1:
            revision = _last(value).get(3, 0)
        elif number == 3:
            answers.append(value)
    return Outcome(revision, succeeded, answers)


def read_answer(raw: bytes) -> bytes:
    """What the answer to an operation of a transaction holds, whichever it is."""
    for _, _, value in fields(raw):
        if isinstance(value, bytes):
            return value
    raise WireError("an operation without an answer")


def read_watch(raw: bytes) -> Told:
    revision, numbers, reason = 0, {}, ""
    events: list[Event] = []
    for number, _, value in fields(raw):
        if isinstance(value, int):
            numbers[number] = value
        elif number == 11:
            events.append(_read_event(value))
        elif number == 1:
            revision = _last(value).get(3, 0)
        elif number == 6:
            reason = value.decode(errors="replace")
    flags = (bool(numbers.get(3)), bool(numbers.get(4)), numbers.get(5, 0))
    return Told(revision, events, *flags, reason, bool(numbers.get(7)))


def _read_event(raw: bytes) -> Event:
    found = _last(raw)
    before = found.get(3)
    return Event(
        read_entry(found.get(2, b"")),
        found.get(1, 0) == 1,
        read_entry(before) if before is not None else None,
    )


def read_lease(raw: bytes) -> int:
    number: int = _last(raw).get(2, 0)
    return number


def read_status(raw: bytes) -> Status:
    found = _last(raw)
    return Status(found.get(2, b"").decode(errors="replace"), found.get(3, 0))
