"""The stores that a series of backups is made of: a running server, a data directory, etcd."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, BinaryIO, NamedTuple, Protocol
from urllib.parse import urlencode

import orjson

from fairlead.process.backup import PATH
from fairlead.process.backup.archive import BackupError, ClusterState, Gap, pieces
from fairlead.process.backup.journal import Batch, decode_rows, timestamp
from fairlead.process.backup.progress import Progress
from fairlead.process.backup.storages import ChangedRows, Storage, kept_elsewhere
from fairlead.wire.outgoing.client import HttpClient
from fairlead.wire.outgoing.client_config import ClientConfig, ClientConfigError
from fairlead.wire.outgoing.connection import Connection
from fairlead.wire.outgoing.request import Request
from fairlead.wire.outgoing.response import CallError, Response, check_success

_ANSWER_TIMEOUT = 60.0
_SILENCE_TIMEOUT = 30.0  # a server sends something every few seconds
_MAX_ERROR_BYTES = 64 * 1024
_MAX_LINE_BYTES = 4096
_MAX_BATCH_BYTES = 1 << 30


class Changes(NamedTuple):
    """The changes of a store. `store` identifies it; `batches` may raise Gap and BackupError."""

    store: str
    batches: AsyncIterator[Batch]


class Origin(Protocol):
    """The store that is backed up. `is_live`: others write to it, so its changes never end."""

    is_live: bool

    async def copy(self, file: BinaryIO, progress: Progress) -> None:
        """Write a backup; raises BackupError, StorageError."""

    def changes(self, cluster: ClusterState) -> AbstractAsyncContextManager[Changes]:
        """Read the changes of a cluster after a revision during the block. Raises Gap, also if it
        does not keep exactly these resources, BackupError, StorageError."""


class StorageOrigin:
    """A storage that is read without a server."""

    def __init__(self, storage: Storage) -> None:
        self.is_live = storage.is_live
        self._storage = storage

    async def copy(self, file: BinaryIO, progress: Progress) -> None:
        await asyncio.to_thread(pack, self._storage, file, progress)

    @asynccontextmanager
    async def changes(self, cluster: ClusterState) -> AsyncIterator[Changes]:
        async with self._storage.changes(cluster) as (store, rows):
            yield Changes(store, _timed(rows))


async def _timed(parts: ChangedRows) -> AsyncGenerator[Batch]:
    async for revision, rows in parts:
        yield Batch(revision, timestamp(), rows)


def pack(storage: Storage, file: BinaryIO, progress: Progress) -> None:
    """Write a backup of a storage; raises StorageError."""
    with storage.reading() as contents:
        for piece in pieces(contents.header, progress.counted(contents.rows())):
            file.write(piece)
            progress.add_bytes(len(piece))


class ServerOrigin:
    """A running server. `configure` returns how it is reached, with current credentials; it may
    raise BackupError."""

    is_live = True

    def __init__(self, configure: Callable[[], Awaitable[ClientConfig]]) -> None:
        self._configure = configure

    async def copy(self, file: BinaryIO, progress: Progress) -> None:
        async with self._opened(PATH) as connection:
            async for piece in connection.pieces():
                file.write(piece)
                progress.add_bytes(len(piece))

    @asynccontextmanager
    async def changes(self, cluster: ClusterState) -> AsyncIterator[Changes]:
        query: dict[str, Any] = {"after": cluster.revision}
        if cluster.resources:
            query["resource"] = cluster.resources[0]
        async with self._opened(f"{PATH}?{urlencode(query)}") as connection:
            stream = _Stream(connection)
            head = await stream.line()
            try:
                store, resources = str(head["store"]), tuple(head.get("resources", ()))
            except (AttributeError, TypeError, KeyError):
                raise BackupError("the server answers with something else than changes") from None
            if resources != cluster.resources:
                raise kept_elsewhere()
            yield Changes(store, stream.batches())

    @asynccontextmanager
    async def _opened(self, path: str) -> AsyncIterator[Connection]:
        """Open the answer of the server. Raises BackupError, also for errors in the block."""
        config = await self._configure()
        client = HttpClient(proxy_for=lambda url: config.proxy)
        try:
            tls, name = config.ssl_context(), config.server_name
            url = config.server.rstrip("/") + path
            request = Request("GET", url, _headers(config), tls=tls, server_name=name)
            connection = await client.open(request, timeout=_ANSWER_TIMEOUT)
            status = connection.status
            if status != 200:
                content = await connection.read_all(_MAX_ERROR_BYTES)
                check_success(Response(status, content, tuple(connection.headers)))
                raise CallError(f"it answers {status}")
            yield connection
        except (CallError, ClientConfigError) as error:
            if getattr(error, "code", 0) == 410:
                raise Gap(str(error)) from None
            raise BackupError(f"cannot read the backup from {config.server}: {error}") from None
        finally:
            await client.close()


class _Stream:
    """Reads lines and batches from an answer."""

    def __init__(self, connection: Connection) -> None:
        self._pieces = connection.pieces()
        self._buffer = bytearray()

    async def batches(self) -> AsyncGenerator[Batch]:
        while (head := await self.line()) is not None:
            try:
                revision, time, length = head
                if not 0 <= length <= _MAX_BATCH_BYTES:
                    raise ValueError(length)
                rows = decode_rows(await self._read(length))
            except (ValueError, TypeError):
                raise BackupError("what the server sends are no changes") from None
            yield Batch(revision, time, rows)

    async def line(self) -> Any:
        """Return the next line, parsed; None at the end."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _MAX_LINE_BYTES or not await self._more():
                break
        if not self._buffer:
            return None
        line = await self._read(end + 1) if end >= 0 else b""
        try:
            return orjson.loads(line)
        except ValueError:
            raise BackupError("what the server sends are no changes") from None

    async def _read(self, size: int) -> bytes:
        while len(self._buffer) < size:
            if not await self._more():
                raise BackupError("the server ended its answer in the middle")
        content = bytes(self._buffer[:size])
        del self._buffer[:size]
        return content

    async def _more(self) -> bool:
        try:
            async with asyncio.timeout(_SILENCE_TIMEOUT):
                piece = await anext(self._pieces, b"")
        except TimeoutError:
            raise BackupError(f"the server was silent for {_SILENCE_TIMEOUT:g} seconds") from None
        self._buffer += piece
        return bool(piece)


def _headers(config: ClientConfig) -> dict[str, str]:
    """The headers of a request. They decline content codings, because a backup is compressed."""
    headers = {"accept-encoding": "identity"}
    if proof := config.authorization():
        headers["authorization"] = proof
    return headers
