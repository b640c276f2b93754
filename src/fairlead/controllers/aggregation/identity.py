"""Telling an extension server who asks: it believes us because of our certificate."""

from __future__ import annotations

import re
from urllib.parse import quote

from fairlead.auth.authentication.user import MASTERS, User
from fairlead.wire.outgoing.client import CallError

Field = tuple[bytes, bytes]

USER, GROUP, EXTRA_PREFIX = b"x-remote-user", b"x-remote-group", "x-remote-extra-"
_OF_NAMES = "!#$&'*+-.^_`|~"  # beside letters and digits, what a header's name may have
_UNTOLD = re.compile(r"[\x00-\x1f\x7f]|\A\s|\s\Z")

# As whom this server asks for itself: what there is, and what it looks like.
DISCOVERER = User("system:kube-aggregator", "", (MASTERS,))
DESCRIBER = User("system:aggregator")


def identity_fields(user: User) -> list[Field]:
    """The headers that name a user. Raises CallError for a name that a header cannot hold, or of
    which the other side would see another one: spaces around a value are no part of it."""
    found = [(USER, user.name), *((GROUP, group) for group in user.groups)]
    for key, values in user.extra.items():
        name = (EXTRA_PREFIX + quote(key, safe=_OF_NAMES)).encode()
        found += ((name, value) for value in values)
    if any(_UNTOLD.search(value) for _, value in found):
        raise CallError("the user has a name that cannot be told to another server")
    return [(name, value.encode(errors="replace")) for name, value in found]
