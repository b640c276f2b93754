"""The asynchronous client, entry point of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Self

from fairlead.client import port_forwarding, processes
from fairlead.client.access.loader import load_access
from fairlead.client.access.model import Access
from fairlead.client.discovery import Discovery, ResourceType
from fairlead.client.resources import Resource
from fairlead.client.session import Request, Session


class Client:
    """A client for one server and one user. Use it on one event loop, as an async context manager
    or with `close`."""

    def __init__(self, access: Access, agent: str = "") -> None:
        self.access = access
        self.session = Session(access, agent)
        self.discovery = Discovery(self.session)

    @classmethod
    def load(cls, path: Path | str | None = None, **choices: Any) -> Self:
        """A client from configuration files; raises AccessError. `choices` are arguments of
        `load_access`."""
        return cls(load_access(path, **choices))

    @property
    def namespace(self) -> str:
        """The default namespace."""
        return self.access.namespace

    async def resource(self, word: str) -> Resource:
        """A resource by plural, singular, kind or short name; raises UnknownResource."""
        return self.of(await self.discovery.find(word))

    async def resource_of(self, value: Mapping[str, Any]) -> Resource:
        """The resource of an object; raises UnknownKind."""
        type = await self.discovery.of_kind(value["apiVersion"], value["kind"])
        return self.of(type)

    def of(self, type: ResourceType) -> Resource:
        return Resource(self.session, type, self.namespace)

    async def raw(self, /, method: str, path: str, **parts: Any) -> bytes:
        """The body of a successful response to any request."""
        async with self.session.open(Request(method, path, **parts)) as answer:
            return await answer.content()

    def exec(
        self,
        pod: str,
        command: Sequence[str],
        namespace: str | None = None,
        *,
        container: str = "",
        streams: processes.Streams | None = None,
    ) -> AbstractAsyncContextManager[processes.RemoteProcess]:
        """Run a command in a container of a pod, for `async with`; by default in its first one,
        with the output, but without input. Raises ApiError, Unreachable and AccessError."""
        query = [("command", word) for word in command]
        return self._process("exec", pod, namespace, container, query, streams)

    def attach(
        self,
        pod: str,
        namespace: str | None = None,
        *,
        container: str = "",
        streams: processes.Streams | None = None,
    ) -> AbstractAsyncContextManager[processes.RemoteProcess]:
        """As `exec`, for the command that the container runs already."""
        return self._process("attach", pod, namespace, container, [], streams)

    def _process(
        self,
        action: str,
        pod: str,
        namespace: str | None,
        container: str,
        query: list[tuple[str, str]],
        streams: processes.Streams | None,
    ) -> AbstractAsyncContextManager[processes.RemoteProcess]:
        target = (self._space(namespace), pod, action)
        query += [("container", container)] if container else []
        return processes.open_process(self.session, target, query, streams or processes.Streams())

    async def execute(
        self,
        pod: str,
        command: Sequence[str],
        namespace: str | None = None,
        *,
        container: str = "",
        stdin: bytes | None = None,
    ) -> processes.Outcome:
        """Run a command to its end, with what it reads, and return what it wrote and its exit code.
        Raises as `exec` does."""
        streams = processes.Streams(stdin=stdin is not None)
        async with self.exec(
            pod, command, namespace, container=container, streams=streams
        ) as process:
            return await process.communicate(stdin)

    def port_forward(
        self, pod: str, port: int, namespace: str | None = None
    ) -> AbstractAsyncContextManager[port_forwarding.PortForward]:
        """Connections to the ports of a pod, for `async with`; `port` is the first of them. Raises
        ApiError, Unreachable and AccessError."""
        space = self._space(namespace)
        return port_forwarding.open_forward(self.session, space, pod, port)

    def _space(self, namespace: str | None) -> str:
        return self.namespace if namespace is None else namespace

    async def close(self) -> None:
        await self.session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()
