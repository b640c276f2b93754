"""Names that can stand in a path."""

from __future__ import annotations


class InvalidName(ValueError):
    """A name that would lead elsewhere, so that nothing was asked for."""


def checked_name(name: str, what: str = "resource name") -> str:
    """Raises InvalidName. No name at all would mean all objects."""
    if not name:
        raise InvalidName(f"the {what} is empty")
    if name in (".", ".."):
        raise InvalidName(f'"{name}" cannot be a {what}')
    for sign in "/%":
        if sign in name:
            raise InvalidName(f'"{name}" cannot be a {what}: it has a {sign} in it')
    return name
