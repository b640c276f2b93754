"""Those who try to sign in with what is wrong, and are told to come back later."""

from __future__ import annotations

from time import monotonic

from fairlead.base.caches import Bounded
from fairlead.base.errors import StatusError, too_many_requests, unauthorized

_MOST, _SECONDS = 100, 60.0
_LONGEST_ADDRESS = 64
_TOO_MANY = "too many failed sign-ins, please try again later"


class Failures:
    """So many of one address in a while are told what is wrong. Nobody is kept from signing in with
    what is right: secrets are too long to be guessed, and an address may be that of many."""

    def __init__(self) -> None:
        self._known: Bounded[str, list[float]] = Bounded(
            4096, longest=_LONGEST_ADDRESS, name="failed sign-ins"
        )

    def add(self, address: str, why: str) -> StatusError:
        """What one who failed is told."""
        now = monotonic()
        known = self._known.get(address)
        if known is None or known[1] + _SECONDS <= now:
            known = [0, now]
            self._known.keep(address, known, len(address))
        known[0] += 1
        if known[0] <= _MOST:
            return unauthorized(why)
        return too_many_requests(_TOO_MANY, int(known[1] + _SECONDS - now) + 1)
