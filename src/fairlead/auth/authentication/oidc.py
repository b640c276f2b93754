"""OpenID Connect: ID tokens of one trusted issuer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fairlead.auth.authentication.bearer import Audiences, Grant, known_audiences
from fairlead.auth.authentication.chain import Rejected
from fairlead.auth.authentication.oidc_provider import IssuedTokens, Provider
from fairlead.auth.authentication.tokens import BadToken, Claims, unverified
from fairlead.auth.authentication.user import User, with_authenticated_group
from fairlead.base.clock import time
from fairlead.wire.outgoing.response import CallError

_MAX_CACHE_SECONDS = 60.0  # seconds; bounds the use of tokens whose key the provider withdrew


class ClaimsMapper(Protocol):
    """Maps the claims of verified tokens to users. `audiences` are the accepted ones. The claim
    `groups_claim` may be distributed."""

    @property
    def audiences(self) -> Audiences: ...

    @property
    def groups_claim(self) -> str: ...

    async def user(self, claims: Claims) -> User:
        """Raises BadToken."""


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """Maps claims to a user by the flags `--oidc-…`. `groups_array_only` rejects a groups claim
    that is a single string. `credential_extra` is the extra field for the id of the token."""

    client_id: str
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    required: Mapping[str, str] = field(default_factory=dict)
    groups_array_only: bool = True
    credential_extra: str = ""

    @property
    def audiences(self) -> Audiences:
        return (self.client_id,)

    async def user(self, claims: Claims) -> User:
        name = email_checked(claims, self.username_claim)
        groups: list[str] = []
        if self.groups_claim in claims:
            groups = group_list(claims, self.groups_claim, array_only=self.groups_array_only)
        prefixed = tuple(self.groups_prefix + group for group in groups)
        check_required(claims, self.required)
        extra = credential_id(claims, self.credential_extra) if self.credential_extra else {}
        return User(self.username_prefix + name, "", prefixed, extra)


def email_checked(claims: Claims, claim: str) -> str:
    """The text of a claim that names the user; an email address must be verified."""
    name = claims.get(claim)
    if not isinstance(name, str) or not name:
        raise BadToken(f'parse username claims "{claim}": not a text')
    # A missing email_verified claim counts as verified.
    if claim == "email" and claims.get("email_verified", True) is not True:
        raise BadToken("email not verified")
    return name


def group_list(claims: Claims, claim: str, *, array_only: bool = False) -> list[str]:
    """The groups in a claim: a list of texts or, unless `array_only`, one text."""
    value = claims[claim]
    if isinstance(value, str) and not array_only:
        return [value]
    if not isinstance(value, list) or not all(isinstance(group, str) for group in value):
        raise BadToken(f'parse groups claim "{claim}": not an array of strings')
    return value


def check_required(claims: Claims, required: Mapping[str, str]) -> None:
    for claim, value in required.items():
        if claim not in claims:
            raise BadToken(f"required claim {claim} not present in ID token")
        if claims[claim] != value:
            raise BadToken(f"required claim {claim} value does not match")


def credential_id(claims: Claims, extra: str) -> dict[str, tuple[str, ...]]:
    """The extra field with the id of a token, if it has one."""
    token_id = claims.get("jti")
    return {extra: (f"JTI={token_id}",)} if isinstance(token_id, str) and token_id else {}


def username_prefix(prefix: str, claim: str, issuer: str) -> str:
    """The prefix of user names: the configured one, none for `-`, and by default the issuer unless
    names are email addresses."""
    if prefix == "-":
        return ""
    if prefix or claim == "email":
        return prefix
    return f"{issuer}#"


class OidcTokens:
    def __init__(self, provider: Provider, mapper: ClaimsMapper, own_audiences: Audiences) -> None:
        self.provider = provider
        self._mapper = mapper
        self._own_audiences = own_audiences
        self._tokens = IssuedTokens(provider, mapper.audiences)
        self._groups_elsewhere = DistributedClaim(mapper.groups_claim, self._tokens)

    async def check(self, token: str, wanted_audiences: Audiences) -> Grant | None:
        read = unverified(token)
        shared = known_audiences(wanted_audiences, self._own_audiences)
        if (
            read is None
            or read[1].get("iss") != self.provider.issuer
            or (wanted_audiences and not shared)
        ):
            return None
        try:
            claims, end = await self._tokens.check(token)
            if self._mapper.groups_claim:
                more = await self._groups_elsewhere.fetched(claims)
                if more is not None:
                    claims, end = more[0], min(end, more[1])
            user = with_authenticated_group(await self._mapper.user(claims))
        except BadToken as error:
            raise Rejected(f"oidc: {error}") from None
        return Grant(user, shared, min(end, time() + _MAX_CACHE_SECONDS))

    async def close(self) -> None:
        await self.provider.close()


# Distributed claims: an ID token may name an endpoint that serves one of its claims, signed.

_NAMES, _SOURCES = "_claim_names", "_claim_sources"
_MAX_ISSUERS = 16


class DistributedClaim:
    """One claim that may be distributed. Keys of its issuer are fetched as for the trusted
    provider, with the same CAs and algorithms."""

    def __init__(self, claim: str, own: IssuedTokens) -> None:
        self._claim = claim
        self._own = own
        self._others: dict[str, IssuedTokens] = {}

    async def fetched(self, claims: Claims) -> tuple[Claims, float] | None:
        """The claims including the distributed one, and the expiry of that one; None if the claim
        is not distributed. Raises BadToken."""
        names = claims.get(_NAMES)
        if self._claim in claims or names is None:
            return None
        if not isinstance(names, dict):
            raise BadToken("the distributed claim names are not an object")
        if self._claim not in names:
            return None
        endpoint, access_token = self._source(claims, names[self._claim])
        fetched_claims, end = await self._signed(await self._fetch(endpoint, access_token))
        if self._claim not in fetched_claims:
            raise BadToken(f"the distributed claim {self._claim} is not where it should be")
        return {**claims, self._claim: fetched_claims[self._claim]}, end

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
        except (CallError, UnicodeDecodeError):  # its text may contain the URL
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
        tokens = self._others.get(issuer)
        if tokens is None:
            if len(self._others) >= _MAX_ISSUERS:
                raise BadToken("distributed claims come from too many issuers")
            other = own.provider.for_issuer(issuer)
            tokens = self._others[issuer] = IssuedTokens(other, own.audiences)
        return tokens
