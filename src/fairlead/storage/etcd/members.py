"""The members of an etcd cluster, and the calls to each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairlead.storage.backend import Compacted, Fault, StorageError
from fairlead.storage.etcd.messages import COMPACT, GRANT, RANGE, STATUS, TXN, WATCH

if TYPE_CHECKING:
    import grpc
    from grpc import aio

    Calls = aio.UnaryUnaryMultiCallable[bytes, bytes]

_OPTIONS: Sequence[tuple[str, int]] = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 10_000),  # etcd resents more than one in 5 seconds
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
)
# A member that knows of no leader refuses at once, and ends its watches.
_METADATA = (("hasleader", "true"),)
_AWAY = frozenset(("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"))
_BUSY = "etcdserver: too many requests"
_UNSENT = ("etcdserver: no leader", _BUSY, "failed to connect to all addresses")
_NEVER = "it was not sent"
_RAW: Any = None  # messages are bytes as they are


class CallFailed(Exception):
    """A call that was not answered, or with a refusal."""

    def __init__(self, code: str, details: str) -> None:
        super().__init__(details or code)
        self.code = code
        self.details = details

    @property
    def is_away(self) -> bool:
        """Whether another member, or the same one later, may do better."""
        return self.code in _AWAY or self.details == _BUSY

    @property
    def is_unsent(self) -> bool:
        """Whether it certainly had no effect."""
        return self.details == _NEVER or self.details.startswith(_UNSENT)

    @property
    def is_denied(self) -> bool:
        return self.code == "PERMISSION_DENIED"

    @property
    def is_compacted(self) -> bool:
        return self.details.endswith("required revision has been compacted")

    @property
    def is_future(self) -> bool:
        """Whether a revision was asked for that does not exist yet."""
        return self.details.endswith("required revision is a future revision")

    @property
    def is_lease_gone(self) -> bool:
        """Whether a lease that was to be used is over; nothing was written."""
        return self.details == "etcdserver: requested lease not found"

    @property
    def is_mistrust(self) -> bool:
        """Whether the two sides do not accept each other's certificates."""
        return "handshake" in self.details.lower()

    def storage_error(self) -> StorageError | Compacted:
        """The same in the words of the store."""
        if self.is_compacted:
            return Compacted()
        return StorageError(f"etcd: {self}", Fault.PASSING)


class Trust(NamedTuple):
    """Files for members that are reached by TLS; without a CA those of the system are trusted."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """Reads the files again; raises OSError."""
        from grpc import ssl_channel_credentials

        ca, certificate, key = (path.read_bytes() if path is not None else None for path in self)
        return ssl_channel_credentials(ca, key, certificate)


class Member:
    """One address. A channel is made when it is first needed and again after `drop`."""

    def __init__(self, url: str, trust: Trust) -> None:
        self.url = url
        self.is_mistrusted = False  # as it was asked last
        self._trust = trust
        self._channel: aio.Channel | None = None
        self._calls: dict[str, Calls] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def _connect(self) -> aio.Channel:
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what matters is said by us
        from grpc import aio

        scheme, _, address = self.url.rpartition("://")
        if scheme == "https":
            try:
                trusted = self._trust.credentials()
            except OSError as error:
                raise CallFailed("UNAVAILABLE", f"{error.filename}: {error.strerror}") from None
            channel = aio.secure_channel(address, trusted, options=_OPTIONS)
        else:
            channel = aio.insecure_channel(
                self.url if scheme == "unix" else address, options=_OPTIONS
            )
        self._channel = channel
        self._calls = {
            name: channel.unary_unary(name, _RAW, _RAW)
            for name in (RANGE, TXN, COMPACT, GRANT, STATUS)
        }
        return channel

    async def call(self, method: str, request: bytes, timeout: float) -> bytes:
        """Raises CallFailed."""
        from grpc import aio

        if self._channel is None:
            self._connect()
        try:
            return await self._calls[method](request, timeout=timeout, metadata=_METADATA)
        except aio.AioRpcError as error:
            raise _failure(error) from None
        except aio.UsageError:
            raise CallFailed("CANCELLED", _NEVER) from None
        except asyncio.CancelledError:
            raise _given_up() from None

    def watch(self) -> Stream:
        """Raises CallFailed."""
        channel = self._channel or self._connect()
        call = channel.stream_stream(WATCH, _RAW, _RAW)(_RAW, metadata=_METADATA)
        return Stream(self, call)

    def drop(self) -> None:
        """Give the connection up: what is under way on it fails at once."""
        channel, self._channel = self._channel, None
        if channel is not None:
            task = asyncio.get_running_loop().create_task(channel.close(None))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        self.drop()
        if self._closing:
            await asyncio.gather(*self._closing, return_exceptions=True)


class Stream:
    """A watch; its messages are bytes."""

    def __init__(self, member: Member, call: aio.StreamStreamCall[bytes, bytes]) -> None:
        self.member = member
        self._call = call

    async def write(self, message: bytes) -> None:
        """Raises CallFailed. One at a time."""
        from grpc import aio

        try:
            await self._call.write(message)
        except aio.AioRpcError as error:
            raise _failure(error) from None
        except asyncio.InvalidStateError:
            raise CallFailed("CANCELLED", "the watch has ended") from None
        except asyncio.CancelledError:
            raise _given_up() from None

    async def read(self) -> bytes:
        """Raises CallFailed, at the end as well."""
        from grpc import aio

        try:
            message = await self._call.read()
        except aio.AioRpcError as error:
            raise _failure(error) from None
        except asyncio.CancelledError:
            raise _given_up() from None
        if not isinstance(message, bytes):
            raise CallFailed("UNAVAILABLE", "the watch was ended by the other side")
        return message

    def cancel(self) -> None:
        self._call.cancel()


def _failure(error: aio.AioRpcError) -> CallFailed:
    return CallFailed(error.code().name, error.details() or "")


def _given_up() -> BaseException:
    """What a cancellation means: of the one who waits, or of the call that was dropped."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        return asyncio.CancelledError()
    return CallFailed("CANCELLED", "the connection was given up")
