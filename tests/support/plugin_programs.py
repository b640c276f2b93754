"""Credential plugins: programs that print the content of a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.base.dialect import Dialect
from support.process import ServerProcess

_PROGRAM = """#!/bin/sh
cd "$(dirname "$0")"
echo run >> runs
env > environment
echo "$*" > arguments
[ -t 0 ] && echo terminal > input || cat > input
[ -e before ] && . ./before
cat answer
exit $(cat code)
"""


class Plugin:
    """A plugin in its own folder. It counts its runs and records its input."""

    def __init__(self, folder: Path, dialect: Dialect, version: str = "v1") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.dialect = dialect
        self.group = dialect.group_name("client.authentication.@")
        self.api_version = f"{self.group}/{version}"
        self.command = folder / "plugin"
        self.command.write_text(_PROGRAM)
        self.command.chmod(0o755)
        self.ends_with(0)

    def prints(self, text: str) -> None:
        (self.folder / "answer").write_text(text)

    def gives(self, **status: Any) -> None:
        """Print a valid credential."""
        answer = {"apiVersion": self.api_version, "kind": "ExecCredential", "status": status}
        self.prints(json.dumps(answer))

    def ends_with(self, code: int) -> None:
        (self.folder / "code").write_text(str(code))

    def does(self, shell: str) -> None:
        """Run a shell command before answering."""
        (self.folder / "before").write_text(shell)

    @property
    def runs(self) -> int:
        runs = self.folder / "runs"
        return len(runs.read_text().splitlines()) if runs.exists() else 0

    @property
    def environment(self) -> dict[str, str]:
        lines = (self.folder / "environment").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    @property
    def credential(self) -> dict[str, Any]:
        """Return the ExecCredential that it received."""
        parsed: dict[str, Any] = json.loads(
            self.environment[f"{self.dialect.name.upper()}_EXEC_INFO"]
        )
        return parsed

    def recorded(self, name: str) -> str:
        """Return what it received as `arguments` or `input`."""
        return (self.folder / name).read_text().strip()

    def entry(self, **more: Any) -> dict[str, Any]:
        """Return the user entry with this plugin."""
        return {
            "exec": {
                "command": str(self.command),
                "apiVersion": self.api_version,
                "interactiveMode": "Never",
                **more,
            }
        }


def client_certificate(server: ServerProcess, name: str) -> dict[str, str]:
    """Return a certificate signed by a server's CA, in the form of a plugin's output."""
    pki = server.ca.parent
    authority = x509.load_pem_x509_certificate(server.ca.read_bytes())
    signing: Any = load_pem_private_key((pki / "ca.key").read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), False)
        .sign(signing, hashes.SHA256())
    )
    output = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return {
        "clientCertificateData": certificate.public_bytes(Encoding.PEM).decode(),
        "clientKeyData": output.decode(),
    }


class Doorway:
    """Forwards connections to a server and counts them."""

    def __init__(self, server: ServerProcess) -> None:
        parts = urlsplit(server.address)
        self._behind = (parts.hostname, parts.port)
        self._passing: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.address = ""

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        inner, out = await asyncio.open_connection(*self._behind)
        try:
            await asyncio.gather(_pump(reader, out), _pump(inner, writer))
        except asyncio.CancelledError:
            pass
        finally:
            for item in (out, writer):
                item.transport.abort()

    async def close(self) -> None:
        for task in self._passing:
            task.cancel()
        await asyncio.gather(*self._passing)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()


@asynccontextmanager
async def doorway(server: ServerProcess) -> AsyncIterator[Doorway]:
    created = Doorway(server)
    listening = await asyncio.start_server(created.take, "127.0.0.1", 0)
    created.address = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening:
        yield created
        listening.close()
        await created.close()
