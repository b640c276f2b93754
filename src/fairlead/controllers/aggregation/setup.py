"""Assembles aggregation for a server."""

from __future__ import annotations

from pathlib import Path

from fairlead.api.chain import Handler, no_remote
from fairlead.base.dialect import Dialect
from fairlead.controllers.aggregation.calls import ExtensionCalls
from fairlead.controllers.aggregation.links import Links
from fairlead.controllers.aggregation.openapi.refresh import Descriptions
from fairlead.controllers.aggregation.openapi.v3 import DocumentProxy
from fairlead.controllers.aggregation.proxy import ExtensionProxy
from fairlead.controllers.aggregation.registry import Extensions
from fairlead.controllers.aggregation.trust import ProxyTrust
from fairlead.wire.outgoing.webhooks import Webhooks


class Aggregation:
    """The registry of extension servers, the client for them and the proxy. `services` resolves
    services to addresses; the files hold the client certificate for extension servers."""

    def __init__(
        self,
        dialect: Dialect,
        services: Webhooks,
        certificate: Path,
        key: Path,
        identity: tuple[bytes, ...],
        *,
        passes_redirects: bool = False,
        read_only: bool = False,
    ) -> None:
        self.extensions = Extensions()
        self._links = Links(self.extensions, services, ProxyTrust(certificate, key))
        self.calls = ExtensionCalls(self._links)
        self._proxy = ExtensionProxy(
            self.extensions,
            self._links,
            identity,
            passes_redirects=passes_redirects,
            read_only=read_only,
        )
        documents = DocumentProxy(
            self.extensions, self._links, identity, passes_redirects=passes_redirects
        )
        kind_mark = dialect.marked("x-@-group-version-kind")
        self.descriptions = Descriptions(self.extensions, self.calls, documents, kind_mark)

    def attach(self, handler: Handler) -> None:
        """Install the proxy in the request handler, while at least one extension server is
        registered."""

        def look(_: str) -> None:
            handler.remote = self._proxy.find if self.extensions else no_remote

        self.extensions.listeners.append(look)
        look("")

    async def close(self) -> None:
        self._links.close()
