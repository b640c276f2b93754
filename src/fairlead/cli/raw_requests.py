"""Sends a raw request and streams its response to the output."""

from __future__ import annotations

from urllib.parse import quote

from fairlead.base.terminal import write_bytes
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.client.session import Request


async def pour(at: Invocation, request: Request) -> bytes:
    """Write the body of a successful response to the output chunk by chunk; return the last chunk.
    Raises ApiError and Unreachable."""
    last = b""
    async with at.client.session.open(request) as answer:
        async for piece in answer.pieces():
            if not piece:
                continue
            last = piece
            write_bytes(at.screen.out, piece)
    return last


def escaped_path(path: str) -> str:
    """Percent-encode a path with query for a request; raises CommandFailed if it is not
    absolute."""
    if not path.startswith("/"):
        raise CommandFailed(f'error: "{path}" is not a path: it must begin with /')
    return quote(path, safe="/?&=%:@!$'()*+,;~[]")
