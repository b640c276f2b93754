"""Controllers of bootstrap tokens.

The signer publishes the address and CA of this server in the ConfigMap cluster-info, signed with
every bootstrap token that allows signing, so that a joining node with a token can verify it. The
cleaner deletes expired tokens.
"""

from __future__ import annotations

import hmac
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from math import inf
from pathlib import Path

from fairlead.auth.authentication.bootstrap_tokens import expiry, signing_token
from fairlead.auth.authentication.service_accounts import SECRETS
from fairlead.base import clock
from fairlead.base.clock import time
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec import yaml_writer
from fairlead.controllers.framework import Keys
from fairlead.controllers.namespace_deletion import NAMESPACES
from fairlead.controllers.root_ca import CONFIG_MAPS
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.storage.version import Change

CLUSTER_INFO = "cluster-info"
_CONFIG = "kubeconfig"
_SIGNATURE = "jws-kubeconfig-"
_EARLIER_MANAGER = "apiserver"  # field manager in stores of earlier releases
_MAX_DELAY = 24 * 3600.0


class BootstrapSigner:
    """There is one key, the name of the ConfigMap. `owner` writes the kubeconfig unless another
    field manager owns it; `signer` adds the signatures. `address` is where clients reach the
    server."""

    name = "bootstrap-signer"
    workers = 1

    def __init__(
        self, owner: Client, signer: Client, dialect: Dialect, address: str, ca_file: Path
    ) -> None:
        self._owner = owner
        self._signer = signer
        self._system, self._public = dialect.system_namespace, dialect.public_namespace
        self._type = dialect.label("bootstrap.@/token")
        self._full_token = dialect.cluster_info_full_token
        self._address = address
        self._ca_file = ca_file

    def follows(self) -> Mapping[str, Keys]:
        return {
            NAMESPACES: self._key_of_change,
            CONFIG_MAPS: self._cluster_info,
            SECRETS: self._tokens,
        }

    def _key_of_change(self, change: Change) -> Iterable[str]:
        """The key when the namespace of the ConfigMap is created."""
        return (CLUSTER_INFO,) if change.added and change.name == self._public else ()

    def _cluster_info(self, change: Change) -> Iterable[str]:
        is_it = change.name == CLUSTER_INFO and change.namespace == self._public
        return (CLUSTER_INFO,) if is_it else ()

    def _tokens(self, change: Change) -> Iterable[str]:
        if change.namespace != self._system:
            return ()
        versions = (change.before, change.after)
        kinds = [version.fields.get("type") for version in versions if version is not None]
        return (CLUSTER_INFO,) if self._type in kinds else ()

    async def sync(self, key: str) -> float | None:
        try:
            current = await self._described(self._owner.find(CONFIG_MAPS, self._public, key))
            return await self._sign(current)
        except StatusError as error:
            if error.code == 404:
                return None  # deleted; its event queues the key again
            raise

    async def _described(self, current: Object | None) -> Object:
        """The ConfigMap with an up-to-date kubeconfig."""
        config = self._config()
        if current is None:
            metadata = {"name": CLUSTER_INFO, "namespace": self._public}
            value = {"metadata": metadata, "data": {_CONFIG: config}}
            return await self._owner.create(CONFIG_MAPS, value)
        stored = (current.get("data") or {}).get(_CONFIG)
        if stored == config or (stored is not None and not _is_written_by(current, self._owner)):
            return current
        return await self._owner.change(
            CONFIG_MAPS, self._public, CLUSTER_INFO, lambda old: _with_data(old, {_CONFIG: config})
        )

    def _config(self) -> str:
        """A kubeconfig with the address and CA of the server and no user."""
        cluster = {
            "certificate-authority-data": b64encode(self._ca_file.read_bytes()).decode(),
            "server": f"https://{self._address}",
        }
        config: Object = {
            "apiVersion": "v1",
            "clusters": [{"cluster": cluster, "name": ""}],
            "contexts": None,
            "current-context": "",
            "kind": "Config",
            "preferences": {},
            "users": None,
        }
        return yaml_writer.dump(config).decode()

    async def _sign(self, current: Object) -> float | None:
        """Sign with all tokens; returns the seconds until the first token expires."""
        tokens, first_end = self._signing_tokens()
        if self._signed(current, tokens) != current:
            await self._signer.change(
                CONFIG_MAPS, self._public, CLUSTER_INFO, lambda old: self._signed(old, tokens)
            )
        if first_end == inf:
            return None
        return min(max(first_end - clock.time(), 0.0), _MAX_DELAY)

    def _signing_tokens(self) -> tuple[dict[str, str], float]:
        """Token secrets by id, and the time when the first expires."""
        tokens: dict[str, str] = {}
        first_end = inf
        for version in self._signer.collection(SECRETS).current(self._system):
            if version.fields.get("type") != self._type:
                continue
            secret = version.object()
            token = signing_token(secret)
            if token is not None:
                tokens[token[0]] = token[1]
                first_end = min(first_end, expiry(secret))
        return tokens, first_end

    def _signed(self, current: Object, tokens: Mapping[str, str]) -> Object:
        data = current.get("data") or {}
        config = data.get(_CONFIG)
        if config is None:
            return current
        signatures = {
            f"{_SIGNATURE}{token_id}": detached_signature(
                config, token_id, f"{token_id}.{secret}" if self._full_token else secret
            )
            for token_id, secret in tokens.items()
        }
        others = {key: text for key, text in data.items() if not key.startswith(_SIGNATURE)}
        new_data = {**others, **signatures}
        return current if new_data == data else {**current, "data": new_data}


