"""What bearer tokens are good for, and keeping that."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Protocol

from fairlead.auth.authentication.chain import Credentials
from fairlead.auth.authentication.impersonation import Impersonation
from fairlead.auth.authentication.user import User, user_bytes
from fairlead.base.caches import Bounded
from fairlead.base.clock import time
from fairlead.base.records import dataclass

Audiences = tuple[str, ...]
# An object that a token stands or falls with: our name for its resource, and its storage key.
Anchor = tuple[str, str]

_MOST_CACHED = 10_000
_MOST_BYTES = 16 * 1024 * 1024
_LONGEST_GRANT = 16 * 1024  # bytes of a user with all groups


def common(listed: Iterable[str], known: Audiences) -> Audiences:
    """The listed audiences that are known, in the order of the list."""
    return tuple(audience for audience in listed if audience in known)


@dataclass(frozen=True, slots=True)
class Grant:
    """A token that was found good.

    `audiences` are those of the wanted ones for which it is good. It may be remembered until the
    unix time `until` and while nothing happens to its `anchors`; `on_use` is told of every request
    that comes with it. With an `impersonation` it is not enough: each request has to be allowed it.
    """

    user: User
    audiences: Audiences
    until: float = inf
    anchors: tuple[Anchor, ...] = ()
    on_use: OnUse | None = None
    impersonation: Impersonation | None = None


class OnUse(Protocol):
    def used(self, request: Credentials) -> None:
        """A request came with the token; raises Rejected or StatusError if it must not pass."""


@dataclass(frozen=True, slots=True)
class Remarks:
    """What an audit log shall tell whenever a token is used: a name and a text. If it is to be told
    from a moment on only, the text is followed by the seconds since then."""

    name: str
    text: str
    since: float = 0.0

    def used(self, request: Credentials) -> None:
        if not self.since:
            request.note(self.name, self.text)
        elif (now := time()) > self.since:
            request.note(self.name, f"{self.text}{int(now) - int(self.since)}")


class TokenCache(Bounded[bytes, Grant]):
    """Header value, as `hashed` tells it, to grant. Objects that grants are anchored in call
    `forget` when they change, so a revoked token stops working with the commit that revokes it."""

    def __init__(self) -> None:
        super().__init__(_MOST_CACHED, _MOST_BYTES, _LONGEST_GRANT)
        self._anchored: dict[Anchor, set[bytes]] = {}

    def grant(self, key: bytes) -> Grant | None:
        grant = self.get(key)
        if grant is None:
            return None
        if time() < grant.until:
            return grant
        self.drop(key)
        return None

    def add(self, key: bytes, grant: Grant) -> None:
        if time() >= grant.until:
            return
        self.keep(key, grant, user_bytes(grant.user))
        if key in self:
            for anchor in grant.anchors:
                self._anchored.setdefault(anchor, set()).add(key)

    def forget(self, anchor: Anchor) -> None:
        """Ask again for every token that is anchored in an object."""
        for key in tuple(self._anchored.get(anchor, ())):
            self.drop(key)

    def clear(self) -> None:
        super().clear()
        self._anchored.clear()

    def _gone(self, key: bytes, value: Grant) -> None:
        for anchor in value.anchors:
            keys = self._anchored.get(anchor)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self._anchored[anchor]
