"""What a kind's rules may know about the request and the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fairlead.dialect import Dialect
from fairlead.kinds.gates import Gates

# Reads an object of another resource (our name for it, namespace, name) from the cache.
Lookup = Callable[[str, str, str], dict[str, Any] | None]


@dataclass(slots=True)
class Context:
    """One write. `user_name` is who asks; `warn` reaches the client as a Warning header."""

    dialect: Dialect
    gates: Gates
    lookup: Lookup
    namespace: str = ""
    subresource: str = ""
    user_name: str = ""
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
