"""Tolerant access to untrusted objects: missing, null or mistyped fields yield defaults, never
errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.cli.describe.parts.values import shown


class Fields:
    """A value, with access to its fields by dotted paths; "" is the value itself."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def at(self, path: str) -> Any:
        """The value at the path; None if there is none."""
        value = self.value
        for step in path.split(".") if path else ():
            if not isinstance(value, dict):
                return None
            value = value.get(step)
        return value

    def part(self, path: str) -> Fields:
        return Fields(self.at(path))

    def has(self, path: str = "") -> bool:
        return self.at(path) is not None

    def text(self, path: str = "", missing: str = "") -> str:
        """The scalar at the path as text; `missing` if it is absent or empty."""
        value = self.at(path)
        return missing if value is None or value == "" else shown(value)

    def number(self, path: str) -> int:
        """The integer at the path; 0 if it is not a number."""
        value = self.at(path)
        return int(value) if isinstance(value, int | float) and abs(value) < 2**63 else 0

    def flag(self, path: str) -> bool:
        return self.at(path) is True

    def items(self, path: str = "") -> list[Fields]:
        value = self.at(path)
        return [Fields(item) for item in value] if isinstance(value, list) else []

    def texts(self, path: str = "") -> list[str]:
        return [item.text() for item in self.items(path)]

    def map(self, path: str = "") -> dict[str, str]:
        """The map at the path with values as text, sorted by key."""
        return {key: value.text() for key, value in self.parts(path)}

    def parts(self, path: str = "") -> Iterator[tuple[str, Fields]]:
        """The entries of the map at the path, sorted by key."""
        value = self.at(path)
        if isinstance(value, dict):
            for key in sorted(value):
                yield key, Fields(value[key])
