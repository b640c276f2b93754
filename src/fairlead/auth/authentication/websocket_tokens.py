"""Bearer tokens in the WebSocket subprotocol list: browsers cannot send them in another header."""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode
from collections.abc import Awaitable

from fairlead.auth.authentication.bearer import BearerTokens, as_header_text, use
from fairlead.auth.authentication.chain import Credentials, Rejected
from fairlead.auth.authentication.user import User
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError

PROTOCOLS = b"sec-websocket-protocol"
_TOKENS = "base64url.bearer.authorization."
_UNPADDED = re.compile(r"[A-Za-z0-9_-]*")


def offers_in(value: bytes) -> list[str]:
    """The subprotocols in a header."""
    return [offer.strip() for offer in value.decode("latin-1").split(",")]


def without_tokens(value: bytes) -> bytes:
    """The header without tokens, for forwarding."""
    remaining = [offer for offer in offers_in(value) if not offer.startswith(_TOKENS)]
    return ",".join(remaining).encode("latin-1")


def _is_websocket(request: Credentials) -> bool:
    if request.header(b"upgrade").lower() != "websocket":
        return False
    return "upgrade" in [name.strip() for name in request.header(b"connection").lower().split(",")]


def _decode(encoded: str) -> str:
    if not _UNPADDED.fullmatch(encoded):
        raise Rejected("invalid base64.bearer.authorization token encoding")
    try:
        return urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Rejected("invalid base64.bearer.authorization token encoding") from None


class WebSocketTokens:
    """The method that extracts the token and passes it to the token methods."""

    def __init__(self, dialect: Dialect, tokens: BearerTokens) -> None:
        group = dialect.group_name("authorization.@")
        self._prefix = f"{_TOKENS.removesuffix('authorization.')}{group}."
        self._tokens = tokens

    def authenticate(self, request: Credentials) -> Awaitable[User | None] | None:
        return self._authenticate(request) if _is_websocket(request) else None

    async def _authenticate(self, request: Credentials) -> User | None:
        values = [value for name, value in request.raw_headers if name == PROTOCOLS]
        offers = [offer for value in values for offer in offers_in(value)]
        tokens = [offer for offer in offers if offer.startswith(self._prefix)]
        if len(tokens) > 1:
            raise Rejected("multiple base64.bearer.authorization tokens specified")
        token = _decode(tokens[0].removeprefix(self._prefix)) if tokens else ""
        if not token:
            return None
        if len(offers) == 1:  # the response must select another subprotocol than the token
            raise Rejected("missing additional subprotocol")
        grant = await self._tokens.check(as_header_text(token), self._tokens.audiences)
        return use(grant, request)


# Detecting cross-site requests of browsers.

_OWN_SITES = ("", "same-origin", "none")
_DEFAULT_PORT = ":443"


def refuse_foreign(request: Credentials) -> None:
    """Raise a 403 StatusError if a browser sent the request from a page of another site. Other
    clients send neither `Sec-Fetch-Site` nor `Origin`."""
    site, origin = request.header(b"sec-fetch-site"), request.header(b"origin")
    if site in _OWN_SITES and (not origin or origin.lower() == _own_origin(request)):
        return
    raise StatusError(403, "Forbidden", "requests of pages of other sites are refused")


def _own_origin(request: Credentials) -> str:
    return f"https://{request.header(b'host').lower().removesuffix(_DEFAULT_PORT)}"
