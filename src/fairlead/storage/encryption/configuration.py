"""Reads and validates the file of `--encryption-provider-config`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from fairlead.base.dialect import Dialect
from fairlead.base.files import text_beside
from fairlead.base.release import V1_36, Release
from fairlead.codec.bodies import BodyError, TooDeep, parse_yaml
from fairlead.codec.types.decode import decoder, unknown_paths
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Object, Struct
from fairlead.codec.types.notation import parse
from fairlead.storage.encryption.ciphers import (
    AES_SIZES,
    SECRETBOX_SIZES,
    AesCbc,
    AesGcm,
    Cipher,
    SecretBox,
)
from fairlead.storage.encryption.keyring import PLAIN, Key, Sealing, named_key
from fairlead.storage.encryption.kms_configuration import Fault, KmsKeys

FLAG = "--encryption-provider-config"

_PROVIDERS: dict[str, tuple[Callable[[bytes], Cipher], tuple[int, ...]]] = {
    "aesgcm": (AesGcm, AES_SIZES),
    "aescbc": (AesCbc, AES_SIZES),
    "secretbox": (SecretBox, SECRETBOX_SIZES),
}
_CHOICES = (*_PROVIDERS, "identity", "kms")
# Accepted apiVersions and kinds; the last pair is from old documentation.
_NAMES = (
    ("apiserver.config.@/v1", "EncryptionConfiguration"),
    ("v1", "EncryptionConfig"),
)


class EncryptionError(ValueError):
    """The configuration is invalid; the text names the file and the field, never a key."""


def read_encryption(
    path: Path,
    dialect: Dialect,
    release: Release = V1_36,
    is_on: Callable[[str], bool] = lambda gate: True,
) -> Sealing:
    """Read the file; raises EncryptionError. `is_on` tells whether a feature gate is on."""
    return Sealing(read_keys(path, dialect, release, is_on))


def read_keys(
    path: Path,
    dialect: Dialect,
    release: Release,
    is_on: Callable[[str], bool],
    known: Mapping[object, Key] | None = None,
) -> dict[str, list[Key]]:
    """Return the keys of the file by resource; raises EncryptionError."""
    try:
        return _keys(_decode(_load(path), dialect), KmsKeys(release, is_on, known or {}))
    except Fault as fault:
        location = f"{path}: {fault.path}" if fault.path else str(path)
        raise EncryptionError(f"{FLAG}: {location}: {fault}") from None


def _load(path: Path) -> Object:
    try:
        value, repeated = parse_yaml(path.read_bytes())
    except OSError as error:
        raise Fault("", f"cannot be read: {error.strerror}") from None
    except (BodyError, TooDeep) as error:
        raise Fault("", str(error)) from None
    if repeated:
        raise Fault("", repeated[0])
    if not isinstance(value, dict):
        raise Fault("", "is not a mapping of fields")
    return value


def _decode(value: Object, dialect: Dialect) -> Object:
    type_meta = value.pop("apiVersion", None), value.pop("kind", None)
    names = [(dialect.group_name(version), kind) for version, kind in _NAMES]
    if type_meta not in names:
        field = "kind" if type_meta[0] in dict(names) else "apiVersion"
        text = " ".join(str(word) for word in type_meta if word is not None) or "nothing"
        raise Fault(field, f'"{text}" is not known, only {" ".join(names[0])}')
    unknown: list[str] = []
    try:
        decoded: Object = decoder(_struct())(value, unknown)
    except DecodeError as error:
        raise Fault(".".join(reversed(error.fields)), str(error)) from None
    if unknown:
        raise Fault(unknown_paths(_struct(), value)[0], "unknown field")
    return decoded


def _keys(value: Object, kms_keys: KmsKeys) -> dict[str, list[Key]]:
    """Return the keys by resource. A resource listed again gets the later keys appended."""
    keys_by_resource: dict[str, list[Key]] = {}
    entries = value.get("resources") or ()
    if not entries:
        raise Fault("resources", "there are none, so that nothing would be encrypted")
    for index, entry in enumerate(entries):
        path = f"resources[{index}]"
        names = entry.get("resources") or ()
        if not names:
            raise Fault(f"{path}.resources", "at least one is required")
        keys = list(_keys_of_entry(f"{path}.providers", entry.get("providers") or (), kms_keys))
        if not keys:
            raise Fault(f"{path}.providers", "at least one is required")
        for number, name in enumerate(names):
            name_path = f"{path}.resources[{number}]"
            earlier_keys = keys_by_resource.setdefault(_stored_name(name_path, name), [])
            if any(
                key.cipher and key.prefix == earlier.prefix
                for key in keys
                for earlier in earlier_keys
            ):
                raise Fault(name_path, "has a key of the same name in an earlier element")
            earlier_keys.extend(keys)
    return keys_by_resource


def _stored_name(path: str, name: str) -> str:
    """Convert a name such as `secrets` or `deployments.apps` to the store's resource name."""
    plural, dot, group = name.partition(".")
    if not plural or "*" in name or "/" in name or (dot and not group):
        raise Fault(path, f'"{name}" is no resource such as secrets or deployments.apps')
    return f"{group or 'core'}/{plural}"


def _keys_of_entry(path: str, providers: Sequence[Object], kms_keys: KmsKeys) -> Iterator[Key]:
    for index, provider in enumerate(providers):
        provider_path = f"{path}[{index}]"
        provider_names = list(provider)
        if not provider_names:
            raise Fault(provider_path, f"names no provider, only {', '.join(_CHOICES)} are known")
        if len(provider_names) > 1:
            raise Fault(
                provider_path,
                f"names {len(provider_names)} providers; each is an element of its own",
            )
        name = provider_names[0]
        if name == "identity":
            yield PLAIN
        elif name == "kms":
            yield kms_keys.key(f"{provider_path}.kms", provider["kms"])
        else:
            yield from _keys_of_provider(
                f"{provider_path}.{name}.keys", name, provider[name].get("keys") or ()
            )


def _keys_of_provider(path: str, provider: str, keys: Sequence[Object]) -> Iterator[Key]:
    if not keys:
        raise Fault(path, "at least one is required")
    make, sizes = _PROVIDERS[provider]
    names: set[str] = set()
    for index, key in enumerate(keys):
        key_path = f"{path}[{index}]"
        name = key.get("name", "")
        if not name or ":" in name:
            raise Fault(f"{key_path}.name", "may not hold a colon" if name else "is required")
        if name in names:
            raise Fault(f"{key_path}.name", f'"{name}" is the name of another key')
        names.add(name)
        yield named_key(provider, name, make(_secret(f"{key_path}.secret", key, sizes)))


def _secret(path: str, key: Object, sizes: tuple[int, ...]) -> bytes:
    text = key.get("secret", "")
    if not text:
        raise Fault(path, "is required")
    try:
        secret = base64.b64decode(text.translate({10: None, 13: None}), validate=True)
    except (binascii.Error, ValueError):
        raise Fault(path, "is not base64") from None
    if len(secret) not in sizes:
        allowed = " or ".join(str(size) for size in sizes)
        raise Fault(path, f"has {len(secret)} bytes, not {allowed}")
    return secret


@cache
def _struct() -> Struct:
    text = text_beside(__file__, "configuration.types")
    return parse("encryption", text, lambda _: {})["EncryptionConfiguration"]
