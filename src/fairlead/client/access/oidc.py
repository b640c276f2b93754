"""The `oidc` auth provider: refreshes ID tokens and writes them back to the configuration file."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from time import time
from typing import Any

import orjson

from fairlead.client.access.editor import change_file, entry_in
from fairlead.client.access.files import Entry, named_entries
from fairlead.client.access.model import AccessError, CredentialsError, Proof
from fairlead.client.access.oidc_provider import Provider, Tokens
from fairlead.client.access.renewal import Fetched, RenewedCredentials, shared
from fairlead.wire.outgoing.client_config import (
    ClientConfig,
    ClientConfigError,
    bearer,
    pem_of,
    read_client_config,
)

NAME = "oidc"
_SECONDS_BEFORE_EXPIRY = 10.0
Settings = Mapping[str, str]


def provider_credentials(name: str, entry: Entry, config: ClientConfig) -> RenewedCredentials:
    """The credentials of a user with this `auth-provider`; raises AccessError."""
    provider = entry.value["auth-provider"]
    if not isinstance(provider, dict):
        raise AccessError(f'auth-provider of the user "{name}" is not an object')
    if provider.get("name") != NAME:
        raise AccessError(
            f'the auth provider "{provider.get("name") or ""}" is unknown; there is only {NAME}:'
            " for others use a credential plugin (exec)"
        )
    settings = _settings(provider.get("config"), name)
    for field in ("idp-issuer-url", "client-id"):
        if not settings.get(field):
            raise AccessError(f"Must provide {field}")
    ca = _authority(settings, entry.directory)
    helper = _OidcRefresher(name, entry.origin, config, ca, settings)
    key = (NAME, entry.origin, name, tuple(sorted(settings.items())), config.certificate, ca)
    return shared(key, lambda: RenewedCredentials(helper.fetch, replaceable=False))


def _settings(config: Any, user: str) -> Settings:
    settings = config or {}
    if not isinstance(settings, dict) or not all(
        isinstance(value, str) for value in settings.values()
    ):
        raise AccessError(f'auth-provider of the user "{user}": config must hold texts')
    return settings


def _authority(settings: Settings, directory: Path) -> bytes:
    try:
        return pem_of(dict(settings), "idp-certificate-authority", directory)
    except ClientConfigError as error:
        raise AccessError(str(error)) from None


class _OidcRefresher:
    def __init__(
        self, user: str, origin: Path, config: ClientConfig, ca: bytes, settings: Settings
    ) -> None:
        self._user = user
        self._origin = origin
        self._config = config
        self._ca = ca
        self._settings = settings

    def fetch(self) -> Fetched:
        """A valid token; raises AccessError. Another process may have refreshed it, so the file is
        read first, and again if the provider rejects the refresh token."""
        self._settings = self._written()
        if stored := self._stored():
            return stored
        refresh_token = self._settings.get("refresh-token")
        if not refresh_token:
            raise CredentialsError("the id-token has expired, and there is no refresh-token")
        try:
            tokens = asyncio.run(self._provider().refresh(refresh_token))
        except CredentialsError:
            self._settings = self._written()
            if stored := self._stored():
                return stored
            raise
        self._write(tokens)
        return self._fetched(tokens.id_token)

    def _provider(self) -> Provider:
        settings = self._settings
        return Provider(
            settings["idp-issuer-url"],
            settings["client-id"],
            settings.get("client-secret", ""),
            self._ca,
        )

    def _stored(self) -> Fetched | None:
        """The current ID token, if it is still valid."""
        token = self._settings.get("id-token")
        if not token:
            return None
        fetched = self._fetched(token)
        return fetched if fetched.expires is not None and time() < fetched.expires else None

    def _fetched(self, token: str) -> Fetched:
        config = self._config
        try:
            proof = Proof(bearer(token), config.certificate, config.key)
        except ClientConfigError as error:
            raise CredentialsError(str(error)) from None
        return Fetched(proof, _expiry(token) - _SECONDS_BEFORE_EXPIRY)

    def _written(self) -> Settings:
        """The settings in the file now, or those loaded before if the user is no longer in it."""
        try:
            for name, user in named_entries(read_client_config(self._origin), "users"):
                provider = user.get("auth-provider") if name == self._user else None
                if isinstance(provider, dict) and provider.get("name") == NAME:
                    return {**self._settings, **_settings(provider.get("config"), name)}
        except (ClientConfigError, AccessError):
            pass  # may be being edited; keep the loaded settings
        return self._settings

    def _write(self, tokens: Tokens) -> None:
        changed = {"id-token": tokens.id_token}
        if tokens.refresh_token:
            changed["refresh-token"] = tokens.refresh_token

        def change(document: dict[str, Any]) -> None:
            if self._user not in dict(named_entries(document, "users")):
                return  # removed meanwhile: do not restore it
            user = entry_in(document, "users", self._user)
            provider = user.setdefault("auth-provider", {"name": NAME})
            provider["config"] = {**(provider.get("config") or {}), **changed}

        try:
            change_file(self._origin, change)
        except AccessError as error:
            raise CredentialsError(f"the new tokens cannot be saved: {error}") from None
        self._settings = {**self._settings, **changed}


def _expiry(token: str) -> float:
    """The expiry of an ID token; raises CredentialsError."""
    parts = token.split(".")
    if len(parts) != 3:
        raise CredentialsError("the id-token is not a JWT")
    try:
        claims = orjson.loads(base64.b64decode(parts[1] + "==", altchars=b"-_"))
        return float(claims["exp"])
    except (binascii.Error, ValueError, KeyError, TypeError):
        raise CredentialsError("failed to parse claims of the ID Token") from None
