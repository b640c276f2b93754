"""What a server needs to have others behind it."""

from __future__ import annotations

from pathlib import Path

from fairlead.aggregation.calling import ExtensionCalls
from fairlead.aggregation.links import Links
from fairlead.aggregation.openapi.keeping import Descriptions
from fairlead.aggregation.openapi.passing import DocumentProxy
from fairlead.aggregation.proxying import ExtensionProxy
from fairlead.aggregation.registry import Extensions
from fairlead.aggregation.trust import ProxyTrust
from fairlead.dialect import Dialect
from fairlead.endpoints.chain import Handler, no_remote
from fairlead.outgoing.webhooks import Webhooks


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
    ) -> None:
        self.extensions = Extensions()
        self._links = Links(self.extensions, services, ProxyTrust(certificate, key))
        self.calls = ExtensionCalls(self._links)
        self._proxy = ExtensionProxy(
            self.extensions, self._links, identity, passes_redirects=passes_redirects
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
