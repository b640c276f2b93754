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
from fairlead.base.metrics import format_text

_INDEX = ("/", "/index.html")


class Pages:
    """Serves the pages. `address` is where clients reach this server, `advertised` the version in
    /version, `metrics_type` the media type of /metrics."""

    def __init__(
        self, handler: Handler, metrics: Metrics, address: str, advertised: str, metrics_type: str
    ) -> None:
        self._handler = handler
        self._metrics = metrics
        self._address = address
        self._metrics_type = metrics_type
        self._release = handler.api.resources.release
        self._advertised = advertised
        self._documents = handler.api.authentication.documents

    def add(self) -> None:
        """Register the pages with the handler."""
        pages = self._handler.pages
        pages |= dict.fromkeys(_INDEX, self._index)
        pages |= {"/metrics": self._metrics_text, "/version": self._version}
        if self._documents.available:
            pages |= {CONFIGURATION_PATH: self._issuer_configuration, JWKS_PATH: self._key_set}

    async def _index(self, request: Request) -> Answer:
        handler = self._handler
        paths = [*handler.pages, *handler.prefixes, "/openapi/v2", "/openapi/v3"]
        listed_paths = [
            path
            for path in paths
            if path not in (*_INDEX, "/openapi") and not path.startswith(DUMPS)
        ]
        document = discovery.paths(handler.api.resources, handler.groups, listed_paths)
        return handler.any_document(request, document)

    async def _metrics_text(self, request: Request) -> Answer:
        """Take the snapshot on the event loop and format it in a thread."""
        metrics = self._metrics
        families = metrics.families() if metrics.gather is None else await metrics.gather(metrics)
        return Answer(200, await asyncio.to_thread(format_text, families), self._metrics_type)

    async def _version(self, request: Request) -> Answer:
        return self._handler.document(request, discovery.version(self._release, self._advertised))

    async def _issuer_configuration(self, request: Request) -> Answer:
        document = self._documents.configuration(self._address)
        return _with_public_header(self._handler.document(request, document))

    async def _key_set(self, request: Request) -> Answer:
        return _with_public_header(self._handler.document(request, self._documents.jwks(), KEY_SET))


def _with_public_header(answer: Answer) -> Answer:
    answer.headers = (PUBLIC,)
    return answer
