"""The config map that configures authentication in extension servers: the CAs of clients, and the
proxies that may pass users in headers. Several servers may share it; each adds its own entries."""

from __future__ import annotations

import argparse
import json
import re
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence

from fairlead.auth.authentication.authorities import Authorities
from fairlead.auth.authentication.factory import Authentication
from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers.framework import Keys
from fairlead.controllers.root_ca import CONFIG_MAPS
from fairlead.operations.client import Client
from fairlead.process.certificates.authority import PROXY_NAME, Pki
from fairlead.process.certificates.validity import validity_of
from fairlead.resources.gates import Gates
from fairlead.storage.version import Change

NAME = "extension-apiserver-authentication"
CLIENT_CA, PROXY_CA = "client-ca-file", "requestheader-client-ca-file"
ALLOWED_NAMES = "requestheader-allowed-names"
UID_HEADERS = "requestheader-uid-headers"
# Headers that this server sends to extension servers.
_OWN_HEADERS = {
    "requestheader-username-headers": ["X-Remote-User"],
    UID_HEADERS: ["X-Remote-Uid"],
    "requestheader-group-headers": ["X-Remote-Group"],
    "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
}
_LOOK_AGAIN = 60.0
_CERTIFICATE = re.compile(
    f"{re.escape(ssl.PEM_HEADER)}[A-Za-z0-9+/=\\s]*?{re.escape(ssl.PEM_FOOTER)}"
)
_TOO_MUCH = (413, 422)
_CONFLICT = 409
_MAX_ATTEMPTS = 10

Data = dict[str, str]


class AuthenticationInfo:
    """A controller with one key, the config map. The server's own proxy CA is polled; the other CAs
    notify on change."""

    name = "cluster-authentication-info"
    workers = 1
    is_steady = True

    def __init__(
        self,
        objects: Client,
        dialect: Dialect,
        options: argparse.Namespace,
        authentication: Authentication,
        pki: Pki,
        gates: Gates,
    ) -> None:
        self._objects = objects
        self._namespace = dialect.system_namespace
        self._key = f"{self._namespace}/{NAME}"
        self._clients = authentication.client_authorities
        self._configured = authentication.proxy_authorities
        self._own = Authorities(pki.proxy_ca.certificate) if pki.own_proxy else None
        self._lists = _proxy_lists(options, given=self._configured is not None, own=pki.own_proxy)
        if not gates["RemoteRequestHeaderUID"]:
            del self._lists[UID_HEADERS]

    def add_by(self, add: Callable[[str], None]) -> None:
        add(self._key)
        for authorities in (self._clients, self._configured):
            if authorities is not None:
                authorities.listeners.append(lambda: add(self._key))

    def follows(self) -> Mapping[str, Keys]:
        return {CONFIG_MAPS: self._of_change}

    def _of_change(self, change: Change) -> Iterable[str]:
        return (self._key,) if change.key == self._key else ()

    async def prepare(self) -> None:
        """Write the config map before the server becomes ready, so that clients of a ready server
        find it there. Retries when another server writes at the same time."""
        for _ in range(_MAX_ATTEMPTS):
            try:
                await self.sync(self._key)
            except StatusError as error:
                if error.code != _CONFLICT:
                    raise
            else:
                return

    async def sync(self, key: str) -> float:
        objects = self._objects
        current = objects.find(CONFIG_MAPS, self._namespace, NAME)
        try:
            if current is None:
                metadata = {"name": NAME, "namespace": self._namespace}
                await objects.create(CONFIG_MAPS, {"metadata": metadata, "data": self._data({})})
            else:
                data = self._data(current.get("data") or {})
                if data != current.get("data"):
                    await objects.replace(CONFIG_MAPS, {**current, "data": data})
        except StatusError as error:
            if current is not None and error.code in _TOO_MUCH:
                await objects.delete(CONFIG_MAPS, self._namespace, NAME)
            raise
        return _LOOK_AGAIN

    def _data(self, published: Data) -> Data:
        """Merge the known entries with those of this server."""
        data = {**published, CLIENT_CA: _bundle(published.get(CLIENT_CA, ""), self._clients.pem)}
        proxies = [proxy for proxy in (self._configured, self._own) if proxy is not None]
        if not proxies:
            return data
        if self._own is not None:
            self._own.reload()
        data[PROXY_CA] = _bundle(published.get(PROXY_CA, ""), *(proxy.pem for proxy in proxies))
        for name, values in self._lists.items():
            listed = _listed(published.get(name))
            all_of_them = _union(listed or (), values)
            if all_of_them != listed:
                data[name] = json.dumps(all_of_them, separators=(",", ":"))
        return data


def _proxy_lists(
    options: argparse.Namespace, *, given: bool, own: bool
) -> dict[str, Sequence[str]]:
    """Return the headers that name users and the names that may send them: those of the command
    line, and this server's. An empty list of names allows any."""
    lists: dict[str, Sequence[str]] = {}
    for name, headers in _OWN_HEADERS.items():
        configured: list[str] = getattr(options, name.replace("-", "_")) if given else []
        lists[name] = _union(configured, headers if own else [])
    allowed: list[str] = options.requestheader_allowed_names if given else []
    allows_any = given and not allowed
    lists[ALLOWED_NAMES] = [] if allows_any else _union(allowed, [PROXY_NAME] if own else [])
    return lists


def _union(present: Iterable[str], added: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*present, *added]))


def _listed(text: str | None) -> list[str] | None:
    """Return the strings of a JSON list; None for anything else."""
    try:
        values = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    is_list = isinstance(values, list) and all(isinstance(value, str) for value in values)
    return values if is_list else None


def _bundle(*texts: str) -> str:
    """Merge bundles: each certificate once, without expired and malformed ones."""
    certificates: dict[bytes, None] = {}
    for text in texts:
        for block in _CERTIFICATE.findall(text):
            try:
                ended = validity_of(block.encode()).end <= clock.now()
                if not ended:
                    certificates[ssl.PEM_cert_to_DER_cert(block)] = None
            except ValueError:
                continue
    return "".join(map(ssl.DER_cert_to_PEM_cert, certificates))
