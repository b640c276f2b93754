"""Fills in Secrets of service account tokens, and deletes them with their account."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from fairlead.auth.authentication.account_tokens import TokenIssuer
from fairlead.auth.authentication.service_accounts import ACCOUNTS, SECRETS
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers.framework import Keys
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.storage.version import Change, Version


class TokenSecrets:
    """Keys are `namespace/name` of Secrets, followed by `/account` for deleted ones."""

    name = "tokens-controller"
    workers = 2

    def __init__(
        self, objects: Client, dialect: Dialect, issuer: TokenIssuer, ca_file: Path
    ) -> None:
        self._objects = objects
        self._issuer = issuer
        self._type = dialect.label("@/service-account-token")
        self._name_annotation = dialect.label("@/service-account.name")
        self._uid_annotation = dialect.label("@/service-account.uid")
        self._ca = _encoded(ca_file.read_bytes())

    def follows(self) -> Mapping[str, Keys]:
        return {SECRETS: self._key_of_secret, ACCOUNTS: self._keys_of_lost_account}

    def _key_of_secret(self, change: Change) -> Iterable[str]:
        if change.after is not None:
            return (change.key,) if self._is_token(change.after) else ()
        if change.before is None or not self._is_token(change.before):
            return ()
        annotations = change.before.object()["metadata"].get("annotations") or {}
        return (f"{change.key}/{annotations.get(self._name_annotation, '')}",)

    def _is_token(self, secret: Version) -> bool:
        return secret.fields.get("type") == self._type

    def _keys_of_lost_account(self, change: Change) -> Iterable[str]:
        """All token Secrets of the namespace when an account is deleted, or created: tokens of a
        deleted account, also of an earlier one with the same name, are deleted."""
        if not change.deleted and not change.added:
            return ()
        versions = self._objects.collection(SECRETS).current(change.namespace)
        return [secret.key for secret in versions if self._is_token(secret)]

    async def sync(self, key: str) -> None:
        namespace, name, *account_name = key.split("/")
        if account_name:
            await self._forget(namespace, name, account_name[0])
            return
        secret = self._objects.find(SECRETS, namespace, name)
        if secret is None or secret["metadata"].get("deletionTimestamp"):
            return
        if secret.get("type") != self._type:
            return
        account = self._account(secret)
        try:
            if account is None:
                await self._objects.delete(
                    SECRETS, namespace, name, DeleteOptions(uid=secret["metadata"]["uid"])
                )
            elif not self._is_complete(secret):
                await self._objects.replace(SECRETS, self._completed(secret, account))
        except StatusError as error:
            if error.reason != "NotFound":
                raise

    async def _forget(self, namespace: str, name: str, account_name: str) -> None:
        """Remove a deleted token Secret from the list in its account."""

        def listed(account: dict[str, Any]) -> bool:
            return any(secret.get("name") == name for secret in account.get("secrets") or ())

        def without(account: dict[str, Any]) -> dict[str, Any]:
            left = [secret for secret in account.get("secrets") or () if secret.get("name") != name]
            return {**account, "secrets": left}

        account = self._objects.find(ACCOUNTS, namespace, account_name) if account_name else None
        if account is None or not listed(account):
            return
        if self._objects.find(SECRETS, namespace, name) is not None:
            return  # it was created again
        try:
            await self._objects.change(ACCOUNTS, namespace, account_name, without)
        except StatusError as error:
            if error.reason != "NotFound":
                raise

    def _account(self, secret: dict[str, Any]) -> dict[str, Any] | None:
        """The account that a Secret belongs to, or None if it does not exist or has another uid."""
        annotations = secret["metadata"].get("annotations") or {}
        name = annotations.get(self._name_annotation, "")
        namespace = secret["metadata"]["namespace"]
        account = self._objects.find(ACCOUNTS, namespace, name) if name else None
        if account is None:
            return None
        uid = annotations.get(self._uid_annotation)
        return account if not uid or uid == account["metadata"]["uid"] else None

    def _is_complete(self, secret: dict[str, Any]) -> bool:
        data = secret.get("data") or {}
        annotations = secret["metadata"].get("annotations") or {}
        filled = bool(data.get("namespace") and data.get("token"))
        return filled and data.get("ca.crt") == self._ca and self._uid_annotation in annotations

    def _completed(self, secret: dict[str, Any], account: dict[str, Any]) -> dict[str, Any]:
        value = deepcopy(secret)
        metadata = value["metadata"]
        metadata.setdefault("annotations", {})[self._uid_annotation] = account["metadata"]["uid"]
        data = value["data"] = dict(value.get("data") or {})
        data["ca.crt"] = self._ca
        data["namespace"] = data.get("namespace") or _encoded(metadata["namespace"].encode())
        if not data.get("token"):
            data["token"] = _encoded(self._issuer.legacy(account, metadata["name"]).encode())
        return value


def _encoded(content: bytes) -> str:
    return b64encode(content).decode()
