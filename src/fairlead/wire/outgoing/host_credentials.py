"""Credentials by the host that is called: the users of a client configuration file whose names
are hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fairlead.wire.outgoing.client_config import (
    ClientConfig,
    ClientConfigError,
    credentials,
    read_client_config,
)

_DEFAULT_PORT = "443"


class HostCredentials:
    """`users` are credentials by `host`, `host:port`, `*.domain` or `*`, which is for all others.
    A port may be left out if it is 443."""

    def __init__(self, users: Mapping[str, ClientConfig] | None = None) -> None:
        self._users = users or {}

    def of(self, host: str, port: int) -> ClientConfig | None:
        for name in _names(host, str(port)) if self._users else ():
            if name in self._users:
                return self._users[name]
        return None


def _names(host: str, port: str) -> Iterator[str]:
    """The names under which credentials for a host are looked for, the closest first."""
    targets = [f"{host}:{port}"]
    if port == _DEFAULT_PORT:
        targets.append(host)
    for target in targets:
        yield target
        steps = target.split(".")
        for index in range(1, len(steps)):
            yield f"*.{'.'.join(steps[index:])}"
    yield "*"


def load_host_credentials(path: Path) -> HostCredentials:
    """Raises ClientConfigError."""
    listed = read_client_config(path).get("users") or []
    found: dict[str, ClientConfig] = {}
    try:
        if not isinstance(listed, list):
            raise ClientConfigError("users is not a list")
        for entry in listed:
            name = entry.get("name") if isinstance(entry, dict) else None
            user = entry.get("user") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not isinstance(user, dict | None):
                raise ClientConfigError("users has an entry that is not a name and a user")
            found[name] = credentials(user or {}, name, path.parent)
    except ClientConfigError as error:
        raise ClientConfigError(f"{path}: {error}") from None
    return HostCredentials(found)
