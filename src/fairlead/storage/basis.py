"""Optimistic requests: they write without first fetching the newest state from the log.

Such a request decides on the cached state. Its writes succeed only if nothing that decisions depend
on was written since, on any server: writes to such resources move the *epoch*, a key in the store.
"""

from __future__ import annotations

from contextvars import ContextVar, Token


class Outdated(Exception):
    """The epoch moved after the request's basis: nothing was written, and the cache has caught
    up."""


class Basis:
    """Context manager: writes inside it, including those of tasks started there, rely on the state
    at `revision` and raise Outdated if the epoch moved since.

    `wrote` is set after a write. Tasks that outlive the block write without the check.
    """

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
