"""The TLS context that requests client certificates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.x509 import load_pem_x509_certificates

from fairlead.auth.authentication.authorities import Authorities
from fairlead.wire.incoming.tls import server_context

if TYPE_CHECKING:
    from OpenSSL import SSL


class ClientTrust:
    """Provides the TLS context of each handshake: the serving certificate and the current client
    CAs."""

    def __init__(self, certificate: Path, key: Path, authorities: Sequence[Authorities]) -> None:
        self._certificate = certificate
        self._key = key
        self._authorities = tuple(authorities)
        self.refresh()

    def refresh(self) -> None:
        """Reload the serving certificate for later handshakes. Raises SSL.Error."""
        certificates = [
            certificate
            for authorities in self._authorities
            for certificate in load_pem_x509_certificates(authorities.pem.encode())
        ]
        self._generations = self._current_generations()
        self._context = server_context(self._certificate, self._key, dict.fromkeys(certificates))

    def context(self) -> SSL.Context:
        if self._generations != self._current_generations():
            self.refresh()
        return self._context

    def _current_generations(self) -> tuple[int, ...]:
        return tuple(authorities.generation for authorities in self._authorities)
