"""A request on its way to another server: its body goes there as it comes."""

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
from fairlead.wire.outgoing.client import CallError
from fairlead.wire.outgoing.connection import Lost
from fairlead.wire.outgoing.conversation import Conversation
from fairlead.wire.outgoing.dialer import Place
from fairlead.wire.outgoing.pool import Conversations


class Passed:
    """The head of its answer has come. `end` it as soon as that can be; who is cancelled between
    two steps leaves that to the end of this object."""

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
        """Keep the connection if both messages are whole, else close it."""
        if self._has_ended:
            return
        self._has_ended = True
        if self._upload is not None and not self._upload.done():
            self._upload.cancel()  # the other server does not want the rest
            self.answer.abort()
        self._conversations.give_back(self.answer)


@contextmanager
def leaving_with_client(request: Request) -> Iterator[None]:
    """Stop working on an answer when nobody waits for it any more: raises ClientGone."""
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
) -> Passed:
    """Send a request to a place and wait for the head of its answer; raises CallError, or
    StatusError for what is not passed on. `own` are headers of ours, `identity` how those begin
    that name users and are not to come from clients."""
    refuse_service_worker(request)
    protocol = wanted_protocol(request)
    fields = [
        (b"host", str(place).encode()),
        *passed_on(request, identity),
        *own,
        *(changing_to(protocol) if protocol else framing(request)),
    ]
    method, head = request.method.encode(), request_head(request.method, target, fields)
    with leaving_with_client(request):
        if protocol:  # the connection will not be for anything else
            return Passed(conversations, await conversations.ask_alone(place, method, head))
        if not request.exchange.head.has_body:
            return Passed(conversations, await conversations.ask(place, method, head))
        conversation = conversations.kept(place) or await conversations.new(place)
        conversation.ask(method, head)
        upload = asyncio.create_task(_upload(request, conversation))
        passed = Passed(conversations, conversation, upload)
        try:
            await conversation.answer()
        except Lost as error:
            raise CallError(str(error), retryable=True) from None
        return passed


async def _upload(request: Request, conversation: Conversation) -> None:
    """Its time is up when nothing comes for as long as all of it had at first."""
    exchange = request.exchange
    in_chunks = exchange.head.chunked
    loop = asyncio.get_running_loop()
    allowed = exchange.deadline - loop.time() if "timeout" not in request.query else 0.0
    try:
        while part := await exchange.read_part():
            exchange.waits_elsewhere(len(part))
            await conversation.send(chunk(part) if in_chunks else part)
            if not exchange.timed_out:
                exchange.deadline = max(exchange.deadline, loop.time() + allowed)
        if in_chunks:
            await conversation.send(LAST_CHUNK)
    except Lost:
        pass  # the answer tells why, if there is one
    except ClientGone:
        conversation.abort()  # half a request is none
    finally:
        exchange.waits_elsewhere(0)
