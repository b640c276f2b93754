"""Names that can stand in a path."""

from __future__ import annotations


class InvalidName(ValueError):
    """A name that would lead elsewhere, so that nothing was asked for."""


def checked_name(name: str, what: str = "resource name") -> str:
    """Raises InvalidName. No name at all would mean all objects."""
    if not name:
        raise InvalidName(f"{what} may not be empty")
    if name in (".", ".."):
        raise InvalidName(f"invalid {what} \"{name}\": [may not be '{name}']")
    for sign in "/%":
        if sign in name:
            raise InvalidName(f"invalid {what} \"{name}\": [may not contain '{sign}']")
    return name
