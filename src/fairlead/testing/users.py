"""The users of a test and their credentials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from fairlead.client import Client
from fairlead.client.sync import SyncClient
from fairlead.process.certificates import issue
from fairlead.process.certificates.authority import certificate_fields, self_contained
from fairlead.process.data_directory import write_private
from fairlead.testing.libraries import Libraries


@dataclass(frozen=True)
class User:
    """A user of a server, with a kubeconfig file that any tool can read, and clients."""

    name: str
    kubeconfig: Path
    token: str = ""

    @cached_property
    def client(self) -> SyncClient:
        return SyncClient.load(self.kubeconfig)

    @property
    def clients(self) -> Libraries:
        """Clients of other libraries."""
        return Libraries(self.kubeconfig)

    def connect(self) -> Client:
        """Return an async client; use it as an async context manager."""
        return Client.load(self.kubeconfig)

    def close(self) -> None:
        if "client" in self.__dict__:
            self.client.close()


class Users:
    """Creates users of the server at a URL. `authority` is the certificate and the key of its CA,
    `directory` the place for kubeconfig files."""

    def __init__(self, url: str, authority: tuple[bytes, bytes], directory: Path) -> None:
        self._url = url
        self._ca, self._ca_key = authority
        self._directory = directory
        self._created: list[User] = []
        directory.mkdir(parents=True, exist_ok=True)

    def with_certificate(
        self, name: str, groups: Sequence[str], now: datetime, life: timedelta
    ) -> User:
        """Return a user with a certificate that is valid from now on."""
        issued = issue.issue_client(issue.Issued(self._ca, self._ca_key), name, groups, now, life)
        return self._user(name, certificate_fields(issued.certificate, issued.key))

    def with_token(self, name: str, token: str, namespace: str) -> User:
        return self._user(name, {"token": token}, namespace)

    def _user(self, name: str, fields: Mapping[str, str], namespace: str = "") -> User:
        path = self._directory / f"{len(self._created) + 1}.kubeconfig"
        write_private(path, self_contained(self._url, self._ca, fields, namespace=namespace))
        self._created.append(User(name, path, fields.get("token", "")))
        return self._created[-1]

    def close(self) -> None:
        for user in self._created:
            user.close()
