"""Requests to watch: what is asked for, and how it is sent."""

from __future__ import annotations

from fairlead.api.answers import Answer
from fairlead.api.negotiation import check_watch
from fairlead.api.parameters import list_options, selection_of
from fairlead.api.relay.headers import wanted_protocol
from fairlead.api.representation import include_object
from fairlead.api.request import Request
from fairlead.api.watch import ErrorStream, WatchStream
from fairlead.api.watch_frames import Framing
from fairlead.base.errors import StatusError
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.operations.watch import open_watch

BOOKMARK_EVERY = 60.0


async def answer_watch(api: Api, request: Request, operation: Operation) -> Answer:
    check_watch(api.dialect, request.representation)
    options = list_options(api.dialect, request, chunking=True)
    selection = selection_of(request, operation.resource)
    include = include_object(request) if request.representation.transform == "Table" else ""
    framing = Framing(api, operation.resource, request.representation, include)
    stream, failed, refused = WatchStream, ErrorStream, None
    if wanted_protocol(request).lower() == b"websocket":
        from fairlead.api import watch_sockets as sockets  # which few ask for

        stream, failed, refused = (
            sockets.SocketStream,
            sockets.SocketError,
            sockets.refusal(request),
        )
    try:
        opened = await open_watch(api, operation, options, selection)
    except StatusError as error:
        if error.code != 410:
            raise
        return refused or failed(error, framing)
    if refused is not None:
        opened.close()
        return refused
    return stream(api, opened, framing, options, BOOKMARK_EVERY)
