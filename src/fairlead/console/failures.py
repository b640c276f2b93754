"""Those who try to sign in with what is wrong, and are told to come back later."""

from __future__ import annotations

from time import monotonic

from fairlead.bounded import Bounded
from fairlead.errors import too_many_requests

_MOST, _SECONDS = 20, 60.0
_LONGEST_ADDRESS = 64


class Failures:
    """So many of one address are let pass in a while. Secrets are too long to be guessed: this
    keeps those from being a load who try."""

    def __init__(self) -> None:
        self._known: Bounded[str, list[float]] = Bounded(
            4096, longest=_LONGEST_ADDRESS, name="failed sign-ins"
        )

    def check(self, address: str) -> None:
        """Raises a 429 StatusError."""
        known = self._known.get(address)
        if known is None:
            return
        count, since = known
        left = since + _SECONDS - monotonic()
        if left <= 0:
            self._known.drop(address)
        elif count >= _MOST:
            raise too_many_requests(
                "too many failed sign-ins, please try again later", int(left) + 1
            )

    def add(self, address: str) -> None:
        known = self._known.get(address)
        if known is None:
            self._known.keep(address, [1, monotonic()], len(address))
        else:
            known[0] += 1
