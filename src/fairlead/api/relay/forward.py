"""Sends a request to another server, streaming its body."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from fairlead.api.relay.headers import (
    Field,
    changing_to,
    framing,
    passed_on,
    refuse_service_worker,
    request_head,
    wanted_protocol,
)
from fairlead.api.request import Request
from fairlead.wire.incoming.exchange import LAST_CHUNK, ClientGone, chunk
from fairlead.wire.incoming.transfer import read_part
from fairlead.wire.outgoing.client import CallError
from fairlead.wire.outgoing.connection import Lost
from fairlead.wire.outgoing.conversation import Conversation
from fairlead.wire.outgoing.dialer import Place
from fairlead.wire.outgoing.pool import Conversations


class ProxiedRequest:
    """A proxied request whose response head has arrived. Call `end` as early as possible; the
    finalizer calls it if a task is cancelled in between."""

    def __init__(
        self,
        conversations: Conversations,
        conversation: Conversation,
        upload: asyncio.Task[None] | None = None,
    ) -> None:
        self.answer = conversation
        self._conversations = conversations
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
            self.answer.abort()
        self._conversations.give_back(self.answer)


@contextmanager
def cancel_on_disconnect(request: Request) -> Iterator[None]:
    """Cancel the current task when the client disconnects; raises ClientGone then."""
    task = asyncio.current_task()
    assert task is not None
    exchange = request.exchange
    exchange.when_gone(task.cancel)
    try:
        yield
    except asyncio.CancelledError:
        if not exchange.gone:
            raise
        task.uncancel()
        raise ClientGone from None


async def pass_on(
    conversations: Conversations,
    place: Place,
    request: Request,
    target: bytes,
    own: list[Field],
    identity: tuple[bytes, ...],
) -> ProxiedRequest:
    """Send a request and wait for the response head. Raises CallError, or StatusError for requests
    that are not proxied. `own` are headers to add; `identity` are name prefixes of identity
    headers, which are never taken from clients."""
    refuse_service_worker(request)
    protocol = wanted_protocol(request)
    fields = [
        (b"host", str(place).encode()),
        *passed_on(request, identity),
        *own,
        *(changing_to(protocol) if protocol else framing(request)),
    ]
    method, head = request.method.encode(), request_head(request.method, target, fields)
    with cancel_on_disconnect(request):
        if protocol:  # an upgraded connection cannot be reused
            return ProxiedRequest(conversations, await conversations.ask_alone(place, method, head))
        if not request.exchange.head.has_body:
            return ProxiedRequest(conversations, await conversations.ask(place, method, head))
        conversation = conversations.kept(place) or await conversations.new(place)
        conversation.ask(method, head)
        upload = asyncio.create_task(_upload(request, conversation))
        passed = ProxiedRequest(conversations, conversation, upload)
        try:
            await conversation.answer()
        except Lost as error:
            raise CallError(str(error), retryable=True) from None
        return passed


async def _upload(request: Request, conversation: Conversation) -> None:
    """Stream the body. Unless the request has a `timeout` parameter, each part extends the deadline
    by the initial time limit."""
    exchange = request.exchange
    in_chunks = exchange.head.chunked
    loop = asyncio.get_running_loop()
    allowed = exchange.deadline - loop.time() if "timeout" not in request.query else 0.0
    try:
        while part := await read_part(exchange):
            exchange.note_upstream_backlog(len(part))
            await conversation.send(chunk(part) if in_chunks else part)
            if not exchange.timed_out:
                exchange.deadline = max(exchange.deadline, loop.time() + allowed)
        if in_chunks:
            await conversation.send(LAST_CHUNK)
    except Lost:
        pass  # the response, if any, has the reason
    except ClientGone:
        conversation.abort()  # never leave a partial request
    finally:
        exchange.note_upstream_backlog(0)
