"""OpenID Connect: ID tokens of one trusted issuer."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.auth.authentication.chain import Rejected
from fairlead.auth.authentication.grants import Audiences, Grant, common
from fairlead.auth.authentication.oidc_claims import DistributedClaim
from fairlead.auth.authentication.oidc_provider import Provider
from fairlead.auth.authentication.oidc_tokens import IssuedTokens
from fairlead.auth.authentication.tokens import BadToken, Claims, unverified
from fairlead.auth.authentication.user import User, with_authenticated_group
from fairlead.base.clock import time
from fairlead.base.records import dataclass, field

_LONGEST_KEPT = 60.0  # a token of a key that the provider withdrew must not live on for long


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """From claims to a user. `groups_array_only` refuses a groups claim that is a single text."""

    client_id: str
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    required: Mapping[str, str] = field(default_factory=dict)
    groups_array_only: bool = True


def username_prefix(given: str, claim: str, issuer: str) -> str:
    """The prefix of user names: what was asked for, `-` for none, and by default the issuer
    unless names are mail addresses."""
    if given == "-":
        return ""
    if given or claim == "email":
        return given
    return f"{issuer}#"


class OidcTokens:
    def __init__(self, provider: Provider, rules: ClaimRules, own_audiences: Audiences) -> None:
        self.provider = provider
        self._rules = rules
        self._own_audiences = own_audiences
        self._tokens = IssuedTokens(provider, rules.client_id)
        self._groups_elsewhere = DistributedClaim(rules.groups_claim, self._tokens)

    async def check(self, token: str, wanted: Audiences) -> Grant | None:
        read = unverified(token)
        found = common(wanted, self._own_audiences)
        if read is None or read[1].get("iss") != self.provider.issuer or (wanted and not found):
            return None
        try:
            claims, end = await self._tokens.check(token)
            if self._rules.groups_claim:
                more = await self._groups_elsewhere.fetched(claims)
                if more is not None:
                    claims, end = more[0], min(end, more[1])
            user = self._user(claims)
        except BadToken as error:
            raise Rejected(f"oidc: {error}") from None
        return Grant(user, found, min(end, time() + _LONGEST_KEPT))

    async def close(self) -> None:
        await self.provider.close()

    def _user(self, claims: Claims) -> User:
        rules = self._rules
        name = claims.get(rules.username_claim)
        if not isinstance(name, str) or not name:
            raise BadToken(f'parse username claims "{rules.username_claim}": not a text')
        # A provider that says nothing about verification is taken at its word.
        if rules.username_claim == "email" and claims.get("email_verified", True) is not True:
            raise BadToken("email not verified")
        groups = tuple(rules.groups_prefix + group for group in self._groups(claims))
        for claim, value in rules.required.items():
            if claim not in claims:
                raise BadToken(f"required claim {claim} not present in ID token")
            if claims[claim] != value:
                raise BadToken(f"required claim {claim} value does not match")
        return with_authenticated_group(User(rules.username_prefix + name, "", groups))

    def _groups(self, claims: Claims) -> list[str]:
        rules = self._rules
        if not rules.groups_claim or rules.groups_claim not in claims:
            return []
        value = claims[rules.groups_claim]
        if isinstance(value, str) and not rules.groups_array_only:
            return [value]
        if not isinstance(value, list) or not all(isinstance(group, str) for group in value):
            raise BadToken(f'parse groups claim "{rules.groups_claim}": not an array of strings')
        return value
