"""The TLS settings that ask clients for certificates."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence

from fairlead.authentication.authorities import Authorities


class ClientTrust:
    """Keeps the TLS layer asking for client certificates of the current CAs.

    `make` gives a fresh server context with the serving certificate. `context` is for the
    listener; when CAs change, later handshakes are moved to a fresh context.
    """

    def __init__(
        self, make: Callable[[], ssl.SSLContext], authorities: Sequence[Authorities]
    ) -> None:
        self._make = make
        self._authorities = tuple(authorities)
        self._generations = self._current_generations()
        self.context = self._latest = self._trusting()
        self.context.sni_callback = self._at_handshake

    def _current_generations(self) -> tuple[int, ...]:
        return tuple(authorities.generation for authorities in self._authorities)

    def _trusting(self) -> ssl.SSLContext:
        context = self._make()
        context.verify_mode = ssl.CERT_OPTIONAL
        # A resumed session would skip the check against the CAs of the day.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET
        for authorities in self._authorities:
            context.load_verify_locations(cadata=authorities.pem)
        return context

    def refresh(self) -> None:
        """Use the serving certificate as it is now for later handshakes."""
        self._latest = self._trusting()

    def _at_handshake(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _: ssl.SSLContext
    ) -> None:
        generations = self._current_generations()
        if generations != self._generations:
            self._generations = generations
            self._latest = self._trusting()
        if self._latest is not self.context:
            connection.context = self._latest
