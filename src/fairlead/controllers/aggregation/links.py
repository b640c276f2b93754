"""Connections to extension servers, one pool per server."""

from __future__ import annotations

from ssl import SSLContext
from typing import NamedTuple

from fairlead.controllers.aggregation.extension import Extension
from fairlead.controllers.aggregation.registry import Extensions
from fairlead.controllers.aggregation.trust import ProxyTrust
from fairlead.wire.outgoing.dialer import Place
from fairlead.wire.outgoing.pool import Conversations
from fairlead.wire.outgoing.webhooks import Webhooks


class Link(NamedTuple):
    """The current address of an extension server, and its connection pool."""

    place: Place
    conversations: Conversations


class Links:
    """`services` resolves services to addresses. A pool is replaced when the address or TLS
    settings in its APIService, or our client certificate, change."""

    def __init__(self, extensions: Extensions, services: Webhooks, trust: ProxyTrust) -> None:
        self._extensions = extensions
        self._services = services
        self._trust = trust
        self._open: dict[str, tuple[SSLContext, Conversations]] = {}
        extensions.listeners.append(self._changed)

    def _changed(self, name: str) -> None:
        extension = self._extensions.named(name)
        if extension is None or not self._trust.knows(extension):
            self._trust.forget(name)
            _, conversations = self._open.pop(name, (None, None))
            if conversations is not None:
                conversations.retire()

    def trust(self, extension: Extension) -> SSLContext:
        """The TLS context for an extension server; raises CallError."""
        return self._trust.context(extension)

    async def to(self, extension: Extension, context: SSLContext) -> Link:
        """The address and pool of an extension server. Raises CallError if its service cannot be
        resolved."""
        address = extension.service_namespace, extension.service_name, extension.service_port
        host, port = await self._services.address(*address)
        previous, conversations = self._open.get(extension.name) or (None, None)
        if conversations is None or previous is not context:
            if conversations is not None:
                conversations.retire()
            conversations = Conversations()
            self._open[extension.name] = context, conversations
        return Link(Place(host, port, extension.host, context), conversations)

    def close(self) -> None:
        for _, conversations in self._open.values():
            conversations.close()
        self._open.clear()
