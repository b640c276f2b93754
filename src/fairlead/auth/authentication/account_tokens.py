"""Issues service account tokens, and serves the OpenID documents to verify them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from fairlead.auth.authentication.bearer import Audiences
from fairlead.auth.authentication.keys import KeyRing
from fairlead.auth.authentication.service_accounts import AccountClaims, account_claims
from fairlead.auth.authentication.tokens import Claims, sign
from fairlead.auth.authentication.user import account_user_name
from fairlead.base.clock import time
from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Object as Object

JWKS_PATH = "/openid/v1/jwks"
KEY_SET = "application/jwk-set+json"
CONFIGURATION_PATH = "/.well-known/openid-configuration"

# The lifetime requested for the default token volume of pods, whose old clients never renew tokens.
# Such a token lasts a year instead, and a claim holds the time after which each use is noted in the
# audit log.
_TRANSITION_SECONDS = 3607
_EXTENDED_SECONDS = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """Signs tokens for service accounts. `max_seconds` 0 means no limit."""

    dialect: Dialect
    issuer: str
    keys: KeyRing
    audiences: Audiences
    max_seconds: int = 0
    extends: bool = True
    _names: AccountClaims = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names", account_claims(self.dialect))

    def bound(
        self,
        account: Object,
        lifetime: int,
        audiences: Sequence[str],
        pod: Object | None = None,
        secret: Object | None = None,
        node: Object | None = None,
        token_id: str = "",
    ) -> str:
        """Issue a token of an account for `lifetime` seconds, bound to the given object, if any; a
        token of a pod may name its node too."""
        metadata = account["metadata"]
        now = int(time())
        own: Object = {"namespace": metadata["namespace"], "serviceaccount": _ref(account)}
        if pod is not None:
            own["pod"] = _ref(pod)
            if self._is_transitional(lifetime, audiences):
                own["warnafter"] = now + lifetime
                lifetime = _EXTENDED_SECONDS
        elif secret is not None:
            own["secret"] = _ref(secret)
        if node is not None:
            own["node"] = _ref(node)
        claims: Claims = {
            "aud": list(audiences),
            "exp": now + lifetime,
            "iat": now,
            "iss": self.issuer,
            "nbf": now,
            "sub": account_user_name(metadata["namespace"], metadata["name"]),
            self._names.bound: own,
        }
        if token_id:
            claims["jti"] = token_id
        return sign(claims, self.keys.signing)

    def _is_transitional(self, lifetime: int, audiences: Sequence[str]) -> bool:
        is_own = bool(audiences) and set(audiences) <= set(self.audiences)
        return self.extends and lifetime == _TRANSITION_SECONDS and is_own

    def legacy(self, account: Object, secret_name: str) -> str:
        """Issue the token for a Secret; valid while the Secret holds it."""
        names, metadata = self._names, account["metadata"]
        claims: Claims = {
            "iss": names.legacy_issuer,
            "sub": account_user_name(metadata["namespace"], metadata["name"]),
            names.namespace: metadata["namespace"],
            names.secret_name: secret_name,
            names.account_name: metadata["name"],
            names.account_uid: metadata["uid"],
        }
        return sign(claims, self.keys.signing)


def _ref(value: Object) -> Object:
    metadata = value["metadata"]
    if not metadata.get("uid"):  # a node that is known by its name only
        return {"name": metadata["name"]}
    return {"name": metadata["name"], "uid": metadata["uid"]}


class IssuerDocuments(NamedTuple):
    """OpenID discovery documents of our own issuer. `available` is False if the issuer is not an
    https URL, which discovery requires; then the paths are not served."""

    issuer: str
    keys: KeyRing
    jwks_uri: str = ""

    @property
    def available(self) -> bool:
        url = urlsplit(self.issuer)
        return url.scheme == "https" and not url.query and not url.fragment

    def configuration(self, address: str) -> Object:
        """The document at CONFIGURATION_PATH; `address` is this server's address for clients."""
        return {
            "issuer": self.issuer,
            "jwks_uri": self.jwks_uri or f"https://{address}{JWKS_PATH}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted(
                {key.algorithm for key in self.keys.public}
            ),
        }

    def jwks(self) -> Object:
        """The document at JWKS_PATH."""
        return {"keys": [key.jwk() for key in self.keys.public]}
