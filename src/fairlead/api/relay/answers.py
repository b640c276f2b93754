"""Responses of proxied servers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.api.answers import Answer
from fairlead.api.relay.forward import ProxiedRequest, cancel_on_disconnect
from fairlead.api.relay.headers import (
    INERT,
    requested_protocol,
    returned_headers,
    upgrade_headers,
    websocket_headers,
)
from fairlead.api.request import Request
from fairlead.wire.incoming.exchange import SWITCHING_PROTOCOLS, ClientGone, Header
from fairlead.wire.incoming.transfer import send
from fairlead.wire.outgoing.response import CallError, Lost
from fairlead.wire.outgoing.tunnel import Translator, Tunnel


class UpgradeRefused(CallError):
    """The server did not accept the protocol upgrade."""


class Translation(NamedTuple):
    """How a WebSocket is translated for a server that speaks SPDY: the subprotocol that the client
    gets, and those that are asked for."""

    protocol: str
    spdy: tuple[str, ...]
    translator: Translator


def answer_of(
    request: Request, passed: ProxiedRequest, translation: Translation | None = None
) -> Answer:
    """The answer for the client; raises CallError if the response does not fit the request."""
    status, headers = passed.connection.status, passed.connection.headers
    changes = bool(requested_protocol(request))
    if translation is not None and status == SWITCHING_PROTOCOLS:
        accepted = websocket_headers(request, [translation.protocol])
        return Upgraded(passed, accepted, translation.translator)
    if changes and status == SWITCHING_PROTOCOLS:
        protocol = passed.connection.header(b"upgrade")
        return Upgraded(passed, [*returned_headers(request, headers), *upgrade_headers(protocol)])
    if changes and status < 400:
        passed.end()
        raise UpgradeRefused(f"invalid upgrade response: status code {status}")
    if not 200 <= status < 600:  # no status of HTTP
        passed.end()
        raise CallError(f"it answered with the status {status}")
    return Relayed(passed, [*INERT, *returned_headers(request, headers)])


class Relayed(Answer):
    """Streams the response of another server. If that is cut off, so is the client's connection: a
    client must not take a partial response for a complete one."""

    __slots__ = ("passed",)

    def __init__(self, passed: ProxiedRequest, headers: Iterable[Header]) -> None:
        super().__init__(passed.connection.status, b"", "", tuple(headers))
        self.passed = passed

    async def send(self, request: Request) -> None:
        exchange, connection = request.exchange, self.passed.connection
        exchange.no_deadline()
        exchange.interruptible = request.target.verb == "watch"
        try:
            with cancel_on_disconnect(request):
                exchange.start(self.code, self.headers, connection.content_length)
                while piece := await connection.read():
                    await send(exchange, piece)
                exchange.end()
        except CallError:
            exchange.abort()
        finally:
            self.passed.end()


class Upgraded(Answer):
    """Switches protocols: tunnels bytes in both directions from then on, raw or translated."""

    __slots__ = ("_passed", "_translator")

    def __init__(
        self,
        passed: ProxiedRequest,
        headers: Iterable[Header],
        translator: Translator | None = None,
    ) -> None:
        super().__init__(SWITCHING_PROTOCOLS, b"", "", tuple(headers))
        self._passed = passed
        self._translator = translator

    async def send(self, request: Request) -> None:
        exchange = request.exchange
        exchange.interruptible = True
        exchange.on_disconnect(_nothing)  # data sent before is still delivered
        tunnel = Tunnel(exchange.note_upstream_backlog, self._translator)
        try:
            self._passed.connection.hand_over(tunnel.far)
            exchange.hand_over(self.headers, tunnel.near)
        except (Lost, ClientGone):
            tunnel.abort()
            exchange.abort()
            return
        await tunnel.wait()


def _nothing() -> None:
    pass
