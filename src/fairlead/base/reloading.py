"""Files that a running server reads again when it is asked to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple


class NotReloaded(Exception):
    """What was read before stays in use; the text says why."""


class Reloadable(NamedTuple):
    """Something that is read from files. `read_again` returns whether it changed; it raises
    NotReloaded."""

    name: str  # the flag, or what it is
    read_again: Callable[[], Awaitable[bool]]
