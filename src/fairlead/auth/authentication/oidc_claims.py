"""Distributed claims: an ID token may name a place where one of its claims is to be had, signed."""

from __future__ import annotations

from fairlead.auth.authentication.oidc_tokens import IssuedTokens
from fairlead.auth.authentication.tokens import BadToken, Claims, unverified
from fairlead.wire.outgoing.client import CallError

_NAMES, _SOURCES = "_claim_names", "_claim_sources"
_MOST_ISSUERS = 16


class DistributedClaim:
    """One claim that may be elsewhere. Who issues it there is asked for its keys as the trusted
    provider is, with the same CAs and algorithms."""

    def __init__(self, claim: str, own: IssuedTokens) -> None:
        self._claim = claim
        self._own = own
        self._others: dict[str, IssuedTokens] = {}

    async def fetched(self, claims: Claims) -> tuple[Claims, float] | None:
        """The claims with the one that is elsewhere, and the time until which that one is good;
        None if nothing of it is elsewhere. Raises BadToken."""
        names = claims.get(_NAMES)
        if self._claim in claims or names is None:
            return None
        if not isinstance(names, dict):
            raise BadToken("the distributed claim names are not an object")
        if self._claim not in names:
            return None
        endpoint, access_token = self._source(claims, names[self._claim])
        found, end = await self._signed(await self._fetch(endpoint, access_token))
        if self._claim not in found:
            raise BadToken(f"the distributed claim {self._claim} is not where it should be")
        return {**claims, self._claim: found[self._claim]}, end

    def _source(self, claims: Claims, name: object) -> tuple[str, str]:
        sources = claims.get(_SOURCES)
        source = sources.get(name) if isinstance(sources, dict) and isinstance(name, str) else None
        endpoint = source.get("endpoint") if isinstance(source, dict) else None
        if not isinstance(source, dict) or not isinstance(endpoint, str) or not endpoint:
            raise BadToken(f"the distributed claim {self._claim} has no endpoint")
        token = source.get("access_token", "")
        if not isinstance(token, str) or not (token.isascii() and token.isprintable()):
            raise BadToken(f"the access token of the distributed claim {self._claim} is no text")
        return endpoint, token

    async def _fetch(self, endpoint: str, access_token: str) -> str:
        documents = self._own.provider.documents
        try:
            content = await documents.get(endpoint, "application/jwt", access_token)
            return content.decode("ascii").strip()
        except (CallError, UnicodeDecodeError):  # whose text may hold the address
            raise BadToken(f"the distributed claim {self._claim} cannot be fetched") from None

    async def _signed(self, token: str) -> tuple[Claims, float]:
        read = unverified(token)
        issuer = read[1].get("iss") if read is not None else None
        if not isinstance(issuer, str):
            raise BadToken(f"the distributed claim {self._claim} is not a signed token")
        return await self._issued_by(issuer).check(token)

    def _issued_by(self, issuer: str) -> IssuedTokens:
        own = self._own
        if issuer == own.provider.issuer:
            return own
        found = self._others.get(issuer)
        if found is None:
            if len(self._others) >= _MOST_ISSUERS:
                raise BadToken("distributed claims come from too many issuers")
            other = own.provider.like(issuer)
            found = self._others[issuer] = IssuedTokens(other, own.client_id)
        return found
