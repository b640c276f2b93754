"""The schemas that custom resources publish for OpenAPI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from fairlead.resources.registry import Resource


class CustomSchema(NamedTuple):
    """The schema of a custom kind; `schema` is None if its definition has none. `identity` changes
    whenever the rest does."""

    identity: str
    schema: dict[str, Any] | None
    list_kind: str


class Published(Protocol):
    """As `CustomSchema`, for implementations that build the schema lazily."""

    @property
    def identity(self) -> str: ...

    @property
    def schema(self) -> dict[str, Any] | None: ...

    @property
    def list_kind(self) -> str: ...


FindCustom = Callable[[Resource], Published | None]
