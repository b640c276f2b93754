"""The connections to extension servers, those of each for itself."""

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
    """Where an extension server is now, and the conversations with it."""

    place: Place
    conversations: Conversations


class Links:
    """`services` knows where services are. Connections are kept as long as their APIService, and
    what we show of ourselves, stay as they are."""

    def __init__(self, extensions: Extensions, services: Webhooks, trust: ProxyTrust) -> None:
        self._extensions = extensions
        self._services = services
        self._trust = trust
        self._kept: dict[str, tuple[SSLContext, Conversations]] = {}
        extensions.listeners.append(self._changed)

    def _changed(self, name: str) -> None:
        extension = self._extensions.named(name)
        if extension is None or not self._trust.knows(extension):
            self._trust.forget(name)
            _, conversations = self._kept.pop(name, (None, None))
            if conversations is not None:
                conversations.retire()

    def trust(self, extension: Extension) -> SSLContext:
        """How an extension server is spoken to; raises CallError."""
        return self._trust.context(extension)

    async def to(self, extension: Extension, context: SSLContext) -> Link:
        """Raises CallError where nobody knows where the service is."""
        address = extension.service_namespace, extension.service_name, extension.service_port
        host, port = await self._services.address(*address)
        known, conversations = self._kept.get(extension.name) or (None, None)
        if conversations is None or known is not context:
            if conversations is not None:
                conversations.retire()
            conversations = Conversations()
            self._kept[extension.name] = context, conversations
        return Link(Place(host, port, extension.host, context), conversations)

    def close(self) -> None:
        for _, conversations in self._kept.values():
            conversations.close()
        self._kept.clear()
