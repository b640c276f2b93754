"""What a server needs to have others behind it."""

from __future__ import annotations

from pathlib import Path

from fairlead.aggregation.calling import ExtensionCalls
from fairlead.aggregation.openapi.keeping import Descriptions
from fairlead.aggregation.registry import Extensions
from fairlead.aggregation.trust import ProxyTrust
from fairlead.dialect import Dialect
from fairlead.outgoing.webhooks import Webhooks


class Aggregation:
    """Who the others are, and how they are asked. `services` knows where services are; the files
    hold what is shown to extension servers."""

    def __init__(self, dialect: Dialect, services: Webhooks, certificate: Path, key: Path) -> None:
        self.extensions = Extensions()
        self.trust = ProxyTrust(certificate, key)
        self.calls = ExtensionCalls(services, self.trust)
        kind_mark = dialect.marked("x-@-group-version-kind")
        self.descriptions = Descriptions(self.extensions, self.calls, kind_mark)

    async def close(self) -> None:
        await self.calls.close()
