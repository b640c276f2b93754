"""Bearer tokens: reading them from a request, asking the methods that know tokens, and keeping
what they said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Protocol

from fairlead.authentication.chain import Credentials, Rejected
from fairlead.authentication.user import User, user_bytes
from fairlead.bounded import Bounded, hashed
from fairlead.clock import time
from fairlead.records import dataclass

Audiences = tuple[str, ...]
# An object that a token stands or falls with: our name for its resource, and its storage key.
Anchor = tuple[str, str]

INVALID = "invalid bearer token"
_SPACE_WARNING = (
    "the provided Authorization header contains extra space before the bearer token, and is ignored"
)
_MOST_CACHED = 10_000
_MOST_BYTES = 16 * 1024 * 1024
_LONGEST_GRANT = 16 * 1024  # bytes of a user with all groups


@dataclass(frozen=True, slots=True)
class Grant:
    """A token that was found good.

    `audiences` are those of the wanted ones for which it is good. It may be remembered until the
    unix time `until` and while nothing happens to its `anchors`; `on_use` is told of every request
    that comes with it.
    """

    user: User
    audiences: Audiences
    until: float = inf
    anchors: tuple[Anchor, ...] = ()
    on_use: OnUse | None = None


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


class TokenMethod(Protocol):
    """One kind of token. None: not one of mine. Rejected: mine, and wrong."""

    async def check(self, token: str, audiences: Audiences) -> Grant | None: ...


def bearer_token(header: str) -> tuple[str, bool]:
    """The token of an Authorization header, or nothing, and whether it is ignored only because of
    a second space."""
    parts = header.strip().split(" ", 2)
    if len(parts) < 2 or parts[0].lower() != "bearer":
        return "", False
    return parts[1], not parts[1] and len(parts) == 3


def as_header_text(token: str) -> str:
    """A token as header values are read: one character a byte."""
    return token.encode().decode("latin-1")


def common(listed: Iterable[str], known: Audiences) -> Audiences:
    """The listed audiences that are known, in the order of the list."""
    return tuple(audience for audience in listed if audience in known)


class TokenCache(Bounded[bytes, Grant]):
    """Header value, hashed, to grant. Objects that grants are anchored in call `forget` when they
    change, so a revoked token stops working with the commit that revokes it."""

    def __init__(self) -> None:
        super().__init__(_MOST_CACHED, _MOST_BYTES, _LONGEST_GRANT)
        self._anchored: dict[Anchor, set[bytes]] = {}

    def grant(self, header: str) -> Grant | None:
        key = hashed(header)
        grant = self.get(key)
        if grant is None:
            return None
        if time() < grant.until:
            return grant
        self.drop(key)
        return None

    def add(self, header: str, grant: Grant) -> None:
        if time() >= grant.until:
            return
        key = hashed(header)
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


class BearerTokens:
    """The method that reads bearer tokens and asks the token methods in their order."""

    def __init__(self, methods: Sequence[TokenMethod], audiences: Audiences) -> None:
        self._methods = tuple(methods)
        self.audiences = audiences
        self.cache = TokenCache()

    async def authenticate(self, request: Credentials) -> User | None:
        header = request.header(b"authorization")
        if not header:
            return None
        known = self.cache.grant(header)
        if known is not None:
            if known.on_use is not None:
                known.on_use.used(request)
            return known.user
        token, spaced = bearer_token(header)
        if not token:
            if spaced:
                request.warn(_SPACE_WARNING)
            return None
        grant = await self.check(token, self.audiences)
        if header == f"Bearer {token}":  # other spellings of a good token must not fill the cache
            self.cache.add(header, grant)
        if grant.on_use is not None:
            grant.on_use.used(request)
        return grant.user

    async def check(self, token: str, audiences: Audiences) -> Grant:
        """What the first method that knows a token grants; raises Rejected."""
        reasons: list[str] = []
        kinds: list[str] = []
        shown: dict[str, str] = {}
        for method in self._methods:
            try:
                grant = await method.check(token, audiences)
            except Rejected as rejection:
                reasons += rejection.reasons
                kinds += rejection.kinds
                shown["message"] = rejection.message
                continue
            if grant is not None:
                return grant
        raise Rejected(*(reasons or (INVALID,)), kinds=kinds or (INVALID,), **shown)

    async def review(self, token: str, audiences: Audiences) -> Grant:
        """What a TokenReview is told of a token; raises Rejected."""
        read, _ = bearer_token(f"Bearer {token}")
        if not read:
            raise Rejected(INVALID)
        try:
            return await self.check(as_header_text(read), audiences or self.audiences)
        except Rejected as rejection:
            raise Rejected(INVALID, *rejection.reasons) from None
