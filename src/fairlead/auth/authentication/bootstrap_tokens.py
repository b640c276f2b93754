"""Bootstrap tokens: Secrets in the system namespace that new members use for their first login."""

from __future__ import annotations

import hmac
import re
from base64 import b64decode
from math import inf

from fairlead.auth.authentication.bearer import Audiences, Grant, known_audiences
from fairlead.auth.authentication.service_accounts import SECRETS, Lookup, Object
from fairlead.auth.authentication.user import User, with_authenticated_group
from fairlead.base.clock import time
from fairlead.base.dialect import Dialect
from fairlead.codec.types.times import TimeError, parse_time

USER_PREFIX = "system:bootstrap:"
GROUP = "system:bootstrappers"
NAME_PREFIX = "bootstrap-token-"

_TOKEN = re.compile(r"\A([a-z0-9]{6})\.([a-z0-9]{16})\Z")
_ID = re.compile(r"\A[a-z0-9]{6}\Z")
_EXTRA_GROUP = re.compile(rf"\A{GROUP}:[a-z0-9:-]{{0,255}}[a-z0-9]\Z")


class BootstrapTokens:
    """A token that breaks any rule counts as unknown."""

    def __init__(self, dialect: Dialect, own_audiences: Audiences, lookup: Lookup) -> None:
        self._type = dialect.label("bootstrap.@/token")
        self._namespace = dialect.system_namespace
        self._own_audiences = own_audiences
        self._lookup = lookup

    async def check(self, token: str, wanted_audiences: Audiences) -> Grant | None:
        match = _TOKEN.match(token)
        shared = known_audiences(wanted_audiences, self._own_audiences)
        if match is None or (wanted_audiences and not shared):
            return None
        identifier, secret_part = match.groups()
        name = NAME_PREFIX + identifier
        secret = self._lookup(SECRETS, self._namespace, name)
        if secret is None or secret["metadata"].get("deletionTimestamp"):
            return None
        if secret.get("type") != self._type:
            return None
        data = _data(secret)
        if not hmac.compare_digest(data.get("token-secret", "").encode(), secret_part.encode()):
            return None
        until = expiry(secret)
        groups = _groups(data)
        if data.get("token-id") != identifier or until <= time() or groups is None:
            return None
        if data.get("usage-bootstrap-authentication") != "true":
            return None
        user = with_authenticated_group(User(USER_PREFIX + identifier, "", groups))
        return Grant(user, shared, until, ((SECRETS, f"{self._namespace}/{name}"),))


def _data(secret: Object) -> dict[str, str]:
    data = secret.get("data") or {}
    return {key: b64decode(value or "").decode(errors="replace") for key, value in data.items()}


def expiry(secret: Object) -> float:
    """The unix time when a token expires; 0 if the expiration is unreadable."""
    text = _data(secret).get("expiration", "")
    if not text:
        return inf
    try:
        return parse_time(text).timestamp()
    except TimeError:
        return 0.0


def signing_token(secret: Object) -> tuple[str, str] | None:
    """The id and the secret part of a token that may be used for signing, else None."""
    data = _data(secret)
    token_id, secret_part = data.get("token-id", ""), data.get("token-secret", "")
    if not token_id or not secret_part or data.get("usage-bootstrap-signing") != "true":
        return None
    if _ID.match(token_id) is None or secret["metadata"]["name"] != NAME_PREFIX + token_id:
        return None
    return None if expiry(secret) <= time() else (token_id, secret_part)


def _groups(data: dict[str, str]) -> tuple[str, ...] | None:
    """All groups of the token's user; None if one is not allowed."""
    listed = data.get("auth-extra-groups", "")
    extra = listed.split(",") if listed else []
    if not all(_EXTRA_GROUP.match(group) for group in extra):
        return None
    return tuple(sorted({GROUP, *extra}))
