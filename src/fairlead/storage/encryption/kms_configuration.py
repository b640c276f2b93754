"""Reads the elements `kms` of the file of `--encryption-provider-config`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from fairlead.base.release import Release
from fairlead.codec.types.durations import DurationError, parse_duration
from fairlead.codec.types.model import Object
from fairlead.storage.encryption import kms
from fairlead.storage.encryption.keyring import Key, named_key
from fairlead.storage.encryption.kms_messages import V1, V2, V2_ALPHA, Api, Plugin

_DEFAULT_CACHE = 1000
_FIRST_STABLE = 29  # minor release from which version 2 of the plugins' API is stable


class Fault(ValueError):
    """A field is invalid; `path` is its path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path


class KmsKeys:
    """Makes the keys of a release. Plugins that are configured as before keep their cipher: `known`
    are the keys by plugin."""

    def __init__(
        self, release: Release, is_on: Callable[[str], bool], known: Mapping[object, Key]
    ) -> None:
        self._release = release
        self._is_on = is_on
        self._keys: dict[object, Key] = dict(known)
        self._named: dict[str, object] = {}

    def key(self, path: str, value: Object) -> Key:
        """Raises Fault."""
        version = value.get("apiVersion") or "v1"
        if version not in ("v1", "v2"):
            raise Fault(f"{path}.apiVersion", f'"{version}" is not known, only v1 and v2')
        name = value.get("name") or ""
        if not name or ":" in name:
            raise Fault(f"{path}.name", "may not hold a colon" if name else "is required")
        self._check_gate(path, version)
        plugin = Plugin(
            name,
            _socket(f"{path}.endpoint", value.get("endpoint") or ""),
            self._api(version),
            _timeout(f"{path}.timeout", value.get("timeout")),
            _cache_size(f"{path}.cachesize", version, value.get("cachesize")),
            self._release.minor >= _FIRST_STABLE,
        )
        place = f"{version}:{name}"
        if self._named.setdefault(place, plugin) != plugin:
            raise Fault(f"{path}.name", f'"{name}" is the name of another provider')
        if plugin not in self._keys:
            self._keys[plugin] = named_key("kms", name, kms.KmsCipher(plugin), version)
        return self._keys[plugin]

    def _api(self, version: str) -> Api:
        if version == "v1":
            return V1
        return V2 if self._release.minor >= _FIRST_STABLE else V2_ALPHA

    def _check_gate(self, path: str, version: str) -> None:
        is_stable = self._release.minor >= _FIRST_STABLE
        if version == "v1" and is_stable and not self._is_on("KMSv1"):
            raise Fault(
                path, "version v1 is deprecated: use v2, or --feature-gates=KMSv1=true for now"
            )
        if version == "v2" and not is_stable and not self._is_on("KMSv2"):
            raise Fault(
                path, "version v2 is off in this release without --feature-gates=KMSv2=true"
            )


def _socket(path: str, endpoint: str) -> str:
    if not endpoint:
        raise Fault(path, "is required")
    parts = urlsplit(endpoint)
    if parts.scheme != "unix":
        raise Fault(path, f'"{endpoint}" has an unsupported scheme, only unix is supported')
    # unix:///run/a.sock, and unix:///@a for an abstract socket
    name = parts.path or parts.netloc
    if name.startswith("/@"):
        return f"\0{name[2:]}"
    if not name.startswith("/"):
        raise Fault(path, f'"{endpoint}" is no address such as unix:///run/kms.sock')
    return name


def _timeout(path: str, text: str | None) -> float:
    if not text:
        return 3.0
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        raise Fault(path, str(error)) from None
    if seconds <= 0:
        raise Fault(path, "must be more than 0")
    return seconds


def _cache_size(path: str, version: str, size: int | None) -> int:
    if version == "v2":
        if size is not None:
            raise Fault(path, "is not supported with version v2")
        return _DEFAULT_CACHE
    if size == 0:
        raise Fault(path, "must not be 0; less than 0 turns it off")
    return _DEFAULT_CACHE if size is None else size
