"""Calls to a plugin of a key management service, and the rules for its answers."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from time import monotonic
from typing import TypeVar
from uuid import uuid4

from fairlead.base import clock
from fairlead.base.metrics import REGISTRY
from fairlead.base.quotes import quote
from fairlead.codec.protobuf_wire import WireError
from fairlead.storage.backend import Fault, StorageError
from fairlead.storage.encryption.kms_messages import (
    SEED,
    V1,
    V2,
    Message,
    Plugin,
    Source,
    field,
    map_field,
)
from fairlead.wire.grpc.channel import Channel
from fairlead.wire.grpc.failures import CallFailed

T = TypeVar("T")

KEY_BYTES = 32
_MAX_ENCRYPTED_BYTES = 1024
_MAX_KEY_ID_BYTES = 1024
_MAX_ANNOTATIONS_BYTES = 32 * 1024
_MAX_SHOWN = 200  # characters

_PREFIX = "apiserver_envelope_encryption"
_BOUNDS = tuple(0.0001 * 2**step for step in range(20))
LATENCY = REGISTRY.histogram(
    f"{_PREFIX}_kms_operations_latency_seconds",
    "Duration of a call to a plugin of a key management service, by the code of its answer.",
    _BOUNDS,
    ("provider_name", "method_name", "grpc_status_code"),
)
STATUS_TIMES = REGISTRY.gauge(
    f"{_PREFIX}_key_id_hash_status_last_timestamp_seconds",
    "When a plugin last reported a key, by its hash.",
    ("provider_name", "key_id_hash"),
)
INVALID_KEY_IDS = REGISTRY.counter(
    f"{_PREFIX}_invalid_key_id_from_status",
    "Reports of plugins with a key id that cannot be used.",
    ("provider_name", "error"),
)


class KmsError(StorageError):
    """A plugin does not answer, or what it answers cannot be used; later it may."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the kms provider {shown(name)}: {reason}", Fault.PASSING)
        self.reason = reason


class Service:
    """A plugin behind its socket. All methods raise KmsError."""

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin
        self._channel = Channel(f"unix://{plugin.path}")
        self._is_known = plugin.api is not V1  # version 1 is asked for its version first

    async def close(self) -> None:
        await self._channel.close()

    async def status(self) -> str:
        """Return the id of the key of a plugin of version 2 that is healthy."""
        version, health, key_id = await self._call(
            "Status", b"", lambda answer: (answer.text(1), answer.text(2), answer.text(3))
        )
        if version not in self._plugin.api.names:
            raise self._error(f"it has the version {shown(version)}")
        if health != "ok":
            raise self._error(f"it is not healthy: {shown(health)}")
        self._check_key_id(key_id)
        STATUS_TIMES.set(clock.time(), (self._plugin.name, hashed(key_id)))
        return key_id

    def _check_key_id(self, key_id: str) -> None:
        for fails, error in (
            (not key_id, "empty"),
            (len(key_id.encode()) > _MAX_KEY_ID_BYTES, "too_long"),
        ):
            if fails:
                INVALID_KEY_IDS.add(of=(self._plugin.name, error))
                raise self._error(f"it reports a key id that is {error.replace('_', ' ')}")

    async def encrypt(self, secret: bytes) -> Source:
        if self._plugin.api is V1:
            request = field(1, V1.names[0]) + field(2, secret)
            return self._checked(await self._call("Encrypt", request, _source_v1))
        request = field(1, secret) + field(2, str(uuid4()))
        kind = SEED if self._plugin.api is V2 and self._plugin.derives else 0
        source = self._checked(await self._call("Encrypt", request, _source_v2))
        self._check_key_id(source.key_id)
        return source._replace(kind=kind)

    def _checked(self, source: Source) -> Source:
        if not 0 < len(source.encrypted) <= _MAX_ENCRYPTED_BYTES:
            raise self._error(f"it encrypts a key to {len(source.encrypted)} bytes")
        if sum(len(name) + len(text) for name, text in source.annotations) > _MAX_ANNOTATIONS_BYTES:
            raise self._error("it adds annotations of more than 32 KiB")
        return source

    async def decrypt(self, source: Source) -> bytes:
        if self._plugin.api is V1:
            request = field(1, V1.names[0]) + field(2, source.encrypted)
        else:
            request = field(1, source.encrypted) + field(2, str(uuid4()))
            request += field(3, source.key_id) + map_field(4, dict(source.annotations))
        secret = await self._call("Decrypt", request, lambda answer: answer.content(1))
        if len(secret) != KEY_BYTES:
            raise self._error(f"it decrypts a key to {len(secret)} bytes")
        return secret

    async def _call(self, method: str, request: bytes, read: Callable[[Message], T]) -> T:
        plugin, code = self._plugin, "OK"
        if not self._is_known:
            self._is_known = True
            await self._check_version()
        start = monotonic()
        try:
            path = f"/{plugin.api.service}/{method}"
            return read(Message(await self._channel.call(path, request, plugin.timeout)))
        except CallFailed as error:
            code = error.code
            raise self._error(f"{method}: {error}") from None
        except (WireError, ValueError):
            code = "INTERNAL"
            raise self._error(f"{method}: its answer cannot be read") from None
        finally:
            labels = (plugin.name, f"/{plugin.api.service}/{method}", code)
            LATENCY.observe(monotonic() - start, labels)

    async def _check_version(self) -> None:
        try:
            version = await self._call(
                "Version", field(1, V1.names[0]), lambda answer: answer.text(1)
            )
            if version not in V1.names:
                raise self._error(f"it has the version {shown(version)}")
        except BaseException:
            self._is_known = False
            raise

    def _error(self, reason: str) -> KmsError:
        return KmsError(self._plugin.name, reason)


def _source_v1(answer: Message) -> Source:
    return Source(answer.content(1))


def _source_v2(answer: Message) -> Source:
    annotations = tuple(sorted(answer.entries(3).items()))
    return Source(answer.content(1), answer.text(2), annotations)


def shown(text: str) -> str:
    """What a plugin says, in quotes."""
    return quote(text[:_MAX_SHOWN])


def hashed(key_id: str) -> str:
    return f"sha256:{sha256(key_id.encode()).hexdigest()}" if key_id else ""
