"""Bearer tokens: reads them from a request and passes them to the token methods."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from math import inf
from typing import NamedTuple, Protocol

from fairlead.auth.authentication.chain import Credentials, Rejected
from fairlead.auth.authentication.impersonation import Impersonation
from fairlead.auth.authentication.user import User, user_bytes
from fairlead.base.caches import BoundedCache, hashed
from fairlead.base.clock import time

INVALID = "invalid bearer token"
_SPACE_WARNING = (
    "the provided Authorization header contains extra space before the bearer token, and is ignored"
)


class TokenMethod(Protocol):
    """One kind of token. Returns None for a token of another kind; raises Rejected for an invalid
    one."""

    async def check(self, token: str, audiences: Audiences) -> Grant | None: ...


def bearer_token(header: str) -> tuple[str, bool]:
    """The token of an Authorization header, or an empty string; and True if a second space after
    the scheme makes it invalid."""
    parts = header.strip().split(" ", 2)
    if len(parts) < 2 or parts[0].lower() != "bearer":
        return "", False
    return parts[1], not parts[1] and len(parts) == 3


def as_header_text(token: str) -> str:
    """A token in the form of decoded header values: one character per byte."""
    return token.encode().decode("latin-1")


def use(grant: Grant, request: Credentials) -> User:
    """Apply the grant of a valid token to a request, and return its user."""
    if grant.on_use is not None:
        grant.on_use.used(request)
        request.impersonation = grant.impersonation
    return grant.user


class BearerTokens:
    """The method that reads bearer tokens and asks the token methods in order. The facts of a
    request hold the cache key of its token: hashing the header takes longer than the lookup."""

    def __init__(self, methods: Sequence[TokenMethod], audiences: Audiences) -> None:
        self._methods = tuple(methods)
        self.audiences = audiences
        self.cache = TokenCache()
        self._cached = self.cache.get

    def authenticate(self, request: Credentials) -> User | Awaitable[User | None] | None:
        facts = request.facts
        key: bytes | None = facts.get("token")
        if key is None:
            header = request.header(b"authorization")
            if not header:
                return None
            key = facts["token"] = hashed(header)
        grant = self._cached(key)
        if grant is None or time() >= grant.until:
            return self._authenticate(request, key)
        return grant.user if grant.on_use is None else use(grant, request)

    async def _authenticate(self, request: Credentials, key: bytes) -> User | None:
        """Check a token that is not in the cache, or no longer valid."""
        self.cache.drop(key)
        header = request.header(b"authorization")
        token, spaced = bearer_token(header)
        if not token:
            if spaced:
                request.warn(_SPACE_WARNING)
            return None
        try:
            grant = await self.check(token, self.audiences)
        except Rejected as rejection:
            for name, text in rejection.annotations.items():
                request.note(name, text)
            raise
        if header == f"Bearer {token}":  # other spellings of a valid token must not fill the cache
            self.cache.add(key, grant)
        return use(grant, request)

    async def check(self, token: str, audiences: Audiences) -> Grant:
        """The grant of the first method that accepts a token; raises Rejected."""
        reasons: list[str] = []
        kinds: list[str] = []
        shown: dict[str, str] = {}
        annotations: dict[str, str] = {}
        for method in self._methods:
            try:
                grant = await method.check(token, audiences)
            except Rejected as rejection:
                reasons += rejection.reasons
                kinds += rejection.kinds
                shown["message"] = rejection.message
                annotations.update(rejection.annotations)
                continue
            if grant is not None:
                return grant
        raise Rejected(
            *(reasons or (INVALID,)), kinds=kinds or (INVALID,), annotations=annotations, **shown
        )

    async def review(self, token: str, audiences: Audiences) -> Grant:
        """The grant for a TokenReview; raises Rejected."""
        read, _ = bearer_token(f"Bearer {token}")
        if not read:
            raise Rejected(INVALID)
        try:
            grant = await self.check(as_header_text(read), audiences or self.audiences)
        except Rejected as rejection:
            raise Rejected(INVALID, *rejection.reasons) from None
        if grant.impersonation is not None:  # valid only for requests that are authorized
            raise Rejected(INVALID)
        return grant


# Grants: the result of checking a bearer token, and their cache.

Audiences = tuple[str, ...]
# An object that a token depends on: internal name of its resource, and its storage key.
Anchor = tuple[str, str]

_MAX_CACHED = 10_000
_MAX_BYTES = 16 * 1024 * 1024
_MAX_GRANT_BYTES = 16 * 1024  # bytes of a user with all groups


def known_audiences(listed: Iterable[str], accepted: Audiences) -> Audiences:
    """The listed audiences that are accepted, in the order of the list."""
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


class UseAnnotation(NamedTuple):
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

    def _on_removed(self, key: bytes, value: Grant) -> None:
        for anchor in value.anchors:
            keys = self._anchored.get(anchor)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self._anchored[anchor]
