"""Builds the route to a server, with a TLS context for the current certificate."""

from __future__ import annotations

import ssl

from fairlead.client.access.model import Access, AccessError, Proof
from fairlead.wire.outgoing.client_config import ClientConfigError
from fairlead.wire.outgoing.request import Route, parse_route


class Routes:
    """The route to the server of an access. Changes, and so causes new connections, only with the
    client certificate."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._current: tuple[bytes, bytes] | None = None
        self._route: Route | None = None

    def with_proof(self, proof: Proof) -> Route:
        """The route for these credentials; raises AccessError."""
        pair = (proof.certificate, proof.key)
        if self._route is None or pair != self._current:
            self._route, self._current = self._new_route(proof), pair
        return self._route

    def _new_route(self, proof: Proof) -> Route:
        config = self._access.place
        context = self._context(proof)
        try:
            return parse_route(config.server, context, config.server_name, config.proxy)
        except ValueError as error:
            raise AccessError(f"{config.server}: {error}") from None

    def _context(self, proof: Proof) -> ssl.SSLContext | None:
        config = self._access.place._replace(certificate=proof.certificate, key=proof.key)
        try:
            return config.ssl_context()
        except ClientConfigError as error:
            raise AccessError(str(error)) from None
