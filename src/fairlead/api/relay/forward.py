"""Sends a request to another server, streaming its body."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from fairlead.api.relay.headers import (
    Field,
    forwarded_headers,
    framing,
    refuse_service_worker,
    requested_protocol,
    upgrade_headers,
    without_websocket,
)
from fairlead.api.request import Request
from fairlead.base.tracing import CLIENT, step
from fairlead.wire.incoming.exchange import LAST_CHUNK, ClientGone, chunk
from fairlead.wire.incoming.transfer import read_part
from fairlead.wire.outgoing.connection import Connection
from fairlead.wire.outgoing.pool import Pool
from fairlead.wire.outgoing.request import Route, encode_head
from fairlead.wire.outgoing.response import Lost
from fairlead.wire.spdy import PROTOCOL as SPDY

_TRACE_PARENT = b"traceparent"
_STREAM_PROTOCOL = b"x-stream-protocol-version"


class ProxiedRequest:
    """A proxied request whose response head has arrived. Call `end` as early as possible; the
    finalizer calls it if a task is cancelled in between."""

    def __init__(
        self,
        pool: Pool,
        connection: Connection,
        upload: asyncio.Task[None] | None = None,
    ) -> None:
        self.connection = connection
        self._pool = pool
        self._upload = upload
        self._has_ended = False

    def __del__(self) -> None:
        self.end()

    def end(self) -> None:
        """Return the connection to the pool if request and response are complete, else close it."""
        if self._has_ended:
            return
        self._has_ended = True
        if self._upload is not None and not self._upload.done():
            self._upload.cancel()  # the server does not read the rest
            self.connection.abort()
        self._pool.release(self.connection)


@contextmanager
def cancel_on_disconnect(request: Request) -> Iterator[None]:
    """Cancel the current task when the client disconnects; raises ClientGone then."""
    task = asyncio.current_task()
    assert task is not None
    exchange = request.exchange
    exchange.on_disconnect(task.cancel)
    try:
        yield
    except asyncio.CancelledError:
        if not exchange.disconnected:
            raise
        task.uncancel()
        raise ClientGone from None


async def pass_on(
    pool: Pool,
    route: Route,
    request: Request,
    target: bytes,
    extra_headers: list[Field],
    identity: tuple[bytes, ...],
    spdy: tuple[str, ...] = (),
) -> ProxiedRequest:
    """Send a request and wait for the response head. Raises CallError, or StatusError for requests
    that are not proxied. `extra_headers` are added; `identity` are name prefixes of identity
    headers, which are never taken from clients. A WebSocket becomes a request for SPDY with one of
    the protocols of `spdy`."""
    with step(f"HTTP {request.method}", CLIENT) as span:
        if span is not None:
            span.note({"http.request.method": request.method, "server.address": str(route)})
        trace = span.header if span is not None else ""
        return await _send(pool, route, request, target, extra_headers, identity, spdy, trace)


async def _send(
    pool: Pool,
    route: Route,
    request: Request,
    target: bytes,
    extra_headers: list[Field],
    identity: tuple[bytes, ...],
    spdy: tuple[str, ...],
    trace: str,
) -> ProxiedRequest:
    """The part of `pass_on` in a span; `trace` is its header, if the request is traced."""
    refuse_service_worker(request)
    protocol, name = requested_protocol(request), request.method
    forwarded = forwarded_headers(request, identity)
    if trace:
        others = (field for field in forwarded if field[0] != _TRACE_PARENT)
        forwarded = [*others, (_TRACE_PARENT, trace.encode())]
    if spdy:
        protocol, name = SPDY, "POST"
        versions = [(_STREAM_PROTOCOL, version.encode("latin-1")) for version in spdy]
        forwarded = [*without_websocket(forwarded), *versions]
    fields = [
        (b"host", str(route).encode()),
        *forwarded,
        *extra_headers,
        *(upgrade_headers(protocol) if protocol else framing(request)),
    ]
    method, head = name.encode(), encode_head(name, target, fields)
    with cancel_on_disconnect(request):
        if protocol:  # an upgraded connection cannot be reused
            connection = await pool.request(route, method, head, upgrades=True)
            return ProxiedRequest(pool, connection)
        if not request.exchange.head.has_body:
            return ProxiedRequest(pool, await pool.request(route, method, head))
        connection = pool.idle(route) or await pool.connect(route)
        connection.start(method, head)
        upload = asyncio.create_task(_upload(request, connection))
        passed = ProxiedRequest(pool, connection, upload)
        await connection.read_head()
        return passed


async def _upload(request: Request, connection: Connection) -> None:
    """Stream the body. Unless the request has a `timeout` parameter, each part extends the deadline
    by the initial time limit."""
    exchange = request.exchange
    in_chunks = exchange.head.chunked
    loop = asyncio.get_running_loop()
    allowed = exchange.deadline - loop.time() if "timeout" not in request.query else 0.0
    try:
        while part := await read_part(exchange):
            exchange.note_upstream_backlog(len(part))
            await connection.send(chunk(part) if in_chunks else part)
            if not exchange.timed_out:
                exchange.deadline = max(exchange.deadline, loop.time() + allowed)
        if in_chunks:
            await connection.send(LAST_CHUNK)
    except Lost:
        pass  # the response, if any, has the reason
    except ClientGone:
        connection.abort()  # never leave a partial request
    finally:
        exchange.note_upstream_backlog(0)
