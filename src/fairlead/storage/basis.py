"""What a request rests on that does not ask for the newest state before it writes.

It works on what is known here. Its writes happen only if nothing that decisions rest on was written
since, on whichever server: whoever writes such a thing moves the *epoch*, a key of the store.
"""

from __future__ import annotations

from contextvars import ContextVar, Token


class Outdated(Exception):
    """What a request rests on has moved: nothing was written, and what moved is known now."""


class Basis:
    """Whatever is written within, also by tasks that are begun there, rests on what is known at a
    revision; what cannot raises Outdated. `wrote` says that something was written. What goes on
    behind the end is on its own."""

    __slots__ = ("_token", "revision", "wrote")

    _token: Token[Basis | None]

    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.wrote = False

    def __enter__(self) -> Basis:
        self._token = _current.set(self)
        return self

    def __exit__(self, *raised: object) -> None:
        self.revision = 0
        _current.reset(self._token)


_current: ContextVar[Basis | None] = ContextVar("basis", default=None)

basis = _current.get
