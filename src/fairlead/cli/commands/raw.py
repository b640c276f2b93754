"""`raw`: sends any request and shows the response."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

import orjson

from fairlead.base.terminal import write_bytes
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.error_messages import error_text
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.interrupts import interruptible
from fairlead.cli.invocation import Invocation
from fairlead.client import ApiError
from fairlead.client.session import JSON, Request

_YAML = "application/yaml"
_HEADERS = ("accept", "content-type")


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", nargs="*", metavar="PATH")
    parser.add_argument(
        "-X",
        "--method",
        metavar="METHOD",
        default="",
        help="request method; by default GET, or POST with a body",
    )
    parser.add_argument(
        "-d",
        "--data",
        metavar="BODY",
        help="request body; @FILE reads a file, - the standard input",
    )
    parser.add_argument(
        "-H",
        "--header",
        metavar="HEADER",
        action="append",
        default=[],
        help="'Content-Type: TYPE' or 'Accept: TYPE'",
    )


async def run(invocation: Invocation) -> int:
    request = _request(invocation)
    try:
        last = await stream_response(invocation, request)
    except ApiError as error:
        invocation.screen.print(orjson.dumps(error.status).decode())
        invocation.screen.flush()
        invocation.screen.warn(error_text(error))
        return 1
    if last and not last.endswith(b"\n") and invocation.screen.is_terminal:
        invocation.screen.print()
    return 0


def _request(invocation: Invocation) -> Request:
    """Raises UsageError and CommandFailed."""
    options = invocation.options
    if len(options.words) != 1:
        raise UsageError("one path is needed, such as /version")
    body = b"" if options.data is None else _body(options.data)
    method = options.method or ("GET" if options.data is None else "POST")
    if not method.isascii() or not method.isalpha():
        raise UsageError(f"{method!r} is not a method")
    headers = dict(_header(text) for text in options.header)
    return Request(
        method.upper(),
        escaped_path(options.words[0]),
        body=body,
        content_type=headers.get("content-type", JSON),
        accept=headers.get("accept", "*/*"),
    )


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip().lower(), value.strip()
    if not colon or name not in _HEADERS:
        raise UsageError(f"{text!r}: only Content-Type and Accept can be given")
    if not value.isascii() or not value.isprintable():
        raise UsageError(f"{text!r} is not a header")
    return name, value


def _body(data: str) -> bytes:
    if data == "-":
        if sys.stdin is None:
            raise CommandFailed("error: error reading STDIN: it is closed")
        buffer = getattr(sys.stdin, "buffer", None)
        with interruptible():
            return bytes(buffer.read()) if buffer is not None else sys.stdin.read().encode()
    if not data.startswith("@"):
        return data.encode()
    try:
        return Path(data[1:]).read_bytes()
    except OSError as error:
        raise CommandFailed(f"error: {data[1:]}: {error.strerror}") from None


# Sends a raw request and streams its response to the output.


async def stream_response(invocation: Invocation, request: Request) -> bytes:
    """Write the body of a successful response to the output chunk by chunk; return the last chunk.
    Raises ApiError and Unreachable."""
    last = b""
    async with invocation.client.session.open(request) as answer:
        async for piece in answer.pieces():
            if not piece:
                continue
            last = piece
            write_bytes(invocation.screen.out, piece)
    return last


async def send_file(invocation: Invocation, method: str) -> int:
    """Send the file of -f to the path of --raw, and print the answer; raises CommandFailed."""
    options = invocation.options
    if len(options.filename) != 1 or options.filename[0].startswith(("http:", "https:")):
        raise CommandFailed("error: --raw sends one local file (-f)")
    name = options.filename[0]
    body = _body("-" if name == "-" else f"@{name}")
    content_type = JSON if body.lstrip()[:1] in (b"{", b"[") else _YAML
    request = Request(method, escaped_path(options.raw), body=body, content_type=content_type)
    await stream_response(invocation, request)
    return 0


def escaped_path(path: str) -> str:
    """Percent-encode a path with query for a request; raises CommandFailed if it is not
    absolute."""
    if not path.startswith("/"):
        raise CommandFailed(f'error: "{path}" is not a path: it must begin with /')
    return quote(path, safe="/?&=%:@!$'()*+,;~[]")
