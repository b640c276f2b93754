"""What other servers add to the documents of this one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.base.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Remote:
    """A document of version 3 that another server has: where it is listed, and who answers."""

    address: str
    answer: Callable[[Request], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Others:
    """What they have at one moment. `documents` are those of version 3, by name. `merge` puts
    their parts into our document of version 2; it is called in a thread and may change nothing.
    `tag` changes whenever what it does changes."""

    documents: Mapping[str, Remote] = field(default_factory=dict)
    tag: str = ""
    merge: Callable[[dict[str, Any]], dict[str, Any]] | None = None


NOBODY = Others()
