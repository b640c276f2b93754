"""TLS: accepted clients, and errors for plain HTTP and wrong certificates."""

from __future__ import annotations

import socket
import ssl
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.client import ADMIN_TOKEN
from support.process import ServerProcess
from support.wire import Wire, plain_socket

FreshServer = Callable[..., ServerProcess]


def test_plain_http_is_told_that_this_is_https(any_server: ServerProcess) -> None:
    with Wire(any_server, tls=False).send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") as wire:
        answer = wire.rest()
    assert answer.startswith(b"HTTP/1.0 400 Bad Request\r\n")
    assert answer.endswith(b"\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")


@pytest.mark.parametrize(
    "noise",
    [b"\x00" * 100, b"\x80.\x01\x00\x02", b"\x16\x03\x01\xff\xff" + b"x" * 70_000, b"\x16" * 9],
)
def test_tls_connection_that_sends_noise_is_closed(any_server: ServerProcess, noise: bytes) -> None:
    sock = plain_socket(any_server)
    with suppress(OSError):  # closed by the server already
        sock.sendall(noise)
        sock.shutdown(socket.SHUT_WR)
        assert len(sock.recv(1000)) < 100
    assert any_server.client().get("/readyz").status == 200


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of system:masters that no authority here has signed."""
    directory = tmp_path_factory.mktemp("stranger")
    certificate, key = directory / "crt", directory / "key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/O=system:masters/CN=admin", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


def test_a_certificate_that_nobody_vouches_for_is_a_failed_authentication(
    any_server: ServerProcess, stranger: tuple[Path, Path]
) -> None:
    answer = any_server.client(None, stranger).get("/api/v1/namespaces")
    assert (answer.status, answer.body["reason"]) == (401, "Unauthorized")


def test_a_token_counts_beside_a_certificate_that_nobody_vouches_for(
    any_server: ServerProcess, stranger: tuple[Path, Path]
) -> None:
    assert any_server.client(ADMIN_TOKEN, stranger).get("/api/v1/namespaces").status == 200


def test_the_handshake_names_the_acceptable_authorities(any_server: ServerProcess) -> None:
    where = any_server.address.removeprefix("https://")
    done = subprocess.run(
        ["openssl", "s_client", "-connect", where],
        input=b"", capture_output=True, check=False, timeout=20,
    )  # fmt: skip
    text = done.stdout.decode()
    assert "Acceptable client certificate CA names\nCN = fairlead-ca\n" in text


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_sessions_are_not_resumed(any_server: ServerProcess, version: ssl.TLSVersion) -> None:
    context = ssl.create_default_context(cafile=str(any_server.ca))
    context.minimum_version = context.maximum_version = version
    parts = urlsplit(any_server.address)
    session = None
    for _ in range(3):
        raw = plain_socket(any_server)
        with context.wrap_socket(raw, server_hostname=parts.hostname, session=session) as wrapped:
            assert wrapped.version() == version.name.replace("_", ".")
            wrapped.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert wrapped.recv(1000).startswith(b"HTTP/1.1 200")
            assert not wrapped.session_reused
            session = wrapped.session


def test_tls_1_1_is_not_spoken(any_server: ServerProcess) -> None:
    where = any_server.address.removeprefix("https://")
    done = subprocess.run(
        ["openssl", "s_client", "-connect", where, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"],
        input=b"", capture_output=True, check=False, timeout=20,
    )  # fmt: skip
    assert done.returncode != 0


def test_tls_takes_the_quickest_cipher_that_a_client_offers(any_server: ServerProcess) -> None:
    with Wire(any_server) as wire:
        assert isinstance(wire.sock, ssl.SSLSocket)
        chosen = wire.sock.cipher()
    assert chosen is not None
    assert chosen[0] == "TLS_AES_128_GCM_SHA256"


def test_tls_1_2_and_1_3_carry_a_large_answer_alike(server: ServerProcess) -> None:
    parts = urlsplit(server.address)
    bodies = []
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=str(server.ca))
        context.minimum_version = context.maximum_version = version
        wire = Wire(server, tls=False)
        wire.sock = context.wrap_socket(wire.sock, server_hostname=parts.hostname)
        with wire.ask("GET /openapi/v2"):
            status, body = wire.answer()
            assert status == 200
            bodies.append(body)
    assert bodies[0] == bodies[1]
    assert len(bodies[0]) > 500_000
