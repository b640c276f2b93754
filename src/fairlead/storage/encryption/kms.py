"""Keys that a plugin of a key management service encrypts (providers `kms`).

Values are encrypted here, with a key that the plugin has encrypted. A thread with its own event
loop talks to the plugin: it gets such a key at the start, checks the plugin every minute, and gets
a new key when the plugin reports another `key_id` (version 2) or with each check (version 1). Tasks
of the server wait for the plugin in `prepare` only, for the keys of values that others encrypted.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from os import getpid, urandom
from random import uniform
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from fairlead.base import clock
from fairlead.base.logs import Logger
from fairlead.base.metrics import REGISTRY
from fairlead.storage.encryption.ciphers import AesCbc, AesGcm, DecryptError
from fairlead.storage.encryption.kms_messages import (
    SEED,
    V1,
    Envelope,
    Plugin,
    Source,
    decode_v1,
    decode_v2,
    encode_v1,
    encode_v2,
)
from fairlead.storage.encryption.kms_service import KEY_BYTES, KmsError, Service, hashed, shown

logger = Logger("fairlead.storage.encryption")
T = TypeVar("T")

CHECK_SECONDS = 60.0  # between checks of a plugin that works
RETRY_SECONDS = 10.0  # of one that does not
LIFETIME_SECONDS = 180.0  # of a key without a check that succeeded

_PREFIX = "apiserver_envelope_encryption"
KEY_IDS = REGISTRY.counter(
    f"{_PREFIX}_key_id_hash",
    "Values encrypted and decrypted, by the hash of the plugin's key.",
    ("transformation_type", "provider_name", "key_id_hash"),
)
KEY_ID_TIMES = REGISTRY.gauge(
    f"{_PREFIX}_key_id_hash_last_timestamp_seconds",
    "When a key of a plugin was last used, by its hash.",
    ("transformation_type", "provider_name", "key_id_hash"),
)
CACHED = REGISTRY.gauge(
    f"{_PREFIX}_dek_source_cache_size", "Decrypted keys in memory.", ("provider_name",)
)


class _Current(NamedTuple):
    """The key that encrypts, which may be used until a time."""

    source: Source
    secret: bytes
    until: float


class KmsCipher:
    """The `Cipher` of a plugin. Thread-safe."""

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin
        self.failure = "it was not asked yet"  # of the last check; empty if that succeeded
        self._current: _Current | None = None
        self._secrets: OrderedDict[Source, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._runner = _Runner()
        self._checks: asyncio.Task[None] | None = None
        self._service: Service
        self._closed = False

    # Encryption, without waiting.

    def seal(self, path: str, value: bytes) -> bytes:
        """Raises KmsError if there is no key that may be used."""
        current = self._usable()
        source, plugin = current.source, self.plugin
        data = _encrypt(source, current.secret, path, value)
        self._count("to_storage", source)
        envelope = Envelope(source, data)
        if plugin.api is V1:
            return encode_v1(envelope)
        return encode_v2(plugin.api, plugin.name, envelope)

    def _usable(self) -> _Current:
        self.start()
        current = self._current
        if current is None or monotonic() >= current.until:
            raise KmsError(self.plugin.name, self.failure or "it was not checked for too long")
        return current

    def open(self, path: str, sealed: bytes) -> bytes:
        """Decrypt; raises DecryptError, or KmsError if the plugin does not decrypt the key. Waits
        for the plugin unless the key is known, see `prepare`."""
        envelope = self._envelope(sealed)
        secret = self._known(envelope.source)
        if secret is None:
            self.start()
            secret = self._wait(self._decrypt(envelope.source), self._patience)
        self._count("from_storage", envelope.source)
        return _decrypt(envelope.source, secret, path, envelope.data)

    async def prepare(self, stored: Iterable[bytes]) -> None:
        """Get the keys of values, so that `open` does not wait. Raises KmsError."""
        sources: set[Source] = set()
        for sealed in stored:
            try:
                source = self._envelope(sealed).source
            except DecryptError:
                continue
            if self._known(source) is None:
                sources.add(source)
        if sources:
            self.start()
        for source in sources:
            await asyncio.wrap_future(self._runner.submit(self._decrypt(source)))

    def form(self, sealed: bytes) -> bytes:
        """Return what identifies the key of a value, as far as a new one would replace it."""
        if self.plugin.api is V1:
            return b""
        try:
            return _form(self._envelope(sealed).source)
        except DecryptError:
            return b"?"

    def current_form(self) -> bytes:
        current = self._current
        return _form(current.source) if current is not None and self.plugin.api is not V1 else b""

    def _envelope(self, sealed: bytes) -> Envelope:
        api = self.plugin.api
        try:
            return decode_v1(sealed) if api is V1 else decode_v2(api, sealed)
        except ValueError:
            raise DecryptError from None

    def _known(self, source: Source) -> bytes | None:
        with self._lock:
            secret = self._secrets.get(source)
            if secret is not None:
                self._secrets.move_to_end(source)
            return secret

    def _remember(self, source: Source, secret: bytes) -> None:
        with self._lock:
            self._secrets[source] = secret
            while len(self._secrets) > max(self.plugin.cache_size, 1):
                self._secrets.popitem(last=False)
            CACHED.set(len(self._secrets), (self.plugin.name,))

    def _count(self, direction: str, source: Source) -> None:
        if self.plugin.api is not V1:
            labels = (direction, self.plugin.name, hashed(source.key_id))
            KEY_IDS.add(of=labels)
            KEY_ID_TIMES.set(clock.time(), labels)

    # The following methods run in the thread of the runner.

    @property
    def _patience(self) -> float:
        return self.plugin.timeout + 1.0

    def start(self) -> None:
        """Get a key and check the plugin from now on; waits for the first answer. Does nothing if
        that has begun."""
        if not self._closed and self._runner.start():
            self._wait(self._begin(), 4 * self._patience)

    def _wait(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        try:
            return self._runner.wait(work, seconds)
        except TimeoutError:
            raise self._error(f"no answer within {seconds:g} seconds") from None

    def close(self) -> None:
        self._closed = True
        self._runner.stop(self._end)

    async def _end(self) -> None:
        if self._checks is not None:
            self._checks.cancel()
            await asyncio.gather(self._checks, return_exceptions=True)
        await self._service.close()

    def check(self) -> None:
        """Raise KmsError if the last check of the plugin failed."""
        self.start()
        if self.failure:
            raise self._error(self.failure)

    async def _begin(self) -> None:
        self._service = Service(self.plugin)
        await self._check()
        self._checks = asyncio.create_task(self._check_forever())

    async def _check_forever(self) -> None:
        while True:
            await asyncio.sleep(
                RETRY_SECONDS if self.failure else CHECK_SECONDS * uniform(0.9, 1.0)
            )
            await self._check()

    async def _check(self) -> None:
        try:
            await (self._check_v1() if self.plugin.api is V1 else self._check_v2())
        except KmsError as error:
            if error.reason != self.failure:
                logger.error("a kms provider fails", err=error)
            self.failure = error.reason
        else:
            if self.failure and self._current is not None:
                logger.info("a kms provider works", name=self.plugin.name)
            self.failure = ""

    async def _check_v1(self) -> None:
        secret = urandom(KEY_BYTES)
        source = await self._service.encrypt(secret)
        if await self._service.decrypt(source) != secret:
            raise self._error("it decrypts a key to something else than it encrypted")
        self._use(source, secret)

    async def _check_v2(self) -> None:
        key_id = await self._service.status()
        current = self._current
        if current is not None and current.source.key_id == key_id:
            self._use(current.source, current.secret)
            return
        secret = urandom(KEY_BYTES)
        source = await self._service.encrypt(secret)
        if source.key_id != key_id:
            raise self._error(
                f"it encrypts with the key {shown(source.key_id)} and reports {shown(key_id)}"
            )
        self._use(source, secret)
        logger.info("a kms provider has a key", name=self.plugin.name, key_id=key_id)

    def _use(self, source: Source, secret: bytes) -> None:
        self._remember(source, secret)
        self._current = _Current(source, secret, monotonic() + LIFETIME_SECONDS)

    async def _decrypt(self, source: Source) -> bytes:
        secret = self._known(source)
        if secret is None:
            secret = await self._service.decrypt(source)
            self._remember(source, secret)
        return secret

    def _error(self, reason: str) -> KmsError:
        return KmsError(self.plugin.name, reason)


class _Runner:
    """A thread with an event loop. It does not survive a fork: the child starts another."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = 0
        self._lock = threading.Lock()

    def start(self) -> bool:
        """Return whether this call started the thread."""
        if self._process == getpid():
            return False
        with self._lock:
            if self._process == getpid():
                return False
            self._loop = loop = asyncio.new_event_loop()
            self._process = getpid()
            self._thread = threading.Thread(target=_run, args=(loop,), name="kms", daemon=True)
            self._thread.start()
            return True

    def submit(self, work: Coroutine[Any, Any, T]) -> Any:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def wait(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        result: T = self.submit(work).result(seconds)
        return result

    def stop(self, end: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `end` on the loop, then end the thread."""
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None and self._process == getpid():
            asyncio.run_coroutine_threadsafe(end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.run_until_complete(asyncio.sleep(0.0))  # transports close in the next iteration
    loop.close()


def _form(source: Source) -> bytes:
    return b"%b:%d" % (source.key_id.encode(), source.kind)


# A seed gives each value a key of its own, derived from 32 random bytes in front of the value.

_INFO_BYTES = 32


def _derived(seed: bytes, info: bytes) -> AesGcm:
    return AesGcm(HKDFExpand(SHA256(), KEY_BYTES, info).derive(seed))


def _encrypt(source: Source, secret: bytes, path: str, value: bytes) -> bytes:
    if source.kind != SEED:
        return AesGcm(secret).seal(path, value)
    info = urandom(_INFO_BYTES)
    return info + _derived(secret, info).seal(path, value)


def _decrypt(source: Source, secret: bytes, path: str, data: bytes) -> bytes:
    """Raises DecryptError. Values of old releases with version 1 are in AES-CBC."""
    if source.kind == SEED:
        if len(data) < _INFO_BYTES:
            raise DecryptError
        return _derived(secret, data[:_INFO_BYTES]).open(path, data[_INFO_BYTES:])
    try:
        return AesGcm(secret).open(path, data)
    except DecryptError:
        if source.key_id:
            raise
        return AesCbc(secret).open(path, data)
