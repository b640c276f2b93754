"""Grants: the result of checking a bearer token, and their cache."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple, Protocol

from fairlead.auth.authentication.chain import Credentials
from fairlead.auth.authentication.impersonation import Impersonation
from fairlead.auth.authentication.user import User, user_bytes
from fairlead.base.caches import BoundedCache
from fairlead.base.clock import time

Audiences = tuple[str, ...]
# An object that a token depends on: internal name of its resource, and its storage key.
Anchor = tuple[str, str]

_MAX_CACHED = 10_000
_MAX_BYTES = 16 * 1024 * 1024
_MAX_GRANT_BYTES = 16 * 1024  # bytes of a user with all groups


def common(listed: Iterable[str], accepted: Audiences) -> Audiences:
    """The listed audiences that are known, in the order of the list."""
    return tuple(audience for audience in listed if audience in accepted)


class Grant(NamedTuple):
    """The result of a valid token.

    `audiences` are the requested audiences for which it is valid. It may be cached until the unix
    time `until` and while its `anchors` do not change. `on_use` is called for every request with
    the token. A grant with an `impersonation` is not sufficient: the impersonation is authorized
    for each request.
    """

    user: User
    audiences: Audiences
    until: float = inf
    anchors: tuple[Anchor, ...] = ()
    on_use: OnUse | None = None
    impersonation: Impersonation | None = None


class OnUse(Protocol):
    def used(self, request: Credentials) -> None:
        """Called for each request with the token; raises Rejected or StatusError to reject it."""


class Remarks(NamedTuple):
    """An audit annotation for each use of a token: name and text. With `since` it is added only
    after that time, and the text ends with the seconds since then."""

    name: str
    text: str
    since: float = 0.0

    def used(self, request: Credentials) -> None:
        if not self.since:
            request.note(self.name, self.text)
        elif (now := time()) > self.since:
            request.note(self.name, f"{self.text}{int(now) - int(self.since)}")


class TokenCache(BoundedCache[bytes, Grant]):
    """Maps the hashed header value to a grant. `forget` is called when an anchor changes, so a
    revoked token is invalid as soon as the revoking write commits."""

    def __init__(self) -> None:
        super().__init__(_MAX_CACHED, _MAX_BYTES, _MAX_GRANT_BYTES)
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
        """Drop every cached token that depends on an object."""
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
