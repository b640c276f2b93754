"""Links in pages of proxied servers: those from the root of the server go through the proxy."""

from __future__ import annotations

import re
from collections.abc import Callable

from fairlead.api.answers import Answer
from fairlead.api.relay.answers import Relayed
from fairlead.api.relay.forward import cancel_on_disconnect
from fairlead.api.request import Request
from fairlead.wire.incoming.transfer import send
from fairlead.wire.outgoing.response import CallError

_MAX_TAG = 16 * 1024  # bytes; a longer one stays as it is
_TAG = re.compile(rb"<[a-zA-Z][^<>]{0,16384}>")
_LINK = re.compile(
    rb"(\s(?:href|src|action|background|cite|data|formaction|icon|longdesc|poster|usemap)=)"
    rb"(\"[^\"]*\"|'[^']*')",
    re.IGNORECASE,
)

Rewrite = Callable[[bytes], bytes]  # a link; empty if it stays as it is


def with_links(answer: Answer, rewrite: Rewrite) -> Answer:
    """An answer with other links, if it is a page; the same answer if not."""
    headers = dict(answer.headers)
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if not isinstance(answer, Relayed) or kind != b"text/html":
        return answer
    if headers.get(b"content-encoding", b"identity") != b"identity":
        return answer
    return Page(answer, rewrite)


class Page(Answer):
    """Streams a page."""

    __slots__ = ("_links", "_relayed")

    def __init__(self, relayed: Relayed, rewrite: Rewrite) -> None:
        super().__init__(relayed.code, b"", "", relayed.headers)
        self._relayed = relayed
        self._links = Links(rewrite)

    async def send(self, request: Request) -> None:
        exchange, passed = request.exchange, self._relayed.passed
        exchange.no_deadline()
        try:
            with cancel_on_disconnect(request):
                exchange.start(self.code, self.headers, None)
                while piece := await passed.connection.read():
                    if changed := self._links.feed(piece):
                        await send(exchange, changed)
                if rest := self._links.end():
                    await send(exchange, rest)
                exchange.end()
        except CallError:
            exchange.abort()
        finally:
            passed.end()


class Links:
    """Rewrites links in the tags of a page that comes in pieces."""

    def __init__(self, rewrite: Rewrite) -> None:
        self._rewrite = rewrite
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        data = self._rest + data
        begin = data.rfind(b"<")
        is_open = begin >= 0 and b">" not in data[begin:] and len(data) - begin < _MAX_TAG
        end = begin if is_open else len(data)
        self._rest = data[end:]
        return _TAG.sub(self._tag, data[:end])

    def end(self) -> bytes:
        rest, self._rest = self._rest, b""
        return rest

    def _tag(self, tag: re.Match[bytes]) -> bytes:
        return _LINK.sub(self._link, tag[0])

    def _link(self, link: re.Match[bytes]) -> bytes:
        quote, value = link[2][:1], link[2][1:-1]
        if not value.startswith(b"/") and b"://" not in value:
            return link[0]
        changed = self._rewrite(value)
        return link[1] + quote + changed + quote if changed else link[0]
