"""Tokens that one issuer signed for us, and for now."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.auth.authentication.oidc_provider import Provider, ProviderKey
from fairlead.auth.authentication.tokens import (
    ALGORITHMS,
    BadToken,
    Claims,
    audiences,
    seconds,
    unverified,
    verified,
)
from fairlead.base.clock import time

_SKEW = 60.0  # seconds by which the provider's clock may be ahead


class IssuedTokens:
    """Checks tokens of a provider for one client."""

    def __init__(self, provider: Provider, client_id: str) -> None:
        self.provider = provider
        self.client_id = client_id

    async def check(self, token: str) -> tuple[Claims, float]:
        """The claims of a token and when it ends; raises BadToken."""
        read = unverified(token)
        if read is None:
            raise BadToken("verify token: it is malformed")
        claims = await self._verified(token, read[0])
        return claims, self._end(claims)

    async def _verified(self, token: str, header: Claims) -> Claims:
        """The claims, once a key of the provider is found to have signed them."""
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise BadToken("verify token: the signature algorithm is not allowed")
        keys = await self.provider.keys(header.get("kid"))
        if not self.provider.ready:
            raise BadToken("authenticator not initialized")
        if algorithm not in self.provider.algorithms:
            raise BadToken("verify token: the signature algorithm is not allowed")
        claims = _signed_by(keys, token, algorithm)
        if claims is None and not header.get("kid"):  # maybe a new key that nothing names
            newer = await self.provider.newer_keys(None)
            claims = _signed_by(newer, token, algorithm) if newer != keys else None
        if claims is None:
            raise BadToken("verify token: failed to verify signature")
        return claims

    def _end(self, claims: Claims) -> float:
        """When the token ends; raises BadToken for one that is not for us or not for now."""
        if claims.get("iss") != self.provider.issuer:
            raise BadToken("verify token: id token issued by a different provider")
        if self.client_id not in audiences(claims):
            raise BadToken("verify token: the token was issued for another client")
        now = time()
        end = seconds(claims, "exp")
        if end is None or now >= end:
            raise BadToken("verify token: token is expired")
        start = seconds(claims, "nbf")
        if start is not None and start > now + _SKEW:
            raise BadToken("verify token: current time is before the nbf (not before) time")
        return end


def _signed_by(keys: Sequence[ProviderKey], token: str, algorithm: str) -> Claims | None:
    for key in keys:
        if key.fits(algorithm):
            try:
                return verified(token, key.key, (algorithm,))
            except BadToken:
                continue
    return None
