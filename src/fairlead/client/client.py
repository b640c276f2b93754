"""The asynchronous client, entry point of this package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

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

    async def close(self) -> None:
        await self.session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()
