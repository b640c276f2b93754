"""Proxies requests to extension servers, also those for their OpenAPI documents."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from fairlead.api.answers import Answer, text_answer
from fairlead.api.chain import Page
from fairlead.api.openapi.answers import Document, document_answer, moved_answer, not_found_answer
from fairlead.api.relay import answers, forward
from fairlead.api.relay.headers import forwarding_headers, has_parent_step, requested_protocol
from fairlead.api.request import Request
from fairlead.api.routing import is_long_running
from fairlead.base.errors import ResourceRef, bad_request, forbidden
from fairlead.base.logs import Logger
from fairlead.controllers.aggregation.calls import identity_fields
from fairlead.controllers.aggregation.extension import Extension
from fairlead.controllers.aggregation.links import Link, Links
from fairlead.controllers.aggregation.openapi.download import NEW
from fairlead.controllers.aggregation.registry import Extensions
from fairlead.wire.incoming.parser import raw_parts
from fairlead.wire.outgoing.response import CallError

logger = Logger("fairlead")

_DISCOVERY_TIMEOUT = 5.0
_READING = ("GET", "HEAD", "OPTIONS")
_PLAIN_IN_PATHS = "/$&+,:;=@"  # not escaped, beside letters, digits and `-_.~`
_NO_SNIFF = (b"x-content-type-options", b"nosniff")
_NO_REDIRECTS = "the backend attempted to redirect this request, which is not permitted"


class ExtensionProxy:
    """`identity` are prefixes of the headers in which a front proxy passes users; they are removed.
    With `read_only`, writes are rejected."""

    def __init__(
        self,
        extensions: Extensions,
        links: Links,
        identity: tuple[bytes, ...],
        *,
        passes_redirects: bool,
        read_only: bool = False,
        sends_uid: bool = False,
    ) -> None:
        self._extensions = extensions
        self._links = links
        self._identity = identity
        self._passes_redirects = passes_redirects
        self._read_only = read_only
        self._sends_uid = sends_uid

    def find(self, request: Request) -> Page | None:
        """The handler for a request that an extension server serves, or None."""
        if not request.path.startswith("/apis/"):
            return None
        _, _, group, *rest = request.path.split("/", 4)
        extension = self._extensions.serving(group, rest[0]) if rest else None
        if extension is None:
            return None
        return lambda request: self._answer(extension, request)

    async def _answer(self, extension: Extension, request: Request) -> Answer:
        request.target.remote = True
        if _is_ambiguous(request.path):
            raise bad_request("the path has empty or dotted segments")
        if self._read_only and request.method not in _READING:
            target = request.target
            ref = ResourceRef(target.group, target.resource_name, target.name)
            raise forbidden(ref, "the server is read-only")
        if not extension.available:
            return _error(503, "service unavailable")
        try:
            context = self._links.trust(extension)
        except CallError as error:
            return _error(500, str(error))
        try:
            link = await self._links.link_to(extension, context)
        except CallError as error:
            logger.warning("an extension server cannot be reached", name=extension.name, err=error)
            return _error(503, "service unavailable")
        try:
            return await self._passed(link, request)
        except answers.UpgradeRefused as error:
            return _error(503, str(error))
        except CallError as error:
            changes = requested_protocol(request)
            summary = "error dialing backend" if changes else "error trying to reach service"
            return _error(503, f"{summary}: {error}")

    async def _passed(self, link: Link, request: Request) -> Answer:
        if is_long_running(request.target):
            request.exchange.no_deadline()
        path, query = _target(request)
        own = [
            *identity_fields(request.user, with_uid=self._sends_uid),
            *forwarding_headers(request, path),
            (b"x-forwarded-host", str(link.route).encode()),
            (b"x-forwarded-proto", b"https"),
        ]
        # Discovery has a timeout: every client requests it first.
        seconds = None if request.target.is_resource else _DISCOVERY_TIMEOUT
        try:
            async with asyncio.timeout(seconds):
                passed = await forward.pass_on(
                    link.pool,
                    link.route,
                    request,
                    path + (b"?" + query if query else b""),
                    own,
                    self._identity,
                )
        except TimeoutError:
            raise CallError("context deadline exceeded", retryable=True) from None
        if self._refuses(passed):
            passed.end()
            return text_answer(502, _NO_REDIRECTS)
        return answers.answer_of(request, passed)

    def _refuses(self, passed: forward.ProxiedRequest) -> bool:
        """Redirects are rejected: clients would follow them with their credentials."""
        if self._passes_redirects or not 300 <= passed.connection.status < 400:
            return False
        return bool(passed.connection.header(b"location"))


def _target(request: Request) -> tuple[bytes, bytes]:
    """The path and query for the extension server. The path is re-encoded from its decoded form,
    which was authorized: for `a%2Fb` both servers must see two segments."""
    path, query = raw_parts(request.exchange.head.target)
    if b"%" in path:
        path = quote(request.path, _PLAIN_IN_PATHS, errors="surrogateescape").encode()
    return path, query


def _is_ambiguous(path: str) -> bool:
    """Whether a server that normalizes paths would see another path than the authorized one."""
    return any(part in ("", ".", "..") for part in path.strip("/").split("/")) or "//" in path


def _error(code: int, text: str) -> Answer:
    return text_answer(code, f"{text}\n", (_NO_SNIFF,))


# Serves the OpenAPI 3 documents of extension servers.


class DocumentProxy(ExtensionProxy):
    """Proxies requests for documents to extension servers. Allows redirects to other documents,
    since an outdated hash redirects to the current one."""

    async def document(self, name: str, request: Request) -> Answer:
        """Proxy to the server of the named APIService."""
        extension = self._extensions.named(name)
        return await self._answer(extension, request) if extension else not_found_answer()

    def _refuses(self, passed: forward.ProxiedRequest) -> bool:
        where = passed.connection.header(b"location").decode("latin-1")
        is_document = where.startswith(f"{NEW}/") and not has_parent_step(where)
        return not is_document and super()._refuses(passed)


async def converted_answer(document: Document, address: str, request: Request) -> Answer:
    """Serve a document that was converted from OpenAPI 2."""
    requested = request.parameter("hash")
    if requested and requested != document.identity:
        return moved_answer(address)
    return await document_answer(request, document, for_good=bool(requested))
