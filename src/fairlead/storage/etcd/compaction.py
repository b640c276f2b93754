"""Compaction of etcd by one server at a time, with the protocol of the reference."""

from __future__ import annotations

from contextlib import suppress

from fairlead.storage.etcd.client import Client
from fairlead.storage.etcd.failures import CallFailed
from fairlead.storage.etcd.messages import (
    COMPACT,
    EQUAL,
    RANGE,
    TXN,
    VERSION,
    CompactRequest,
    Compare,
    KeyValue,
    Operation,
    PutRequest,
    RangeRequest,
    TxnRequest,
    encode,
    read_answer,
    read_range,
    read_txn,
)

# The reference's own key, so that its servers and ours do not compact twice. Its value is the
# compacted revision, its version counts the compactions.
KEY = b"compact_rev_key"


class Compaction:
    """Compacts etcd. `floor` is the oldest revision known to be kept."""

    def __init__(self, client: Client) -> None:
        self.floor = 0
        self._client = client
        self._times: int | None = None

    def raise_floor(self, revision: int) -> None:
        self.floor = max(self.floor, revision)

    async def look(self) -> None:
        """Read the floor that other servers set; raises CallFailed."""
        found = read_range(await self._client.call(RANGE, encode(RangeRequest, key=KEY)))
        self._learn(found.entries)

    def _learn(self, entries: list[KeyValue]) -> None:
        self._times = entries[0].version if entries else 0
        for entry in entries:
            with suppress(ValueError):
                self.raise_floor(int(entry.value))

    async def compact(self, floor: int) -> None:
        """Compact up to `floor`, unless another server has compacted since the last call. Raises
        CallFailed."""
        if floor <= self.floor:
            return
        if self._times is None:
            await self.look()
            return
        request = encode(
            TxnRequest,
            compare=encode(Compare, result=EQUAL, target=VERSION, key=KEY, version=self._times),
            success=encode(Operation, put=encode(PutRequest, key=KEY, value=b"%d" % floor)),
            failure=encode(Operation, range=encode(RangeRequest, key=KEY)),
        )
        outcome = read_txn(await self._client.call(TXN, request, is_repeatable=False))
        if not outcome.succeeded:
            self._learn(read_range(read_answer(outcome.answers[0])).entries)
            return
        self._times += 1
        try:
            await self._client.call(COMPACT, encode(CompactRequest, revision=floor))
        except CallFailed as error:
            if not error.is_compacted:
                raise
        self.raise_floor(floor)
