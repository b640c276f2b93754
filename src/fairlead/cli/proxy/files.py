"""Serves the files of a directory."""

from __future__ import annotations

import asyncio
import mimetypes
import stat
from pathlib import Path
from urllib.parse import unquote

from fairlead.cli.proxy.messages import Head, answer, encoded_head
from fairlead.wire.byte_streams import PIECE, ByteStream

_INDEX = "index.html"


async def serve_file(stream: ByteStream, head: Head, directory: Path, path: str) -> None:
    """Answer with the file at a path below the directory; links out of it are not followed."""
    if head.method not in ("GET", "HEAD"):
        await answer(stream, head, 405, b"only GET and HEAD\n")
        return
    found = await asyncio.to_thread(_found, directory, unquote(path.partition("?")[0]))
    if found is None:
        await answer(stream, head, 404, b"there is no such file\n")
        return
    try:
        content = await asyncio.to_thread(found.read_bytes)
    except OSError:
        await answer(stream, head, 403, b"the file cannot be read\n")
        return
    type = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
    lines = [f"content-type: {type}", f"content-length: {len(content)}"]
    if not head.keeps_alive or head.has_body:
        lines.append("connection: close")
    await stream.send(encoded_head(200, lines))
    if head.method == "GET":
        for start in range(0, len(content), PIECE):
            await stream.send(content[start : start + PIECE])


def _found(directory: Path, path: str) -> Path | None:
    if "\0" in path:
        return None
    try:
        root = directory.resolve(strict=True)
        found = root.joinpath(path.lstrip("/")).resolve(strict=True)
        if found.is_dir():
            found = (found / _INDEX).resolve(strict=True)
        is_file = stat.S_ISREG(found.stat().st_mode)
    except (OSError, RuntimeError):
        return None
    return found if is_file and found.is_relative_to(root) else None
