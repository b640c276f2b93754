"""Encodes a group of writes as one etcd transaction, and interprets a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.codec.protobuf_wire import delimited, varint
from fairlead.storage.backend import ConditionFailed, Conflict, EpochMoved, Precondition, Write
from fairlead.storage.etcd.messages import (
    CREATED,
    EQUAL,
    GREATER,
    LESS,
    MODIFIED,
    Compare,
    DeleteRequest,
    Operation,
    PutRequest,
    RangeRequest,
    TxnRequest,
    TxnResponse,
    encode,
    read_answer,
    read_range,
)


class Put(NamedTuple):
    """A write with its etcd key, encoded value (None deletes) and lease."""

    write: Write
    key: bytes
    value: bytes | None
    lease: int
    requires: Sequence[tuple[Precondition, bytes]]


class Epoch:
    """A key that is put together with every write that decisions of other requests may depend on.
    Its mod_revision shows when that last happened; its value is unused."""

    def __init__(self, key: bytes) -> None:
        self.move = encode(Operation, put=encode(PutRequest, key=key))
        self._compare = encode(Compare, result=LESS, target=MODIFIED, key=key)

    def unmoved(self, since: int) -> bytes:
        """Return the comparison that it was not put after a revision."""
        return self._compare + _REVISION + varint(since + 1)


# The parts of a request before and after a key and its length.
_ABSENT = encode(Compare, result=EQUAL, target=CREATED), encode(Compare, create_revision=0)
_PRESENT = encode(Compare, result=GREATER, target=CREATED), encode(Compare, create_revision=0)
_AT_REVISION, _REVISION = encode(Compare, result=EQUAL, target=MODIFIED), Compare["mod_revision"][0]
_READ_END = encode(RangeRequest, keys_only=1)
_COMPARED_KEY, _READ_KEY = Compare["key"][1], RangeRequest["key"][1]
_PUT_KEY, _PUT_VALUE = PutRequest["key"][1], PutRequest["value"][1]
_READ, _PUT = Operation["range"][1], Operation["put"][1]
_COMPARE, _SUCCESS, _FAILURE = (TxnRequest[name][1] for name in ("compare", "success", "failure"))


def request_of(
    puts: Sequence[Put], epoch: Epoch | None = None, *, moves_epoch: bool = False
) -> bytes:
    """Encode a transaction that does all writes or none. On failure it returns the revisions of all
    compared keys, which show the reason; if they all match, the epoch moved."""
    compares: list[bytes] = []
    operations: list[bytes] = []
    reads: list[bytes] = []
    for put in puts:
        key = varint(len(put.key)) + put.key
        compares.append(_compare(key, put.write.expected_revision() or 0))
        reads.append(_read_operation(key))
        operations.append(delimited(_SUCCESS, _operation(put, key)))
        for condition, condition_key in put.requires:
            key = varint(len(condition_key)) + condition_key
            compares.append(_compare(key, condition.required_revision()))
            reads.append(_read_operation(key))
    if epoch is not None:
        if since := puts[0].write.since:
            compares.append(delimited(_COMPARE, epoch.unmoved(since)))
        if moves_epoch:
            operations.append(delimited(_SUCCESS, epoch.move))
    return b"".join((*compares, *operations, *reads))


def _compare(key: bytes, revision: int | None) -> bytes:
    """Encode the comparison of a key's revision: 0 for an absent key, None for any revision."""
    if revision:
        head, tail = _AT_REVISION, _REVISION + varint(revision)
    else:
        head, tail = _PRESENT if revision is None else _ABSENT
    return delimited(_COMPARE, b"%b%b%b%b" % (head, _COMPARED_KEY, key, tail))


def _read_operation(key: bytes) -> bytes:
    read = b"%b%b%b" % (_READ_KEY, key, _READ_END)
    return delimited(_FAILURE, delimited(_READ, read))


def _operation(put: Put, key: bytes) -> bytes:
    value = put.value
    if value is None:
        return encode(Operation, delete=encode(DeleteRequest, key=put.key))
    body = b"%b%b%b%b%b" % (_PUT_KEY, key, _PUT_VALUE, varint(len(value)), value)
    if put.lease:
        body += encode(PutRequest, lease=put.lease)
    return delimited(_PUT, body)


def refusal(puts: Sequence[Put], outcome: TxnResponse) -> Conflict | ConditionFailed:
    """Return the reason of a failed transaction, from the revisions it found."""
    answers = iter(outcome.answers)

    def next_revision() -> int:
        entries = read_range(read_answer(next(answers))).entries
        return entries[0].revision if entries else 0

    unmet: list[Precondition] = []
    for put in puts:
        write = put.write
        own_key = Precondition(write.resource, write.key, write.expected_revision())
        unmet += (
            condition
            for condition in (own_key, *(need for need, _ in put.requires))
            if not condition.holds(next_revision())
        )
    first = puts[0].write
    error: Conflict | ConditionFailed
    if not unmet and first.since:
        error = EpochMoved(first.key)
    elif not unmet or unmet[0][:2] == (first.resource, first.key):
        error = Conflict(first.key)
    else:
        error = ConditionFailed(unmet[0])
    error.visible_at = outcome.revision
    return error
