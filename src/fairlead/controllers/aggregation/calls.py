"""Internal requests to extension servers, and the headers that tell them the user."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from urllib.parse import quote

from fairlead.auth.authentication.user import MASTERS, User
from fairlead.controllers.aggregation.extension import Extension
from fairlead.controllers.aggregation.links import Links
from fairlead.wire.outgoing.request import encode_head
from fairlead.wire.outgoing.response import MAX_RESPONSE_BYTES, CallError, Response

Field = tuple[bytes, bytes]
Header = tuple[str, str]
USER, UID, GROUP = b"x-remote-user", b"x-remote-uid", b"x-remote-group"
EXTRA_PREFIX = "x-remote-extra-"
_NAME_SYMBOLS = "!#$&'*+-.^_`|~"  # allowed in header names beside letters and digits (RFC 9110)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f]|\A\s|\s\Z")

# The users as whom this server requests discovery and OpenAPI documents.
DISCOVERER = User("system:kube-aggregator", "", (MASTERS,))
DESCRIBER = User("system:aggregator")


def identity_fields(user: User, *, with_uid: bool = False) -> list[Field]:
    """The headers that carry a user; an extension server trusts them because of our client
    certificate. Raises CallError for a name with control characters, or with surrounding spaces,
    which the extension server would strip."""
    fields = [(USER, user.name), *((GROUP, group) for group in user.groups)]
    if with_uid and user.uid:
        fields.append((UID, user.uid))
    for key, values in user.extra.items():
        name = (EXTRA_PREFIX + quote(key, safe=_NAME_SYMBOLS)).encode()
        fields += ((name, value) for value in values)
    if any(_UNSAFE.search(value) for _, value in fields):
        raise CallError("the user has a name that cannot be sent to another server")
    return [(name, value.encode(errors="replace")) for name, value in fields]


class ExtensionCalls:
    def __init__(self, links: Links) -> None:
        self._links = links

    async def fetch(
        self,
        extension: Extension,
        path: str,
        *,
        user: User = DISCOVERER,
        method: str = "GET",
        headers: Iterable[Header] = (),
        body: bytes = b"",
        timeout: float = 5.0,
        maximum: int = MAX_RESPONSE_BYTES,
    ) -> Response:
        """Send a request and read the complete response, whatever its status. Raises CallError.
        `path` is percent-encoded and may have a query. Redirects are not followed."""
        own = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        try:
            async with asyncio.timeout(timeout):
                link = await self._links.link_to(extension, self._links.trust(extension))
                fields = [
                    (b"host", str(link.route).encode()),
                    (b"user-agent", b"fairlead"),
                    *identity_fields(user),
                    *own,
                    *([(b"content-length", b"%d" % len(body))] if body else ()),
                ]
                content = encode_head(method, path.encode(), fields) + body
                return await link.pool.call(link.route, method.encode(), content, maximum)
        except TimeoutError:
            raise CallError(f"no answer within {timeout:g}s", retryable=True) from None
