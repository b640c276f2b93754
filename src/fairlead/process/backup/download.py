"""Downloads the backup of a running server over its API."""

from __future__ import annotations

from typing import BinaryIO

from fairlead.process.backup import PATH
from fairlead.process.backup.errors import BackupError
from fairlead.process.backup.progress import Progress
from fairlead.wire.outgoing.answers import check_success
from fairlead.wire.outgoing.client import Caller, CallError, Reply
from fairlead.wire.outgoing.client_config import ClientConfig, ClientConfigError

_SECONDS_TO_ANSWER = 60.0
_MAX_ERROR_BYTES = 64 * 1024


async def download(config: ClientConfig, file: BinaryIO, progress: Progress) -> None:
    """Write the response of a server to a file; raises BackupError."""
    caller = Caller(proxy_for=lambda url: config.proxy)
    try:
        stream = await caller.open(
            "GET",
            config.server.rstrip("/") + PATH,
            timeout=_SECONDS_TO_ANSWER,
            headers=_headers(config),
            tls=config.ssl_context(),
            server_name=config.server_name,
        )
        try:
            if stream.status != 200:
                content = await stream.whole(_MAX_ERROR_BYTES)
                check_success(Reply(stream.status, content, stream.header("content-type")))
                raise CallError(f"it answers {stream.status}")
            async for piece in stream.pieces():
                file.write(piece)
                progress.add_bytes(len(piece))
        finally:
            stream.close()
    except (CallError, ClientConfigError) as error:
        raise BackupError(f"cannot read the backup from {config.server}: {error}") from None
    finally:
        await caller.close()


def _headers(config: ClientConfig) -> dict[str, str]:
    """Decline content codings: a backup is compressed already."""
    headers = {"accept-encoding": "identity"}
    if proof := config.authorization():
        headers["authorization"] = proof
    return headers
