"""Connections to extension servers, one pool per server."""

from __future__ import annotations

from ssl import SSLContext
from typing import NamedTuple

from fairlead.controllers.aggregation.extension import Extension
from fairlead.controllers.aggregation.registry import Extensions
from fairlead.controllers.aggregation.trust import ProxyTrust
from fairlead.wire.outgoing.pool import Pool
from fairlead.wire.outgoing.request import Route
from fairlead.wire.outgoing.webhooks import Webhooks


class Link(NamedTuple):
    """The current route to an extension server, and its connection pool."""

    route: Route
    pool: Pool


class Links:
    """`services` resolves services to addresses. A pool is replaced when the address or TLS
    settings in its APIService, or our client certificate, change."""

    def __init__(self, extensions: Extensions, services: Webhooks, trust: ProxyTrust) -> None:
        self._extensions = extensions
        self._services = services
        self._trust = trust
        self._open: dict[str, tuple[SSLContext, Pool]] = {}
        extensions.listeners.append(self._changed)

    def _changed(self, name: str) -> None:
        extension = self._extensions.named(name)
        if extension is None or not self._trust.is_current(extension):
            self._trust.forget(name)
            _, pool = self._open.pop(name, (None, None))
            if pool is not None:
                pool.retire()

    def trust(self, extension: Extension) -> SSLContext:
        """The TLS context for an extension server; raises CallError."""
        return self._trust.context(extension)

    async def link_to(self, extension: Extension, context: SSLContext) -> Link:
        """The address and pool of an extension server. Raises CallError if its service cannot be
        resolved."""
        address = extension.service_namespace, extension.service_name, extension.service_port
        host, port = await self._services.address(*address)
        previous, pool = self._open.get(extension.name) or (None, None)
        if pool is None or previous is not context:
            if pool is not None:
                pool.retire()
            pool = Pool()
            self._open[extension.name] = context, pool
        return Link(Route(host, port, extension.host, context), pool)

    def close(self) -> None:
        for _, pool in self._open.values():
            pool.close()
        self._open.clear()
