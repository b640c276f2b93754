"""Encrypted values, in the format of the reference."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.storage.encryption.ciphers import AesCbc, AesGcm, Cipher, DecryptError, SecretBox
from fairlead.storage.encryption.keyring import PLAIN, Key, Sealed, Sealing, named_key

SECRETS, PATH = "core/secrets", "/registry/secrets/default/a"
KEY = bytes(range(32))
CIPHERS = [AesCbc(KEY), AesGcm(KEY), SecretBox(KEY)]


def kind(cipher: object) -> str:
    return type(cipher).__name__


def aescbc(name: str, key: bytes = KEY) -> Key:
    return named_key("aescbc", name, AesCbc(key))


def opens(cipher: Cipher, sealed: bytes) -> bool:
    try:
        cipher.open(PATH, sealed)
    except DecryptError:
        return False
    return True


class TestKnownVectors:
    def test_aescbc_as_openssl_writes_it(self) -> None:
        """`openssl enc -aes-256-cbc -K … -iv …`; the start stands in front."""
        sealed = KEY[:16] + bytes.fromhex("2ad7d96ca3388f27bbc155bb4a2b0139")
        assert AesCbc(KEY).open(PATH, sealed) == b"what is kept"

    def test_aescbc_of_a_whole_block(self) -> None:
        written = "a1848c42bb8b5e1a46acd958ccfec54fa0b8c3327fd78f5ba3f75af79f4834b8"
        sealed = KEY[:16] + bytes.fromhex(written)
        assert AesCbc(KEY[:16]).open(PATH, sealed) == b"0123456789abcdef"

    def test_aesgcm_as_libsodium_writes_it(self) -> None:
        """With the path as additional data; the nonce stands in front, the tag behind."""
        written = "306ab76fe58cb13be624e7ffd3c9059abbebda3d7b44470194a95125"
        sealed = KEY[:12] + bytes.fromhex(written)
        assert AesGcm(KEY).open(PATH, sealed) == b"what is kept"

    def test_secretbox_of_the_published_vector(self) -> None:
        key = "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389"
        nonce = "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37"
        box = (
            "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476f"
            "b8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee3"
            "14a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5"
            "f9b37973f622a43d14a6599b1f654cb45a74e355a5"
        )
        message = SecretBox(bytes.fromhex(key)).open(PATH, bytes.fromhex(nonce + box))
        assert message.hex().startswith("be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd4")
        assert len(message) == 131


@pytest.mark.parametrize("cipher", CIPHERS, ids=kind)
class TestEveryCipher:
    @pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 100_000])
    def test_opens_what_it_sealed(self, cipher: Cipher, size: int) -> None:
        value = b"x" * size
        assert cipher.open(PATH, cipher.seal(PATH, value)) == value

    def test_never_seals_a_value_the_same_way_twice(self, cipher: Cipher) -> None:
        assert cipher.seal(PATH, b"value") != cipher.seal(PATH, b"value")

    @pytest.mark.parametrize("length", range(0, 60, 7))
    def test_refuses_what_was_cut_off(self, cipher: Cipher, length: int) -> None:
        sealed = cipher.seal(PATH, b"a value of some length, longer than two blocks")
        with pytest.raises(DecryptError):
            cipher.open(PATH, sealed[:length])

    def test_refuses_another_key(self, cipher: Cipher) -> None:
        made_with_key: Callable[[bytes], Cipher] = type(cipher)
        other = made_with_key(bytes(32))
        sealed = [cipher.seal(PATH, b"%d" % number) for number in range(64)]
        # One in 256 blocks passes for one that was filled up well; all do not.
        assert any(not opens(other, item) for item in sealed)


@pytest.mark.parametrize("cipher", CIPHERS[1:], ids=kind)
def test_a_changed_value_is_refused(cipher: Cipher) -> None:
    sealed = bytearray(cipher.seal(PATH, b"value"))
    sealed[-1] ^= 1
    with pytest.raises(DecryptError):
        cipher.open(PATH, bytes(sealed))


def test_a_value_of_aesgcm_cannot_be_moved() -> None:
    cipher = AesGcm(KEY)
    with pytest.raises(DecryptError):
        cipher.open("/registry/secrets/default/b", cipher.seal(PATH, b"value"))


class TestKeysOfAResource:
    def test_the_first_key_seals_and_is_named_in_front(self) -> None:
        sealing = Sealing({SECRETS: [aescbc("new"), aescbc("old", bytes(32))]})
        stored = sealing.seal(SECRETS, PATH, b"value")
        assert stored.startswith(b"k8s:enc:aescbc:v1:new:")
        assert sealing.unseal(SECRETS, PATH, stored) == b"value"

    def test_every_key_opens(self) -> None:
        new, old = named_key("secretbox", "new", SecretBox(KEY)), aescbc("old")
        stored = Sealing({SECRETS: [old]}).seal(SECRETS, PATH, b"value")
        assert Sealing({SECRETS: [new, old]}).unseal(SECRETS, PATH, stored) == b"value"

    def test_what_was_plain_is_read_with_identity_among_the_providers(self) -> None:
        assert Sealing({SECRETS: [aescbc("k"), PLAIN]}).unseal(SECRETS, PATH, b"{}") == b"{}"

    def test_what_was_plain_is_refused_without_identity_among_the_providers(self) -> None:
        with pytest.raises(Sealed, match="/registry/secrets/default/a: is kept plain"):
            Sealing({SECRETS: [aescbc("k")]}).unseal(SECRETS, PATH, b"{}")

    def test_identity_in_front_writes_plain_values_and_opens_the_others(self) -> None:
        stored = Sealing({SECRETS: [aescbc("k")]}).seal(SECRETS, PATH, b"value")
        decrypting = Sealing({SECRETS: [PLAIN, aescbc("k")]})
        assert decrypting.unseal(SECRETS, PATH, stored) == b"value"
        assert decrypting.seal(SECRETS, PATH, b"value") == b"value"

    def test_other_resources_are_kept_plain(self) -> None:
        sealing = Sealing({SECRETS: [aescbc("k")]})
        assert sealing.seal("core/configmaps", PATH, b"value") == b"value"
        assert sealing.unseal("core/configmaps", PATH, b"value") == b"value"

    @pytest.mark.parametrize("sealing", [Sealing(), Sealing({SECRETS: [PLAIN]})])
    def test_an_encrypted_value_is_never_taken_for_a_plain_one(self, sealing: Sealing) -> None:
        stored = Sealing({SECRETS: [aescbc("lost")]}).seal(SECRETS, PATH, b"value")
        with pytest.raises(Sealed, match=r"default/a: is encrypted \(k8s:enc:aescbc:v1:lost\)"):
            sealing.unseal(SECRETS, PATH, stored)

    def test_a_key_of_the_same_name_that_is_another_one_is_refused(self) -> None:
        stored = Sealing({SECRETS: [named_key("aesgcm", "k", AesGcm(KEY))]})
        other = Sealing({SECRETS: [named_key("aesgcm", "k", AesGcm(bytes(32)))]})
        with pytest.raises(Sealed):
            other.unseal(SECRETS, PATH, stored.seal(SECRETS, PATH, b"value"))

    def test_a_row_is_stale_unless_the_first_key_sealed_it(self) -> None:
        old, new = Sealing({SECRETS: [aescbc("old")]}), Sealing({SECRETS: [aescbc("new")]})
        by_old, by_new = (item.seal(SECRETS, PATH, b"value") for item in (old, new))
        plain = Sealing({SECRETS: [PLAIN]})
        assert new.is_stale(SECRETS, by_old)
        assert new.is_stale(SECRETS, b"plain")
        assert not new.is_stale(SECRETS, by_new)
        assert plain.is_stale(SECRETS, by_old)
        assert not plain.is_stale(SECRETS, b"plain")
        assert not Sealing().is_stale(SECRETS, b"plain")
