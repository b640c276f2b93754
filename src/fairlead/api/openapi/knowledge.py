"""What whoever serves custom resources tells about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from fairlead.base.records import dataclass
from fairlead.resources.registry import Resource


@dataclass(frozen=True, slots=True)
class CustomSchema:
    """What is known of a custom kind; `schema` is None where its definition has none.
    `identity` changes whenever the rest does."""

    identity: str
    schema: dict[str, Any] | None
    list_kind: str


class Published(Protocol):
    """The same, for those who make the schema only when it is asked for."""

    @property
    def identity(self) -> str: ...

    @property
    def schema(self) -> dict[str, Any] | None: ...

    @property
    def list_kind(self) -> str: ...


FindCustom = Callable[[Resource], Published | None]
