"""Keys of plugins (providers `kms`): the values on disk, other keys, and plugins that fail."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from support.client import PATIENCE
from support.kms import Plugin as Service
from support.waiting import comes_true, eventually

from fairlead.storage.backend import StorageError
from fairlead.storage.encryption import kms
from fairlead.storage.encryption.ciphers import AesCbc, DecryptError
from fairlead.storage.encryption.keyring import Sealing, named_key
from fairlead.storage.encryption.kms_messages import (
    V1,
    V2,
    V2_ALPHA,
    Api,
    Envelope,
    Plugin,
    Source,
    decode_v2,
    encode_v1,
)

SECRETS, PATH = "core/secrets", "/registry/secrets/default/a"
APIS = {"v1beta1": V1, "v2alpha1": V2_ALPHA, "v2": V2}


@pytest.fixture(autouse=True)
def frequent_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kms, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(kms, "RETRY_SECONDS", 0.05)


class Kit:
    """Plugins, and ciphers that use them, which end with the test."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.services: list[Service] = []
        self._ciphers: list[kms.KmsCipher] = []

    def service(self, version: str = "v2") -> Service:
        self.services.append(Service(self._directory / f"{len(self.services)}.sock", version))
        return self.services[-1].start()

    def cipher(self, service: Service, timeout: float = 2.0) -> kms.KmsCipher:
        api: Api = APIS[service.version]
        derives = service.version == "v2"
        plugin = Plugin("kit", str(service.socket), api, timeout, 1000, derives)
        self._ciphers.append(kms.KmsCipher(plugin))
        return self._ciphers[-1]

    def close(self) -> None:
        for cipher in self._ciphers:
            cipher.close()
        for service in self.services:
            service.stop()


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    kit = Kit(tmp_path)
    yield kit
    kit.close()


def sealing(cipher: kms.KmsCipher) -> Sealing:
    version = "v1" if cipher.plugin.api is V1 else "v2"
    return Sealing({SECRETS: [named_key("kms", "kit", cipher, version)]})


@pytest.mark.parametrize("version", APIS)
def test_value_is_opened_by_another_server(kit: Kit, version: str) -> None:
    service = kit.service(version)
    first, second = sealing(kit.cipher(service)), sealing(kit.cipher(service))
    stored = first.seal(SECRETS, PATH, b"value")
    prefix = "v1" if version == "v1beta1" else "v2"
    assert stored.startswith(f"k8s:enc:kms:{prefix}:kit:".encode())
    assert b"value" not in stored
    assert second.unseal(SECRETS, PATH, stored) == b"value"
    with pytest.raises(Exception, match="no configured key opens it"):
        second.unseal(SECRETS, PATH + "b", stored)


def test_envelope_of_version_2_has_key_source_and_annotations(kit: Kit) -> None:
    stored = kit.cipher(kit.service()).seal(PATH, b"value")
    source = decode_v2(V2, stored).source
    assert (source.key_id, source.kind) == ("key-1", 1)
    assert source.annotations == (("version.kms.example.com", b"key-1"),)


def test_each_value_of_a_seed_has_its_own_key(kit: Kit) -> None:
    cipher = kit.cipher(kit.service())
    first, second = (decode_v2(V2, cipher.seal(PATH, b"value")) for _ in range(2))
    assert first.source == second.source
    assert first.data[:32] != second.data[:32]
    assert kit.services[0].calls.count("Encrypt") == 1


def test_value_of_version_1_in_cbc_is_opened(kit: Kit) -> None:
    service = kit.service("v1beta1")
    cipher = kit.cipher(service)
    secret = bytes(range(32))
    wrapped = service._wrap(secret)
    stored = encode_v1(Envelope(Source(wrapped), AesCbc(secret).seal(PATH, b"old value")))
    assert cipher.open(PATH, stored) == b"old value"


def test_other_key_id_makes_values_stale(kit: Kit) -> None:
    service = kit.service()
    keys = sealing(kit.cipher(service))
    stored = keys.seal(SECRETS, PATH, b"value")
    assert not keys.is_stale(SECRETS, stored)
    service.key_id = "key-2"
    eventually(lambda: keys.is_stale(SECRETS, stored), "the other key is used")
    again = keys.seal(SECRETS, PATH, b"value")
    assert not keys.is_stale(SECRETS, again)
    assert keys.unseal(SECRETS, PATH, stored) == b"value"


