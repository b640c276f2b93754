"""Which requests a browser sends for a page of another site."""

from __future__ import annotations

from fairlead.auth.authentication.chain import Credentials
from fairlead.base.errors import StatusError

_OWN_SITES = ("", "same-origin", "none")
_USUAL_PORT = ":443"


def refuse_foreign(request: Credentials) -> None:
    """Raise a 403 StatusError for a request of a page that this server has not served. Programs
    that are no browsers say nothing of pages."""
    site, origin = request.header(b"sec-fetch-site"), request.header(b"origin")
    if site in _OWN_SITES and (not origin or origin.lower() == _own_origin(request)):
        return
    raise StatusError(403, "Forbidden", "requests of pages of other sites are refused")


def _own_origin(request: Credentials) -> str:
    return f"https://{request.header(b'host').lower().removesuffix(_USUAL_PORT)}"
