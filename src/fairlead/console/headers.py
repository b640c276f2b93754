"""Security headers of all responses of the console."""

from __future__ import annotations

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.wire.incoming.exchange import Header
from fairlead.wire.incoming.transfer import respond_in_pieces

_POLICY = """
default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';
font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';
require-trusted-types-for 'script'
"""
_UNUSED = """
accelerometer autoplay camera display-capture encrypted-media fullscreen geolocation gyroscope
magnetometer microphone midi payment picture-in-picture publickey-credentials-get screen-wake-lock
usb xr-spatial-tracking
"""
SECURITY_HEADERS: tuple[Header, ...] = (
    (b"content-security-policy", " ".join(_POLICY.split()).encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", ", ".join(f"{name}=()" for name in _UNUSED.split()).encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
NO_STORE: Header = (b"cache-control", b"no-store")


class SecuredAnswer(Answer):
    """A response with exactly the given headers and SAFETY, and a body of bytes that is sent
    unchanged."""

    __slots__ = ()

    def fields(self, request: Request) -> list[Header]:
        kind = (b"content-type", self.media_type.encode())
        return [kind, *self.headers, *SECURITY_HEADERS]

    async def send(self, request: Request) -> None:
        assert isinstance(self.body, bytes)
        await respond_in_pieces(request.exchange, self.code, self.fields(request), self.body)
