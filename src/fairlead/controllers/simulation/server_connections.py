"""Connections of clients to the servers that run in simulated containers."""

from __future__ import annotations

from functools import partial

from fairlead.controllers.simulation.http_answers import Reply, serve_http
from fairlead.controllers.simulation.runtime.computing import Pace
from fairlead.controllers.simulation.runtime.surroundings import Answer, Listener, Request
from fairlead.wire.byte_streams import PIECE, ByteStream
from fairlead.wire.incoming.parser import Head

_CLIENT = "127.0.0.1:40000"  # what a server sees of a forwarded connection


async def converse_with(server: Listener, pace: Pace, stream: ByteStream) -> None:
    """Answer a client until it or the server ends the connection. Raises ConnectionError."""
    if server.http is not None:
        await serve_http(stream, partial(_respond, server), pace)
    elif server.text is not None:
        data = b"" if server.greets else await stream.reader.read(PIECE)
        await stream.send(server.text(data, _CLIENT))


async def _respond(server: Listener, head: Head) -> Reply:
    assert server.http is not None
    return reply_of(server.http(request_of(head)))


def request_of(head: Head) -> Request:
    headers = {name.decode("latin-1"): text.decode("latin-1") for name, text in head.named.items()}
    return Request(head.method, head.target.decode("latin-1"), headers, _CLIENT)


def reply_of(answer: Answer) -> Reply:
    kind = "html" if answer.body.lstrip()[:1] == b"<" else "plain"
    headers = {"content-type": f"text/{kind}; charset=utf-8", **answer.headers}
    encoded = tuple(
        (name.encode(), text.encode("latin-1", "replace")) for name, text in headers.items()
    )
    return Reply(answer.status, encoded, answer.body, answer.delay)
