"""Requests to watch: what is asked for, and how it is sent."""

from __future__ import annotations

from fairlead.endpoints.answers import Answer
from fairlead.endpoints.framing import Framing
from fairlead.endpoints.negotiation import check_watch
from fairlead.endpoints.parameters import list_options, selection_of
from fairlead.endpoints.relaying.headers import wanted_protocol
from fairlead.endpoints.representing import include_object
from fairlead.endpoints.request import Request
from fairlead.endpoints.watch import ErrorStream, WatchStream
from fairlead.errors import StatusError
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
        from fairlead.endpoints import watch_sockets as sockets  # which few ask for

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