def test_keys_that_rotate_under_load_lose_nothing(kit: Kit) -> None:
    service = kit.service()
    keys = sealing(kit.cipher(service))
    stored: list[bytes] = []
    seen: set[bytes | None] = set()

    def writes() -> bool:
        stored.append(keys.seal(SECRETS, PATH, b"%d" % len(stored)))
        seen.add(keys.form(SECRETS, stored[-1]))
        service.key_id = f"key-{len(seen) + 1}"
        return len(seen) >= 4

    eventually(writes, "three rotations are seen")
    other = sealing(kit.cipher(service))
    for number, value in list(enumerate(stored))[:: max(len(stored) // 50, 1)]:
        assert other.unseal(SECRETS, PATH, value) == b"%d" % number


def test_plugin_that_goes_away_does_not_stop_encryption_at_once(kit: Kit) -> None:
    service = kit.service()
    cipher = kit.cipher(service)
    stored = cipher.seal(PATH, b"value")
    service.refuses = True
    eventually(lambda: bool(cipher.failure), "the failure is seen")
    with pytest.raises(StorageError, match=r"kms provider .*kit.*: Status: the service is away"):
        cipher.check()
    assert cipher.open(PATH, cipher.seal(PATH, b"more")) == b"more"
    assert cipher.open(PATH, stored) == b"value"
    service.refuses = False
    eventually(lambda: not cipher.failure, "the plugin is back")


def test_key_that_was_not_checked_for_too_long_is_not_used(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kms, "LIFETIME_SECONDS", 0.2)
    service = kit.service()
    cipher = kit.cipher(service)
    cipher.start()
    service.refuses = True

    def refused() -> bool:
        try:
            cipher.seal(PATH, b"value")
        except StorageError as error:
            return "the service is away" in str(error)
        return False

    eventually(refused, "writes are refused")
    service.refuses = False
    eventually(lambda: not cipher.failure, "the plugin is back")
    assert cipher.open(PATH, cipher.seal(PATH, b"value")) == b"value"


@pytest.mark.parametrize("version", ["v2", "v1beta1"])
def test_plugin_that_was_away_at_first_is_used_when_it_comes(kit: Kit, version: str) -> None:
    service = kit.service(version)
    service.stop()
    cipher = kit.cipher(service)
    with pytest.raises(StorageError, match="cannot connect"):
        cipher.seal(PATH, b"value")
    service.start()
    eventually(lambda: not cipher.failure, "the plugin is found")
    assert cipher.open(PATH, cipher.seal(PATH, b"value")) == b"value"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"health": "locked"}, "it is not healthy: .*locked"),
        ({"reported_version": "v9"}, "it has the version .*v9"),
        ({"key_id": ""}, "a key id that is empty"),
        ({"key_id": "k" * 1025}, "a key id that is too long"),
        ({"wrong": b""}, "encrypts a key to 0 bytes"),
        ({"wrong": b"x" * 1025}, "encrypts a key to 1025 bytes"),
    ],
)
def test_answers_that_cannot_be_used_are_told(
    kit: Kit, change: dict[str, object], message: str
) -> None:
    service = kit.service()
    vars(service).update(change)
    with pytest.raises(StorageError, match=message):
        kit.cipher(service).seal(PATH, b"value")


def test_wrong_key_is_told(kit: Kit) -> None:
    service = kit.service()
    stored = kit.cipher(service).seal(PATH, b"value")
    service.wrong = b"short"
    with pytest.raises(StorageError, match="decrypts a key to 5 bytes"):
        kit.cipher(service).open(PATH, stored)
    service.wrong = b"x" * 32
    with pytest.raises(DecryptError):
        kit.cipher(service).open(PATH, stored)


def test_slow_plugin_does_not_block_the_event_loop(kit: Kit) -> None:
    service = kit.service()
    stored = sealing(kit.cipher(service)).seal(SECRETS, PATH, b"value")
    keys = sealing(kit.cipher(service, timeout=PATIENCE))
    keys.start()
    gate = service.gates["Decrypt"] = Event()
    service.calls.clear()

    async def prepare() -> None:
        prepared = asyncio.ensure_future(keys.prepare(SECRETS, [stored]))
        await comes_true(lambda: "Decrypt" in service.calls, "the plugin is asked")
        gate.set()  # the loop runs while the plugin has not answered
        await prepared

    asyncio.run(prepare())
    service.stop()
    assert keys.unseal(SECRETS, PATH, stored) == b"value"


def test_slow_plugin_is_given_up_after_its_timeout(kit: Kit) -> None:
    service = kit.service()
    stored = sealing(kit.cipher(service)).seal(SECRETS, PATH, b"value")
    keys = sealing(kit.cipher(service, timeout=1.0))
    keys.start()
    gate = service.gates["Decrypt"] = Event()
    with pytest.raises(StorageError, match="Decrypt: no answer in time"):
        asyncio.run(keys.prepare(SECRETS, [stored]))
    gate.set()