def detached_signature(content: str, key_id: str, key: str) -> str:
    """A detached JWS (HS256): without its payload."""
    header = json.dumps({"alg": "HS256", "kid": key_id}, separators=(",", ":"))
    protected, payload = _encoded(header.encode()), _encoded(content.encode())
    digest = hmac.new(key.encode(), f"{protected}.{payload}".encode(), sha256).digest()
    return f"{protected}..{_encoded(digest)}"


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def _with_data(value: Object, data: Mapping[str, str]) -> Object:
    return {**value, "data": {**(value.get("data") or {}), **data}}


def _is_written_by(value: Object, client: Client) -> bool:
    """Whether this client is the only field manager of the kubeconfig."""
    entries = value["metadata"].get("managedFields") or ()
    owners = {
        entry.get("manager")
        for entry in entries
        if f"f:{_CONFIG}" in ((entry.get("fieldsV1") or {}).get("f:data") or {})
    }
    return owners in ({client.manager}, {_EARLIER_MANAGER})


class TokenCleaner:
    """Deletes tokens when they expire. Keys are names of Secrets in the system namespace. A
    malformed expiration counts as expired."""

    name = "token-cleaner"
    workers = 1

    def __init__(self, objects: Client, dialect: Dialect) -> None:
        self._objects = objects
        self._namespace = dialect.system_namespace
        self._type = dialect.label("bootstrap.@/token")

    def follows(self) -> Mapping[str, Keys]:
        return {SECRETS: self._name_of_token}

    def _name_of_token(self, change: Change) -> Iterable[str]:
        if change.after is None or change.namespace != self._namespace:
            return ()
        return (change.name,) if change.after.fields.get("type") == self._type else ()

    async def sync(self, key: str) -> float | None:
        secret = self._objects.find(SECRETS, self._namespace, key)
        if secret is None or secret.get("type") != self._type:
            return None
        left = expiry(secret) - time()
        if left == inf:
            return None
        if left > 0:
            return min(left, _MAX_DELAY)
        options = DeleteOptions(uid=secret["metadata"]["uid"])
        await self._objects.delete(SECRETS, self._namespace, key, options)
        return None
