"""Pages outside of the API: index, version, metrics and the OIDC discovery of service account
tokens."""

from __future__ import annotations

import asyncio

from fairlead.api import discovery
from fairlead.api.answers import PUBLIC, Answer
from fairlead.api.chain import Handler
from fairlead.api.flow_control.dumps import PATH as DUMPS
from fairlead.api.metrics import Metrics
from fairlead.api.request import Request
from fairlead.auth.authentication.account_tokens import CONFIGURATION_PATH, JWKS_PATH, KEY_SET
from fairlead.base.metrics import CONTENT_TYPE, format_text

_INDEX = ("/", "/index.html")


class Pages:
    """Serves the pages. `address` is where clients reach this server, `advertised` the release in
    /version."""

    def __init__(self, handler: Handler, metrics: Metrics, address: str, advertised: str) -> None:
        self._handler = handler
        self._metrics = metrics
        self._address = address
        self._advertised = advertised
        self._documents = handler.api.authentication.documents

    def add(self) -> None:
        """Register the pages with the handler."""
        pages = self._handler.pages
        pages |= dict.fromkeys(_INDEX, self._paths)
        pages |= {"/metrics": self._measured, "/version": self._release}
        if self._documents.available:
            pages |= {CONFIGURATION_PATH: self._issuer, JWKS_PATH: self._keys}

    async def _paths(self, request: Request) -> Answer:
        handler = self._handler
        others = [*handler.pages, *handler.prefixes, "/openapi/v2", "/openapi/v3"]
        shown = [
            path
            for path in others
            if path not in (*_INDEX, "/openapi") and not path.startswith(DUMPS)
        ]
        listed = discovery.paths(handler.api.resources, handler.groups, shown)
        return handler.any_document(request, listed)

    async def _measured(self, request: Request) -> Answer:
        """Take the snapshot on the event loop and format it in a thread."""
        metrics = self._metrics
        families = metrics.families() if metrics.gather is None else await metrics.gather(metrics)
        return Answer(200, await asyncio.to_thread(format_text, families), CONTENT_TYPE)

    async def _release(self, request: Request) -> Answer:
        return self._handler.document(request, discovery.version(self._advertised))

    async def _issuer(self, request: Request) -> Answer:
        shown = self._documents.configuration(self._address)
        return _public(self._handler.document(request, shown))

    async def _keys(self, request: Request) -> Answer:
        return _public(self._handler.document(request, self._documents.jwks(), KEY_SET))


def _public(answer: Answer) -> Answer:
    answer.headers = (PUBLIC,)
    return answer
