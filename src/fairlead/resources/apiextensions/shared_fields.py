"""A definition's versions as the rules look at them: what all versions share stands on top.

Schema, subresources and columns that are the same in every version are checked once, at the path
of the whole definition (`spec.validation`, `spec.subresources`, `spec.additionalPrinterColumns`),
and errors name that path.
"""

from __future__ import annotations

from typing import Any

from fairlead.base.records import dataclass

Spec = dict[str, Any]

_SHARED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
}


@dataclass(frozen=True, slots=True)
class Hoisted:
    """`top` is what all versions share, by the name of its field in a version; `versions` are
    the versions without it."""

    top: dict[str, Any]
    versions: list[Spec]

    def path(self, field: str) -> str:
        """Where a shared field stands."""
        return f"spec.{_SHARED[field]}"


def hoist(versions: list[Spec]) -> Hoisted:
    shared = [
        field
        for field in _SHARED
        if versions and all(v.get(field) == versions[0].get(field) for v in versions)
    ]
    top = {field: versions[0].get(field) for field in shared}
    rest = [{name: held for name, held in v.items() if name not in shared} for v in versions]
    return Hoisted(top, rest)


def status_enabled(version: Spec) -> bool:
    return (version.get("subresources") or {}).get("status") is not None
