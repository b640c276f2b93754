"""Serves the OpenAPI 3 documents of extension servers."""

from __future__ import annotations

from fairlead.api.answers import Answer
from fairlead.api.openapi.answers import Document, document_answer, moved_answer, not_found_answer
from fairlead.api.relay.forward import ProxiedRequest
from fairlead.api.relay.headers import leads_up
from fairlead.api.request import Request
from fairlead.controllers.aggregation.openapi.download import NEW
from fairlead.controllers.aggregation.proxy import ExtensionProxy


class DocumentProxy(ExtensionProxy):
    """Proxies requests for documents to extension servers. Allows redirects to other documents,
    since an outdated hash redirects to the current one."""

    async def document(self, name: str, request: Request) -> Answer:
        """Proxy to the server of the named APIService."""
        extension = self._extensions.named(name)
        return await self._answer(extension, request) if extension else not_found_answer()

    def _refuses(self, passed: ProxiedRequest) -> bool:
        where = passed.answer.field(b"location").decode("latin-1")
        is_document = where.startswith(f"{NEW}/") and not leads_up(where)
        return not is_document and super()._refuses(passed)


async def made_answer(document: Document, address: str, request: Request) -> Answer:
    """Serve a document that was converted from OpenAPI 2."""
    wanted = request.parameter("hash")
    if wanted and wanted != document.identity:
        return moved_answer(address)
    return await document_answer(request, document, for_good=bool(wanted))
