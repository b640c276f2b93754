"""What a server needs to have others behind it."""

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
    """Who the others are, how they are asked, and what passes requests on to them. `services` knows
    where services are; the files hold what is shown to extension servers."""

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
        """Have requests passed on. As long as there is nobody else, nobody is looked for."""

        def look(_: str) -> None:
            handler.remote = self._proxy.find if self.extensions else no_remote

        self.extensions.listeners.append(look)
        look("")

    async def close(self) -> None:
        self._links.close()
