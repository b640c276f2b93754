"""Passes the user's identity to an extension server in headers, which it trusts because of our
client certificate."""

from __future__ import annotations

import re
from urllib.parse import quote

from fairlead.auth.authentication.user import MASTERS, User
from fairlead.wire.outgoing.client import CallError

Field = tuple[bytes, bytes]

USER, GROUP, EXTRA_PREFIX = b"x-remote-user", b"x-remote-group", "x-remote-extra-"
_OF_NAMES = "!#$&'*+-.^_`|~"  # allowed in header names beside letters and digits (RFC 9110)
_UNTOLD = re.compile(r"[\x00-\x1f\x7f]|\A\s|\s\Z")

# The users of this server's own requests: for discovery and for OpenAPI documents.
DISCOVERER = User("system:kube-aggregator", "", (MASTERS,))
DESCRIBER = User("system:aggregator")


def identity_fields(user: User) -> list[Field]:
    """The headers that carry a user. Raises CallError if a name contains control characters or has
    surrounding spaces, which the other side would strip."""
    found = [(USER, user.name), *((GROUP, group) for group in user.groups)]
    for key, values in user.extra.items():
        name = (EXTRA_PREFIX + quote(key, safe=_OF_NAMES)).encode()
        found += ((name, value) for value in values)
    if any(_UNTOLD.search(value) for _, value in found):
        raise CallError("the user has a name that cannot be sent to another server")
    return [(name, value.encode(errors="replace")) for name, value in found]
