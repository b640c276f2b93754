"""A server for tests."""

from __future__ import annotations

import asyncio
import random
import string
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fairlead.client import Client
from fairlead.client.errors import ApiError
from fairlead.client.sync import SyncClient
from fairlead.client.transport.errors import Unreachable
from fairlead.dialect import DIALECTS
from fairlead.testing.contents import Contents, Source, objects_of
from fairlead.testing.dumps import Loading
from fairlead.testing.libraries import Libraries
from fairlead.testing.powers import Powers
from fairlead.testing.process import Process
from fairlead.testing.users import User, Users
from fairlead.testing.webhooks import Admission, Function, Webhook, configuration

Object = dict[str, Any]


class Cluster(Powers):
    """A real server with all controllers, in a process of its own on a free port. Use it as a
    context, also as an async one, or with `start` and `stop`.

    `flags` are those of `fairlead serve`; `directory` is kept if given. `admin` may do anything.
    """

    admin: SyncClient
    url: str
    ca: bytes

    def __init__(
        self, *flags: str, dialect: str = "kubernetes", directory: Path | None = None
    ) -> None:
        self.dialect = DIALECTS[dialect]
        self._process = Process(("--dialect", dialect, "--testing", *flags), directory)
        self._admissions: list[Admission] = []

    def start(self) -> Self:
        """Return when it is ready; raises ServerFailed."""
        try:
            self._process.start()
        except BaseException:
            self._process.remove()
            raise
        self.url = self._process.url
        self.ca = (self._process.data / "pki" / "ca.crt").read_bytes()
        self.admin = SyncClient.load(self.kubeconfig)
        super().__init__(self.admin)
        self._users = Users(self.url, self._authority(), self._process.directory / "users")
        self._contents = Contents(self.admin)
        return self

    def _authority(self) -> tuple[bytes, bytes]:
        return self.ca, (self._process.data / "pki" / "ca.key").read_bytes()

    @property
    def kubeconfig(self) -> Path:
        """The client configuration file of the admin."""
        return self._process.data / "admin.kubeconfig"

    @property
    def clients(self) -> Libraries:
        """Clients of other libraries, as the admin."""
        return Libraries(self.kubeconfig)

    def connect(self) -> Client:
        """An async client, as the admin; use it as an async context."""
        return Client.load(self.kubeconfig)

    def as_user(self, name: str, groups: Sequence[str] = ()) -> User:
        """A user, who may do what roles say."""
        return self._users.with_certificate(name, groups)

    def service_account(self, name: str, namespace: str = "default", role: str = "") -> User:
        """A service account, which is made if it is not there, with a token; bound to a cluster
        role in its namespace if one is named."""
        self._contents.ensure_account(name, namespace, role, self.dialect)
        token = self._contents.account_token(name, namespace, self.dialect)
        full = f"system:serviceaccount:{namespace}:{name}"
        return self._users.with_token(full, token, namespace)

    def apply(self, source: Source, namespace: str | None = None) -> list[Object]:
        """Apply the objects of a file, a folder, YAML text or as given."""
        return self._contents.apply(source, namespace)

    def definitions(self, source: Source) -> list[Object]:
        """Apply custom resource definitions and return when they are served."""
        return self._contents.definitions(source)

    def load(self, dump: Source) -> list[Object]:
        """Create what `kubectl get -o yaml` has printed of another cluster, status included."""
        return Loading(self.admin).load(objects_of(dump))

    def new_namespace(self, stem: str = "test") -> str:
        name = f"{stem}-{''.join(random.choices(string.ascii_lowercase, k=8))}"
        self.admin.resource("namespaces").create({"metadata": {"name": name}})
        return name

    def delete_namespace(self, name: str) -> None:
        """Begin to; it goes away behind the tests that follow."""
        try:
            self.admin.resource("namespaces").delete(name)
        except ApiError as error:
            if error.code not in (404, 409):
                raise

    def admission(
        self,
        function: Function,
        resources: Sequence[str] = ("*",),
        operations: Sequence[str] = ("CREATE", "UPDATE"),
        groups: Sequence[str] = ("*",),
        versions: Sequence[str] = ("*",),
        *,
        mutating: bool = False,
        **fields: Any,
    ) -> Admission:
        """Have a function decide about objects, or change them, until the result's `end`; further
        arguments are fields of a webhook's entry, such as `failurePolicy`."""
        webhook = Webhook(function, mutating=mutating, authority=self._authority())
        name = f"test-{''.join(random.choices(string.ascii_lowercase, k=8))}"
        value = configuration(
            webhook,
            name,
            self.dialect.group_name("admissionregistration.@"),
            self.ca,
            mutating=mutating,
            resources=resources,
            operations=operations,
            groups=groups,
            versions=versions,
            **fields,
        )
        kinds = self.admin.resource_of(value)
        kinds.create(value)
        made = Admission(webhook, lambda: self._remove(kinds, name))
        self._admissions.append(made)
        return made

    @staticmethod
    def _remove(resource: Any, name: str) -> None:
        try:
            resource.delete(name)
        except ApiError as error:
            if error.code != 404:
                raise

    def log_size(self) -> int:
        return self._process.log_size()

    def log_since(self, position: int) -> str:
        """What the server has logged behind a position."""
        return self._process.log_tail(position)

    def last_requests(self, most: int) -> list[str]:
        """The newest requests, a line each; none if the server is gone."""
        try:
            asked = self.requests()[-most:] if self._process.runs else []
        except (ApiError, Unreachable):
            return []
        return [_line(one) for one in asked]

    def restart(self) -> None:
        """Stop and start again, on the same data and port."""
        self._process.stop()
        self._process.start()

    def kill(self) -> None:
        """End the server as a crash would; `restart` brings it back."""
        self._process.kill()

    def stop(self) -> None:
        for admission in self._admissions:
            if self._process.runs:
                admission.end()
        if "admin" in self.__dict__:
            self._users.close()
            self.admin.close()
        self._process.stop()
        self._process.remove()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)


def _line(asked: Object) -> str:
    query = f"?{asked['query']}" if asked.get("query") else ""
    code = asked.get("code") or "..."
    who = asked.get("userAgent") or "nobody"
    return f"{asked['time']} {code} {asked['method']} {asked['path']}{query} by {who}"
