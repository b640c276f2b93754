"""etcd as a `Source`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import orjson

from fairlead import __version__
from fairlead.base.logs import Logger
from fairlead.base.metrics import REGISTRY
from fairlead.base.terminal import printable
from fairlead.storage.backend import (
    Compacted,
    Fault,
    Slice,
    Step,
    StorageError,
    Write,
    newer_format,
)
from fairlead.storage.etcd.client import DEFAULT_TIMING, Client, Timing
from fairlead.storage.etcd.failures import is_compacted, is_lease_gone, storage_error
from fairlead.storage.etcd.feed import Feed
from fairlead.storage.etcd.history import History
from fairlead.storage.etcd.messages import (
    COMPACT,
    EQUAL,
    GRANT,
    RANGE,
    STATUS,
    TXN,
    VERSION,
    CompactRequest,
    Compare,
    GrantRequest,
    KeyValue,
    Operation,
    PutRequest,
    RangeRequest,
    TxnRequest,
    TxnResponse,
    encode,
    read_answer,
    read_lease,
    read_range,
    read_status,
    read_txn,
)
from fairlead.storage.etcd.rows import Codec, Rows
from fairlead.storage.etcd.transactions import Epoch, Put, refusal, request_of
from fairlead.storage.log import Reached, Snapshot
from fairlead.wire.grpc.channel import Trust
from fairlead.wire.grpc.failures import CallFailed

logger = Logger("fairlead.storage.etcd")

DATABASE_BYTES = REGISTRY.gauge(
    "etcd_db_total_size_in_bytes", "Size of etcd's database file.", ("endpoint",)
)

# Lifetime in seconds of an object by resource and key; None: unlimited.
Ttl = Callable[[str, str], int | None]
# Whether decisions depend on objects of a resource.
Weighs = Callable[[str], bool]
# Whether objects of a resource are kept in a cluster.
Holds = Callable[[str], bool]
_EPOCH = b"/\0epoch"


class EtcdSource:
    """A `Source`: the keys below a prefix of an etcd cluster.

    In snapshots and the feed, `Row.previous` is 0 and the apiVersion of a deletion is empty: etcd
    does not send them, and the follower knows the previous version. Values that cannot be decoded
    are left out of snapshots and states; the feed reports them as deletions. Without `may_write`
    nothing is written, not even the marks that show the progress of a watch limited to the prefix.

    Writes to resources for which `weighs` returns True move the epoch. Companions of another write
    do not: requests that depend on them use preconditions. Without `weighs` there is no epoch.

    With `holds`, the resources for which it returns False are kept in another cluster: what this
    one has of them is left out.

    A store of a newer format is refused. With `records_release`, opening the store records the
    release of this server in it.
    """

    def __init__(
        self,
        urls: Sequence[str],
        codec: Codec,
        prefix: str = "/registry",
        trust: Trust | None = None,
        *,
        ttl: Ttl | None = None,
        weighs: Weighs | None = None,
        holds: Holds = lambda resource: True,
        lease_reuse: int = 60,
        keys_of_a_lease: int = 1000,
        timing: Timing = DEFAULT_TIMING,
        may_write: bool = True,
        records_release: bool = False,
    ) -> None:
        below = prefix.rstrip("/").encode()
        self.client = Client(urls, trust or Trust(), below + b"/\0", timing)
        self._rows = Rows(below, codec, leaves_sealed_out=not may_write, holds=holds)
        self._ttl = ttl
        self.has_epoch = weighs is not None
        self._weighs = weighs or (lambda resource: False)
        self._epoch = Epoch(below + _EPOCH) if weighs is not None else None
        self._leases = Leases(self.client, lease_reuse, keys_of_a_lease)
        self._compaction = Compaction(self.client)
        self._version = StoreVersion(self.client, below)
        self._records_release = records_release and may_write
        self._history = History(self.client, below, self._rows, may_write=may_write)
        self._feed = Feed(
            self.client,
            below,
            self._rows,
            COMPACTION_KEY,
            self._compaction.raise_floor,
            may_write=may_write,
        )

    @property
    def floor(self) -> int:
        return self._compaction.floor

    @property
    def fault(self) -> str:
        """The current failure as far as known, empty if there is none."""
        return self.client.error

    async def open(self) -> None:
        await self.client.open()
        try:
            await self._version.check()
        except CallFailed as error:
            raise storage_error(error) from None
        if self._records_release:
            await self._version.record()
        try:
            await self._compaction.read_floor()
        except CallFailed as error:
            if not error.is_denied:
                raise storage_error(error) from None
            self._feed.watch_prefix_only()

    async def close(self) -> None:
        await self.client.close()

    async def check(self, timeout: float) -> None:
        """Check that a linearizable read succeeds within `timeout` seconds; raises StorageError."""
        try:
            async with asyncio.timeout(timeout):
                await self.client.fetch_newest(timeout)
        except TimeoutError:
            reason = self.client.error or f"no answer within {timeout:g} seconds"
            raise StorageError(f"etcd: {reason}", Fault.PASSING) from None
        except CallFailed as error:
            raise storage_error(error) from None

    async def snapshot(self) -> Snapshot:
        try:
            return await self._history.snapshot()
        except CallFailed as error:
            raise self._convert_error(error, 0) from None

    def feed(self, after: int) -> AsyncIterator[Reached]:
        return self._feed.follow(after)

    def newest(self) -> int | None:
        return None

    async def fetch_newest(self) -> int:
        try:
            return await self._feed.show_progress(await self.client.fetch_newest())
        except CallFailed as error:
            raise storage_error(error) from None

    async def write(self, group: Sequence[Write]) -> list[int]:
        keys = [self._rows.key(write.resource, write.key) for write in group]
        try:
            revision = await self._write(group, keys)
        except BaseException:
            self._rows.forget(keys)
            raise
        for write in group:
            write.revision = revision
        return [revision] * len(group)

    async def _write(self, group: Sequence[Write], keys: Sequence[bytes]) -> int:
        rows = self._rows
        values = [rows.encode(*parts) for parts in zip(group, keys, strict=True)]
        lifetimes = [self._lifetime(write) for write in group]
        for is_last in (False, True):
            leases = await self._assign_leases(lifetimes) if any(lifetimes) else lifetimes
            puts = [
                Put(
                    *parts,
                    [
                        (condition, rows.key(condition[0], condition[1]))
                        for condition in parts[0].requires
                    ],
                )
                for parts in zip(group, keys, values, leases, strict=True)
            ]
            request = request_of(puts, self._epoch, moves_epoch=self._weighs(group[0].resource))
            try:
                outcome = read_txn(await self.client.call(TXN, request, is_repeatable=False))
            except CallFailed as error:
                if is_last or not is_lease_gone(error):
                    raise storage_error(error) from None
                for lease in leases:
                    self._leases.forget(lease)
            else:
                break
        if not outcome.succeeded:
            raise refusal(puts, outcome)
        return outcome.revision

    def _lifetime(self, write: Write) -> int:
        """Return the lifetime of a write in seconds, 0 for unlimited."""
        if self._ttl is None or write.value is None:
            return 0
        return self._ttl(write.resource, write.key) or 0

    async def _assign_leases(self, lifetimes: Sequence[int]) -> list[int]:
        """Return a lease for each lifetime, 0 for none."""
        try:
            return [await self._leases.lease(seconds) if seconds else 0 for seconds in lifetimes]
        except CallFailed as error:
            raise storage_error(error) from None

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        try:
            if after < self.floor:
                raise Compacted(after)
            return await self._history.changes(resource, after, upto, key)
        except (CallFailed, StorageError) as error:
            raise self._convert_error(error, after) from None

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        try:
            if revision < self.floor:
                raise Compacted(revision)
            return await self._history.state(resource, revision, after, below, limit)
        except (CallFailed, StorageError) as error:
            raise self._convert_error(error, revision) from None

    def _convert_error(self, error: CallFailed | StorageError, revision: int) -> Exception:
        """Convert an exception. A fatal one means Compacted here: superseded values may be
        encrypted with a key that has been removed."""
        if isinstance(error, StorageError):
            return Compacted(revision) if error.fault is Fault.FATAL else error
        if is_compacted(error):
            self._compaction.raise_floor(revision + 1)
            return Compacted(revision)
        return storage_error(error)

    async def is_stale(self, resource: str, key: str, revision: int) -> bool:
        return self._rows.is_stale(resource, key, revision)

    async def compact(self, floor: int) -> None:
        try:
            await self._compaction.compact(floor)
        except CallFailed as error:
            raise storage_error(error) from None

    async def size(self) -> int:
        try:
            size = read_status(await self.client.call(STATUS, b"")).size
        except CallFailed as error:
            raise storage_error(error) from None
        DATABASE_BYTES.set(size, (self.client.url,))
        return size


# The version record: the format of keys and values, and the release of the newest server.

FORMAT = 1
_VERSION_KEY = b"/fairlead/version"


class StoreVersion:
    """The key with the format of a store and the release of the server that started last."""

    def __init__(self, client: Client, prefix: bytes) -> None:
        self._client = client
        self._prefix = prefix
        self._key = prefix + _VERSION_KEY
        self._entry: KeyValue | None = None

    async def check(self) -> None:
        """Raise StorageError if this release cannot read the store; also CallFailed."""
        raw = await self._client.call(RANGE, encode(RangeRequest, key=self._key))
        self._set(read_range(raw).entries)

    def _set(self, entries: list[KeyValue]) -> None:
        self._entry = entries[0] if entries else None
        recorded = self._recorded()
        version, release = recorded.get("format"), printable(str(recorded.get("release", ""))[:64])
        if isinstance(version, int) and version > FORMAT:
            raise StorageError(
                f"the store in etcd below {self._prefix.decode()}"
                f" {newer_format(version, FORMAT, release)}, or restore a backup into another etcd"
            )

    def _recorded(self) -> dict[str, object]:
        """Return what is recorded, nothing if it cannot be read."""
        try:
            value = orjson.loads(self._entry.value if self._entry is not None else b"{}")
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    async def record(self) -> None:
        """Record this release, unless etcd takes no writes for now: the store is still served.
        Raises StorageError if a server of a newer format records its own meanwhile."""
        value = orjson.dumps({"format": FORMAT, "release": __version__})
        while self._entry is None or self._entry.value != value:
            version = self._entry.version if self._entry is not None else 0
            try:
                outcome = await put_if_version(self._client, self._key, value, version)
            except CallFailed as error:
                logger.warning("cannot record the release in etcd", err=error)
                return
            if outcome.succeeded:
                return
            self._set(read_range(read_answer(outcome.answers[0])).entries)


async def put_if_version(client: Client, key: bytes, value: bytes, version: int) -> TxnResponse:
    """Put a key if its version, which etcd counts up at each put, is still `version` (0: it does
    not exist). Otherwise the answer holds the current entry. Raises CallFailed."""
    request = encode(
        TxnRequest,
        compare=encode(Compare, result=EQUAL, target=VERSION, key=key, version=version),
        success=encode(Operation, put=encode(PutRequest, key=key, value=value)),
        failure=encode(Operation, range=encode(RangeRequest, key=key)),
    )
    return read_txn(await client.call(TXN, request, is_repeatable=False))


# Leases: etcd deletes the keys of a lease when it expires. Many keys share a lease.

_MAX_EXTRA_SHARE = 0.05  # of its lifetime by which a key may outlive it, for sharing


class _Lease(NamedTuple):
    number: int
    ttl: int
    until: float


class Leases:
    """Shared leases: each is assigned to new keys for `reuse` seconds and to at most `maximum`
    keys."""

    def __init__(self, client: Client, reuse: int = 60, max_keys: int = 1000) -> None:
        self._client = client
        self._reuse = reuse
        self._max_keys = max_keys
        self._lock = asyncio.Lock()
        self._current: dict[int, _Lease] = {}
        self._used: dict[int, int] = {}

    async def lease(self, ttl: int) -> int:
        """Return a lease that lasts `ttl` seconds from now, or a little longer; raises
        CallFailed."""
        loop = asyncio.get_running_loop()
        async with self._lock:
            current = self._current.get(ttl)
            is_fresh = current is not None and loop.time() + ttl < current.until
            if current is not None and is_fresh and self._used[ttl] < self._max_keys:
                self._used[ttl] += 1
                return current.number
            extra = max(min(self._reuse, int(ttl * _MAX_EXTRA_SHARE)), 0)
            now = loop.time()
            raw = await self._client.call(GRANT, encode(GrantRequest, ttl=ttl + extra))
            self._current[ttl] = _Lease(read_lease(raw), ttl, now + ttl + extra)
            self._used[ttl] = 1
            return self._current[ttl].number

    def forget(self, number: int) -> None:
        """Drop a lease that has expired in etcd."""
        for ttl, lease in list(self._current.items()):
            if lease.number == number:
                del self._current[ttl]


# Compaction by one server at a time, with the protocol of the reference.

# The reference's own key, so that its servers and ours do not compact twice. Its value is the
# compacted revision, its version counts the compactions.
COMPACTION_KEY = b"compact_rev_key"


class Compaction:
    """Compacts etcd. `floor` is the oldest revision known to be kept."""

    def __init__(self, client: Client) -> None:
        self.floor = 0
        self._client = client
        self._compactions: int | None = None

    def raise_floor(self, revision: int) -> None:
        self.floor = max(self.floor, revision)

    async def read_floor(self) -> None:
        """Read the floor that other servers set; raises CallFailed."""
        response = read_range(
            await self._client.call(RANGE, encode(RangeRequest, key=COMPACTION_KEY))
        )
        self._update_floor(response.entries)

    def _update_floor(self, entries: list[KeyValue]) -> None:
        self._compactions = entries[0].version if entries else 0
        for entry in entries:
            with suppress(ValueError):
                self.raise_floor(int(entry.value))

    async def compact(self, floor: int) -> None:
        """Compact up to `floor`, unless another server has compacted since the last call. Raises
        CallFailed."""
        if floor <= self.floor:
            return
        if self._compactions is None:
            await self.read_floor()
            return
        value = b"%d" % floor
        outcome = await put_if_version(self._client, COMPACTION_KEY, value, self._compactions)
        if not outcome.succeeded:
            self._update_floor(read_range(read_answer(outcome.answers[0])).entries)
            return
        self._compactions += 1
        try:
            await self._client.call(COMPACT, encode(CompactRequest, revision=floor))
        except CallFailed as error:
            if not is_compacted(error):
                raise
        self.raise_floor(floor)
