"""Telling an extension server who asks: it believes us because of our certificate."""

from __future__ import annotations

from urllib.parse import quote

from fairlead.authentication.user import MASTERS, User

USER, GROUP, EXTRA_PREFIX = "X-Remote-User", "X-Remote-Group", "X-Remote-Extra-"
_OF_NAMES = "!#$&'*+-.^_`|~"  # beside letters and digits, what a header's name may have

# As whom this server asks for itself: what there is, and what it looks like.
DISCOVERER = User("system:kube-aggregator", "", (MASTERS,))
DESCRIBER = User("system:aggregator")


def identity_headers(user: User) -> list[tuple[str, str]]:
    """The headers that name a user. What cannot be a header is a ValueError."""
    found = [(USER, user.name), *((GROUP, group) for group in user.groups)]
    for key, values in user.extra.items():
        name = EXTRA_PREFIX + quote(key, safe=_OF_NAMES)
        found += ((name, value) for value in values)
    for _, value in found:
        if any(letter < " " or letter == "\x7f" for letter in value):
            raise ValueError("the name of the user cannot be told in a header")
    return found
