"""JSON Web Tokens: parsing, signing and verifying. Callers check the claims."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Sequence
from typing import Any, Final

import orjson

from fairlead.auth.authentication import jws
from fairlead.auth.authentication.keys import PublicKey, SigningKey

Claims = dict[str, Any]

# The accepted algorithms. None is symmetric, because public keys are not secret.
ALGORITHMS = tuple(f"{family}{bits}" for family in ("RS", "ES", "PS") for bits in (256, 384, 512))
_MAX_LENGTH: Final = 64 * 1024
_COMPACT: Final = re.compile(r"\A[-\w]+\.[-\w]+\.[-\w]*\Z", re.ASCII)


class BadToken(ValueError):
    """An invalid token; the text never contains any of it."""


def unverified(token: str) -> tuple[Claims, Claims] | None:
    """Header and claims without verification, only for choosing the verifier; None if the text is
    not a token."""
    if len(token) > _MAX_LENGTH or not _COMPACT.match(token):
        return None
    try:
        header, claims = (orjson.loads(_decode(part)) for part in token.split(".")[:2])
    except ValueError:
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    return header, claims


def _decode(part: str) -> bytes:
    return urlsafe_b64decode(part.encode("ascii") + b"=" * (-len(part) % 4))


def sign(claims: Claims, key: SigningKey) -> str:
    public = key.public
    payload = orjson.dumps(claims, option=orjson.OPT_SORT_KEYS)
    return jws.signed(payload, key.key, public.algorithm, public.key_id)


def verified(token: str, key: Any, algorithms: Sequence[str]) -> Claims:
    """The claims of a token, verified with a key and one of the algorithms; raises BadToken."""
    try:
        claims = orjson.loads(jws.verified_payload(token, key, algorithms))
    except ValueError:
        # The reference's message, which reviews show.
        raise BadToken("square/go-jose: error in cryptographic primitive") from None
    if not isinstance(claims, dict):
        raise BadToken("the claims are not an object")
    return claims


def verified_by_any(token: str, key_id: object, keys: Iterable[PublicKey]) -> Claims:
    """The claims of a token, verified with the key it names if known, else with any key."""
    candidates = list(keys)
    named = [key for key in candidates if key.key_id == key_id]
    failure = BadToken("no key to check the token with")
    for key in named or candidates:
        try:
            return verified(token, key.key, (key.algorithm,))
        except BadToken as error:
            failure = error
    raise failure


def seconds(claims: Claims, name: str) -> float | None:
    """A time claim, None if it is absent; raises BadToken if it is not a number."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadToken(f"the claim {name} is not a number")
    return float(value)


def audiences(claims: Claims) -> tuple[str, ...]:
    """The audience claim, a string or a list; raises BadToken."""
    value = claims.get("aud")
    listed = [value] if isinstance(value, str) else value or []
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise BadToken("the claim aud is neither text nor a list of texts")
    return tuple(listed)
