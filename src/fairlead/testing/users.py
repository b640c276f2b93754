"""The users of a test and their credentials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from fairlead.base.records import dataclass
from fairlead.client import Client
from fairlead.client.sync import SyncClient
from fairlead.process.certificates.kubeconfig import certificate_fields, self_contained
from fairlead.process.data_directory import write_private
from fairlead.testing.libraries import Libraries


@dataclass(frozen=True)
class User:
    """Somebody who can talk to a server: by a client configuration file, which any tool can read,
    or by a client."""

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
        """An async client; use it as an async context."""
        return Client.load(self.kubeconfig)

    def close(self) -> None:
        if "client" in self.__dict__:
            self.client.close()


class Users:
    """Makes users of the server at a URL. `authority` has the certificate and the key of its CA,
    `directory` is where their files go."""

    def __init__(self, url: str, authority: tuple[bytes, bytes], directory: Path) -> None:
        self._url = url
        self._ca, self._ca_key = authority
        self._directory = directory
        self._made: list[User] = []
        directory.mkdir(parents=True, exist_ok=True)

    def with_certificate(
        self, name: str, groups: Sequence[str], now: datetime, life: timedelta
    ) -> User:
        """A user of the name that the server takes from the certificate, good from now on."""
        from fairlead.process.certificates.issue import Issued, issue_client

        issued = issue_client(Issued(self._ca, self._ca_key), name, groups, now, life)
        return self._user(name, certificate_fields(issued.certificate, issued.key))

    def with_token(self, name: str, token: str, namespace: str) -> User:
        return self._user(name, {"token": token}, namespace)

    def _user(self, name: str, fields: Mapping[str, str], namespace: str = "") -> User:
        path = self._directory / f"{len(self._made) + 1}.kubeconfig"
        write_private(path, self_contained(self._url, self._ca, fields, namespace=namespace))
        self._made.append(User(name, path, fields.get("token", "")))
        return self._made[-1]

    def close(self) -> None:
        for user in self._made:
            user.close()
