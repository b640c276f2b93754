"""The client: everything starts here."""

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
    """One server as one user sees it. Use it on one loop, as an async context or with `close`."""

    def __init__(self, access: Access, agent: str = "") -> None:
        self.access = access
        self.session = Session(access, agent)
        self.discovery = Discovery(self.session)

    @classmethod
    def load(cls, path: Path | str | None = None, **choices: Any) -> Self:
        """A client for what the configuration files say; raises AccessError. `choices` are those
        of `load_access`."""
        return cls(load_access(path, **choices))

    @property
    def namespace(self) -> str:
        """The namespace that is meant where none is named."""
        return self.access.namespace

    async def resource(self, word: str) -> Resource:
        """A resource by the word that people use for it; raises UnknownResource."""
        return self.of(await self.discovery.find(word))

    async def resource_of(self, value: Mapping[str, Any]) -> Resource:
        """The resource of an object; raises UnknownKind."""
        found = await self.discovery.of_kind(value["apiVersion"], value["kind"])
        return self.of(found)

    def of(self, type: ResourceType) -> Resource:
        return Resource(self.session, type, self.namespace)

    async def raw(self, /, method: str, path: str, **parts: Any) -> bytes:
        """The body of a successful answer to any request."""
        async with self.session.open(Request(method, path, **parts)) as answer:
            return await answer.content()

    async def close(self) -> None:
        await self.session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()
