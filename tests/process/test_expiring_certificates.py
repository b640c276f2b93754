"""Certificates that live for seconds, and expire while requests come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.process import ServerProcess
from support.waiting import eventually

from fairlead.process.certificates.authority import pki_of
from fairlead.process.certificates.issue import issue_client

LIFETIME = 4.0
RENEWING = (
    "import fairlead.process.certificates.renewal as r; r._CHECK_EVERY = 0.1;"
    " from fairlead.process.certificates.authority import Lifetimes;"
    " from datetime import timedelta; import fairlead.process.certificates.serving as s;"
    f" s.DEFAULT_LIFETIMES = Lifetimes(others=timedelta(seconds={LIFETIME}))"
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path, prelude=RENEWING).start()
    yield server
    server.kill()


@pytest.mark.slow
def test_no_handshake_fails_while_serving_certificates_expire_again_and_again(
    server: ServerProcess,
) -> None:
    kept = server.client()
    end, count = time.monotonic() + 2.5 * LIFETIME, 0
    while time.monotonic() < end:
        client = server.client()  # it verifies the certificate, and when that ends
        assert client.get("/version").status == 200
        client.close()
        assert kept.get("/version").status == 200
        count += 1
    assert count > 20
    assert server.log.read_text().count("serving with a new certificate") >= 2


def test_client_certificate_ends_for_open_connections_too(
    server: ServerProcess, tmp_path: Path
) -> None:
    issued = issue_client(
        pki_of(server.data).ca.read(),
        "short",
        ("system:masters",),
        datetime.now(UTC),
        timedelta(seconds=3),
    )
    files = tmp_path / "short.crt", tmp_path / "short.key"
    for file, content in zip(files, (issued.certificate, issued.key), strict=True):
        file.write_bytes(content)
    client = server.client(token=None, certificate=files)
    path = "/api/v1/namespaces/default"
    with client.watch(path + "/configmaps") as watch:
        assert watch.next().name
        assert client.get(path).status == 200
        connection = client._connection
        eventually(lambda: client.get(path).status == 401, "it is expired")
        assert client._connection is connection
        assert server.client().get(path).status == 200
