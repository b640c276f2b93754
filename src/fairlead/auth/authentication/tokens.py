"""JSON Web Tokens: reading, signing and checking them. Claims are the caller's matter."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from fairlead.auth.authentication.keys import PublicKey, SigningKey

if TYPE_CHECKING:
    from jwt import PyJWS

Claims = dict[str, Any]

# What may sign a token. None of them is symmetric: a public key is no secret.
ALGORITHMS = tuple(f"{family}{bits}" for family in ("RS", "ES", "PS") for bits in (256, 384, 512))
_LONGEST = 64 * 1024
_COMPACT = re.compile(r"\A[-\w]+\.[-\w]+\.[-\w]*\Z", re.ASCII)


class BadToken(ValueError):
    """A token that is not what it claims to be; the text never holds any of it."""


def unverified(token: str) -> tuple[Claims, Claims] | None:
    """Header and claims as they stand, good for nothing but finding out who should check them;
    None if it is no token at all."""
    if len(token) > _LONGEST or not _COMPACT.match(token):
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


_library: PyJWS | None = None


def library() -> PyJWS:
    """Imported at its first use: no start waits for it."""
    global _library
    if _library is None:
        from jwt import PyJWS

        _library = PyJWS()
    return _library


def sign(claims: Claims, key: SigningKey) -> str:
    public = key.public
    return library().encode(
        orjson.dumps(claims, option=orjson.OPT_SORT_KEYS),
        key.key,
        algorithm=public.algorithm,
        headers={"kid": public.key_id, "typ": None},
    )


def verified(token: str, key: Any, algorithms: Sequence[str]) -> Claims:
    """The claims of a token that a key signed with one of the algorithms; raises BadToken."""
    from jwt.exceptions import PyJWTError

    try:
        found = library().decode_complete(token, key, algorithms=list(algorithms))
        claims = orjson.loads(found["payload"])
    except (PyJWTError, ValueError, TypeError):
        # The words of the reference, which reviews show.
        raise BadToken("square/go-jose: error in cryptographic primitive") from None
    if not isinstance(claims, dict):
        raise BadToken("the claims are not an object")
    return claims


def verified_by_any(token: str, key_id: object, keys: Iterable[PublicKey]) -> Claims:
    """The claims of a token that one of the keys signed; the key that it names, if we have it."""
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
    """A time claim, or None if it is absent; raises BadToken if it is no time."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadToken(f"the claim {name} is not a number")
    return float(value)


def audiences(claims: Claims) -> tuple[str, ...]:
    """The audience claim: one text or a list of them; raises BadToken."""
    value = claims.get("aud")
    listed = [value] if isinstance(value, str) else value or []
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise BadToken("the claim aud is neither text nor a list of texts")
    return tuple(listed)
