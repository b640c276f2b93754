"""A group of writes as one transaction, and what its answer says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fairlead.storage.backend import ConditionFailed, Conflict, Precondition, Write
from fairlead.storage.etcd.messages import (
    CREATED,
    EQUAL,
    GREATER,
    MODIFIED,
    Compare,
    DeleteRequest,
    Operation,
    Outcome,
    PutRequest,
    RangeRequest,
    TxnRequest,
    encode,
    read_answer,
    read_range,
)


class Put(NamedTuple):
    """A write with its key in etcd and what is to lie there; no value deletes."""

    write: Write
    key: bytes
    value: bytes | None
    lease: int
    requires: Sequence[tuple[Precondition, bytes]]


def request_of(puts: Sequence[Put]) -> bytes:
    """All of these or none."""
    compares = [one for put in puts for one in _compares(put)]
    operations = [_operation(put) for put in puts]
    # Where it does not hold, the revisions of all that was compared tell why.
    looks = [
        encode(Operation, range=encode(RangeRequest, key=key, keys_only=1))
        for put in puts
        for key in _keys(put)
    ]
    return encode(TxnRequest, compare=compares, success=operations, failure=looks)


def _keys(put: Put) -> Iterator[bytes]:
    """The keys that are compared, in this order."""
    yield put.key
    for _, key in put.requires:
        yield key


def _compares(put: Put) -> Iterator[bytes]:
    yield _has_revision(put.key, put.write.expected_revision() or 0)
    for condition, key in put.requires:
        if condition.revision is None:
            yield encode(Compare, result=GREATER, target=CREATED, key=key, create_revision=0)
        else:
            yield _has_revision(key, condition.revision)


def _has_revision(key: bytes, revision: int) -> bytes:
    if revision:
        return encode(Compare, result=EQUAL, target=MODIFIED, key=key, mod_revision=revision)
    return encode(Compare, result=EQUAL, target=CREATED, key=key, create_revision=0)


def _operation(put: Put) -> bytes:
    if put.value is None:
        return encode(Operation, delete=encode(DeleteRequest, key=put.key))
    if put.lease:
        body = encode(PutRequest, key=put.key, value=put.value, lease=put.lease)
    else:
        body = encode(PutRequest, key=put.key, value=put.value)
    return encode(Operation, put=body)


def refusal(puts: Sequence[Put], outcome: Outcome) -> Conflict | ConditionFailed:
    """Which of the comparisons failed, by what was found instead."""
    answers = iter(outcome.answers)

    def found() -> int:
        entries = read_range(read_answer(next(answers))).entries
        return entries[0].revision if entries else 0

    failed: Conflict | ConditionFailed | None = None
    for put in puts:
        if found() != put.write.expected_revision():
            failed = failed or Conflict(put.write.key)
        for condition, _ in put.requires:
            if not condition.holds(found()):
                failed = failed or ConditionFailed(condition)
    failed = failed or Conflict(puts[0].write.key)
    failed.at = outcome.revision
    return failed
