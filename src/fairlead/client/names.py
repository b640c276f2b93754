"""Validates names for use in paths."""

from __future__ import annotations


class InvalidName(ValueError):
    """A name that would change the path; no request was sent."""


def checked_name(name: str, what: str = "resource name") -> str:
    """The name; raises InvalidName. An empty name is refused because it would address all
    objects."""
    if not name:
        raise InvalidName(f"the {what} is empty")
    if name in (".", ".."):
        raise InvalidName(f'"{name}" cannot be a {what}')
    for sign in "/%":
        if sign in name:
            raise InvalidName(f'"{name}" cannot be a {what}: it has a {sign} in it')
    return name
