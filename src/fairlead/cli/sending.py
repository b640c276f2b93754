"""Any request, and its answer as it comes."""

from __future__ import annotations

from urllib.parse import quote

from fairlead.base.terminal import write_bytes
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.client.session import Request


async def pour(at: Invocation, request: Request) -> bytes:
    """Write the body of a successful answer to the output piece by piece; gives its last piece.
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
    """A path and query as they can stand in a request; raises CommandFailed."""
    if not path.startswith("/"):
        raise CommandFailed(f'error: "{path}" is not a path: it must begin with /')
    return quote(path, safe="/?&=%:@!$'()*+,;~[]")
