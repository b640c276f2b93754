"""Documents that aggregated servers contribute."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.base.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Remote:
    """An OpenAPI 3 document of another server: its URL in the index and its handler."""

    address: str
    answer: Callable[[Request], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Others:
    """A snapshot of all contributions. `documents` are OpenAPI 3 documents by name. `merge` returns
    our OpenAPI 2 document with the other servers' parts; it runs in a thread and must not modify
    shared state. `tag` changes whenever the result of `merge` does."""

    documents: Mapping[str, Remote] = field(default_factory=dict)
    tag: str = ""
    merge: Callable[[dict[str, Any]], dict[str, Any]] | None = None


NOBODY = Others()
