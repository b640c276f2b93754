"""Bearer tokens: reads them from a request and passes them to the token methods."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

from fairlead.auth.authentication.chain import Credentials, Rejected
from fairlead.auth.authentication.grants import Audiences, Grant, TokenCache
from fairlead.auth.authentication.user import User
from fairlead.base.caches import hashed

INVALID = "invalid bearer token"
_SPACE_WARNING = (
    "the provided Authorization header contains extra space before the bearer token, and is ignored"
)


class TokenMethod(Protocol):
    """One kind of token. Returns None for a token of another kind; raises Rejected for an invalid
    one."""

    async def check(self, token: str, audiences: Audiences) -> Grant | None: ...


def bearer_token(header: str) -> tuple[str, bool]:
    """The token of an Authorization header, or an empty string, and whether it is ignored because
    of a second space."""
    parts = header.strip().split(" ", 2)
    if len(parts) < 2 or parts[0].lower() != "bearer":
        return "", False
    return parts[1], not parts[1] and len(parts) == 3


def as_header_text(token: str) -> str:
    """A token in the form of decoded header values: one character per byte."""
    return token.encode().decode("latin-1")


def _key(request: Credentials) -> bytes | None:
    """The cache key of a token, stored with the header facts that identical requests share."""
    key: bytes | None = request.facts.get("token")
    if key is None and (header := request.header(b"authorization")):
        key = request.facts["token"] = hashed(header)
    return key


def use(grant: Grant, request: Credentials) -> User:
    """The user of a request with a valid token."""
    if grant.on_use is not None:
        grant.on_use.used(request)
        request.impersonation = grant.impersonation
    return grant.user


class BearerTokens:
    """The method that reads bearer tokens and asks the token methods in order."""

    def __init__(self, methods: Sequence[TokenMethod], audiences: Audiences) -> None:
        self._methods = tuple(methods)
        self.audiences = audiences
        self.cache = TokenCache()

    def authenticate(self, request: Credentials) -> User | Awaitable[User | None] | None:
        key = _key(request)
        if key is None:
            return None
        grant = self.cache.grant(key)
        return use(grant, request) if grant is not None else self._authenticate(request, key)

    async def _authenticate(self, request: Credentials, key: bytes) -> User | None:
        """Check a token that is not in the cache."""
        header = request.header(b"authorization")
        token, spaced = bearer_token(header)
        if not token:
            if spaced:
                request.warn(_SPACE_WARNING)
            return None
        grant = await self.check(token, self.audiences)
        if header == f"Bearer {token}":  # other spellings of a valid token must not fill the cache
            self.cache.add(key, grant)
        return use(grant, request)

    async def check(self, token: str, audiences: Audiences) -> Grant:
        """The grant of the first method that accepts a token; raises Rejected."""
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
