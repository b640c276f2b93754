"""A server for tests."""

from __future__ import annotations

import asyncio
import random
import string
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from fairlead.base.dialect import DIALECTS
from fairlead.client import Client
from fairlead.client.discovery import UnknownKind
from fairlead.client.errors import ApiError, Conflict, NotFound
from fairlead.client.errors import Unreachable as Unreachable
from fairlead.client.sync import SyncClient
from fairlead.testing.behaviours import (
    API_VERSION,
    DEFINITION,
    INSTALLER,
    KIND,
    Behaviour,
    behaviour,
)
from fairlead.testing.contents import Contents, Source, objects_of
from fairlead.testing.dumps import DumpLoader
from fairlead.testing.libraries import Libraries
from fairlead.testing.nodes import Nodes
from fairlead.testing.powers import Duration, Lent, Powers, all_of, lifetime_of, seconds_of
from fairlead.testing.process import Process, ServerFailed
from fairlead.testing.stages import Stages, Wanted, stage_object
from fairlead.testing.users import User, Users
from fairlead.testing.webhooks import Admission, Function, Webhook, configuration

Object = dict[str, Any]

_YEAR = timedelta(days=365)
_HOUR = timedelta(hours=1)


class Cluster(Powers):
    """A real server with all controllers, in a process of its own on a free port. Use it as a
    context manager, sync or async, or with `start` and `stop`.

    `flags` are those of `fairlead serve`, `release` is the release of the API if not the default of
    the dialect; `directory` is kept if given. `admin` is a client with all rights.
    """

    admin: SyncClient
    url: str
    ca: bytes

    def __init__(
        self,
        *flags: str,
        dialect: str = "kubernetes",
        release: str = "",
        directory: Path | str | None = None,
    ) -> None:
        super().__init__()
        self.dialect = DIALECTS[dialect]
        self.release = release or self.dialect.default_release
        path = Path(directory) if directory is not None else None
        own_flags = ("--dialect", dialect, "--release", self.release, "--testing")
        self._process = Process((*own_flags, *flags), path)

    def start(self) -> Self:
        """Return when the server is ready; raises ServerFailed."""
        if self.runs:
            raise ServerFailed("the server runs already")
        try:
            self._process.start()
        except BaseException:
            self._process.remove()
            raise
        self.url = self._process.url
        self.ca = (self._process.data / "pki" / "ca.crt").read_bytes()
        self.admin = SyncClient.load(self.kubeconfig)
        self._users = Users(self.url, self._authority(), self._process.directory / "users")
        self._contents = Contents(self.admin)
        return self

    def _authority(self) -> tuple[bytes, bytes]:
        return self.ca, (self._process.data / "pki" / "ca.key").read_bytes()

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig file of the admin."""
        return self._process.data / "admin.kubeconfig"

    @property
    def clients(self) -> Libraries:
        """Clients of other libraries, as the admin."""
        return Libraries(self.kubeconfig)

    @property
    def nodes(self) -> Nodes:
        """Makes simulated nodes fail."""
        return Nodes(self)

    def connect(self) -> Client:
        """Return an async client, as the admin; use it as an async context manager."""
        return Client.load(self.kubeconfig)

    def as_user(
        self, name: str, groups: str | Sequence[str] = (), *, lifetime: Duration = _YEAR
    ) -> User:
        """Return a user with the rights that roles grant, and a certificate that is valid for
        `lifetime`: `"10m"`, seconds or a timedelta."""
        life = lifetime_of(lifetime)
        return self._users.with_certificate(name, all_of(groups), self.now(), life)

    def service_account(
        self,
        name: str,
        namespace: str = "default",
        role: str = "",
        *,
        lifetime: Duration = _HOUR,
    ) -> User:
        """Return a service account, which is created if it is missing, with a token that is valid
        for `lifetime`, at least ten minutes. `role` binds it to a cluster role in its namespace."""
        seconds = int(lifetime_of(lifetime).total_seconds())
        self._contents.ensure_account(name, namespace, role, self.dialect)
        token = self._contents.account_token(name, namespace, self.dialect, seconds)
        full = f"system:serviceaccount:{namespace}:{name}"
        return self._users.with_token(full, token, namespace)

    def apply(self, source: Source, namespace: str | None = None) -> list[Object]:
        """Apply the objects of a file, a folder, YAML text or the given ones. Objects without a
        namespace go to the given one. Namespaces and definitions come first."""
        return self._contents.apply(source, namespace)

    def definitions(self, source: Source) -> list[Object]:
        """Apply the custom resource definitions among the objects; return when all of them are
        served."""
        return self._contents.definitions(source)

    def load(self, dump: Source) -> list[Object]:
        """Create the objects in the output of `kubectl get -o yaml` from another cluster, including
        status and owners. Controllers are paused until all of them exist."""
        return DumpLoader(self, self._contents).load(objects_of(dump))

    def new_namespace(self, stem: str = "test") -> str:
        name = _random_name(stem)
        self.admin.resource("namespaces").create({"metadata": {"name": name}})
        return name

    def delete_namespace(self, name: str) -> None:
        """Start the deletion; it completes in the background."""
        with suppress(NotFound, Conflict):
            self.admin.resource("namespaces").delete(name)

    def admission(
        self,
        function: Function,
        resources: str | Sequence[str] = ("*",),
        operations: str | Sequence[str] = ("CREATE", "UPDATE"),
        groups: str | Sequence[str] = ("*",),
        versions: str | Sequence[str] = ("*",),
        *,
        mutating: bool = False,
        **fields: Any,
    ) -> Admission:
        """Call a function to validate or change objects, until the result's `end`. Further
        arguments are fields of a webhook's entry, such as `failurePolicy`. See Webhook."""
        webhook = Webhook(function, mutating=mutating, authority=self._authority())
        name = _random_name("test")
        value = configuration(
            webhook,
            name,
            self.dialect.group_name("admissionregistration.@"),
            self.ca,
            mutating=mutating,
            resources=all_of(resources),
            operations=all_of(operations),
            groups=all_of(groups),
            versions=all_of(versions),
            **fields,
        )
        try:
            kinds = self.admin.resource_of(value)
            kinds.create(value, fieldValidation="Strict")
        except BaseException:
            webhook.close()
            raise

        def remove() -> None:
            with suppress(NotFound):
                kinds.delete(name)

        return Admission(self.lent, webhook, remove)

    def behaviour(
        self,
        name: str,
        namespace: str = "default",
        *,
        labels: Mapping[str, Any] | None = None,
        pods: str | Sequence[str] = (),
        containers: str | Sequence[str] = (),
        images: str | Sequence[str] = (),
        **spec: Any,
    ) -> Behaviour:
        """Script containers on simulated nodes until the result's `end`: `cluster.behaviour("db",
        images="postgres:*", commands=[{"command": ["psql", "..."], "stdout": "1"}])`. Further
        arguments are fields of a Behaviour's spec: `commands`, `files`, `ports`, `usage`,
        `pull_failure`. Raises ValueError if the server simulates no nodes."""
        self._await_behaviours()
        patterns = {"pods": pods, "containers": containers, "images": images}
        return Behaviour(self.lent, self.admin, behaviour(name, namespace, labels, patterns, spec))

    def _await_behaviours(self) -> None:
        try:
            self.admin.discovery.of_kind(API_VERSION, KIND)
        except UnknownKind:
            if not any(controller["name"] == INSTALLER for controller in self.controllers()):
                text = "the server simulates no nodes: start it with --simulate-nodes"
                raise ValueError(text) from None
            self._contents.await_definition(DEFINITION, self.dialect)

    def stages(self, source: Source) -> Stages:
        """Play the Stages of a file, a folder, YAML text or the given ones, until the result's
        `end`. The server needs simulated nodes or `--simulate-stages`."""
        return Stages(self.lent, self.admin, source)

    def stage(
        self,
        api_version: str,
        kind: str,
        matches: Mapping[str, Wanted],
        *,
        after: Duration = 0,
        until: Duration | None = None,
        status: Mapping[str, Any] | str | None = None,
        **following: Any,
    ) -> Stages:
        """Play one stage: objects whose jq expressions find what they are to match get the status,
        after a delay, which is random if `until` is given. `matches` says what to find: None for
        nothing, True for anything, a text or several. Texts in the status may be Go templates.
        Further arguments are fields of a Stage's `next`: `delete`, `event`, `finalizers`,
        `patches`."""
        latest = None if until is None else seconds_of(until)
        value = stage_object(
            _random_name("stage"),
            api_version,
            kind,
            matches,
            seconds_of(after),
            latest,
            status,
            following,
        )
        return self.stages(value)

    def end_lent(self, but: Collection[Lent] = ()) -> None:
        """End everything that tests have started in the server; errors are ignored if it is
        down."""
        for lent in [lent for lent in reversed(self.lent) if lent not in but]:
            try:
                lent.end()
            except Unreachable:
                if self.runs:
                    raise

    @property
    def runs(self) -> bool:
        return self._process.runs

    @property
    def exit_code(self) -> int | None:
        """The exit code of the server, None while it runs; negative for a signal."""
        return self._process.exit_code

    def log_size(self) -> int:
        return self._process.log_size()

    def log_since(self, position: int) -> str:
        """Return what the server has logged after a position."""
        return self._process.log_tail(position)

    def last_requests(self, maximum: int, since: datetime | None = None) -> list[str]:
        """Return the newest requests, a line each; empty if the server does not answer."""
        try:
            requests = self.requests() if self.runs else []
        except (ApiError, Unreachable):
            return []
        newer = [request for request in requests if since is None or _moment(request) >= since]
        return [_line(request) for request in newer[-maximum:]]

    def estimated_now(self) -> datetime:
        """Estimate `now` without a request; too early if another client has moved the clock."""
        return datetime.now(UTC) + self._ahead

    def restart(self) -> None:
        """Stop and start again, on the same data and port. The clock is the machine's again, and
        faults, pauses and snapshots are gone."""
        self._process.stop()
        self._process.start()
        self._ahead = timedelta()

    def kill(self) -> None:
        """Kill the server like a crash; `restart` brings it back."""
        self._process.kill()

    def stop(self) -> None:
        """Stop the server and remove its files."""
        try:
            self.end_lent()
        finally:
            if "admin" in self.__dict__:
                self._users.close()
                self.admin.close()
            self._process.stop()
            self._process.remove()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, *raised: object) -> None:
        await asyncio.to_thread(self.stop)


def _random_name(stem: str) -> str:
    return f"{stem}-{''.join(random.choices(string.ascii_lowercase, k=8))}"


def _moment(request: Object) -> datetime:
    return datetime.fromisoformat(request["time"])


def _line(request: Object) -> str:
    query = f"?{request['query']}" if request.get("query") else ""
    code = request.get("code") or "..."
    who = request.get("user") or "nobody"
    return f"{request['time']} {code} {request['method']} {request['path']}{query} by {who}"
