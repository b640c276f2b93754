"""Request smuggling: no part of a request is parsed as another request."""

from __future__ import annotations

import time

import pytest
from support.namespaces import Space
from support.process import ServerProcess
from support.wire import ADMIN, Wire

HIDDEN = b"GET /version HTTP/1.1\r\n" + ADMIN + b"\r\n"


def answers(data: bytes) -> int:
    return data.count(b"HTTP/1.1 ")


def test_the_body_of_an_upgrade_is_no_request(any_server: ServerProcess) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: foo", f"Content-Length: {len(HIDDEN)}")
    with Wire(any_server).ask("GET /healthz", *upgrade) as wire:
        time.sleep(0.2)  # the head is read by itself
        wire.send(HIDDEN)
        assert wire.status() == 200
        assert wire.is_closed


def test_what_follows_an_upgrade_is_no_request(any_server: ServerProcess) -> None:
    with Wire(any_server).ask("GET /healthz", "Connection: Upgrade", "Upgrade: h2c") as wire:
        wire.send(HIDDEN)
        assert wire.status() == 200
        assert wire.is_closed


def test_an_upgrade_and_its_body_in_one_go_are_one_request(any_server: ServerProcess) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: foo", f"Content-Length: {len(HIDDEN)}")
    with Wire(any_server).ask("GET /healthz", *upgrade, body=HIDDEN + HIDDEN) as wire:
        assert answers(wire.rest()) == 1


@pytest.mark.parametrize("chunked", [False, True])
def test_the_body_of_an_upgrade_is_a_body(space: Space, chunked: bool) -> None:
    space.secrets.create("a")
    body = b'{"dryRun": ["All"]}'
    framing = f"Content-Length: {len(body)}"
    if chunked:
        framing, body = "Transfer-Encoding: chunked", b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    upgrade = ("Connection: Upgrade", "Upgrade: foo", framing)
    with Wire(space.server).ask(f"DELETE {space.secrets.item('a')}", *upgrade) as wire:
        assert wire.send(body).status() == 200
        assert wire.is_closed
    assert space.secrets.names() == ["a"]


def test_connect_is_refused_and_ends_the_connection(any_server: ServerProcess) -> None:
    with Wire(any_server) as wire:
        wire.send(b"CONNECT a:1 HTTP/1.1\r\n" + ADMIN + b"Content-Length: 99\r\n\r\n" + HIDDEN)
        assert wire.status() == 405
        assert wire.is_closed


@pytest.mark.parametrize(
    "trailer", [b"Authorization: Bearer admin-token", b"X-Remote-User: admin\r\nX-Remote-Group: x"]
)
def test_trailers_say_nothing_about_who_asks(any_server: ServerProcess, trailer: bytes) -> None:
    head = b"GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with Wire(any_server).send(head + b"1\r\nx\r\n0\r\n" + trailer + b"\r\n\r\n") as wire:
        assert wire.status() in (401, 403)


def test_trailers_impersonate_nobody(any_server: ServerProcess) -> None:
    with Wire(any_server).ask("GET /api/v1/secrets", "Transfer-Encoding: chunked") as wire:
        wire.send(b"0\r\nImpersonate-User: alice\r\n\r\n")
        assert wire.status() == 200


def test_requests_behind_chunks_are_answered_in_their_turn_or_not_at_all(
    any_server: ServerProcess,
) -> None:
    with Wire(any_server).ask("GET /healthz", "Transfer-Encoding: chunked") as wire:
        wire.send(b"0\r\n\r\n")
        assert wire.status() == 200
        assert wire.ask("GET /healthz").status() == 200
        wire.ask("GET /healthz", "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + HIDDEN)
        assert wire.status() == 200
        assert b"connection: close" in wire.head
        assert wire.is_closed


BAD = {
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    "two hosts, 1.0": b"GET /healthz HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n",
    "odd host": b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n",
    "0.9": b"GET /healthz\r\n\r\n",
    "2.0": b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n",
    "1.2": b"GET /healthz HTTP/1.2\r\nHost: x\r\n\r\n",
    "http/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "gzip, chunked": b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
    b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    "chunked twice": b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n",
    "identity": b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n",
    "chunked, 1.0": b"GET /healthz HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    "length and chunks": b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n",
    "two lengths": b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
    b"Content-Length: 3\r\n\r\n",
    "signed length": b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\n",
    "folded line": b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
    "bare line feeds": b"GET /healthz HTTP/1.1\nHost: x\n\nA\r\n\r\n",
    "bare carriage return": b"GET /healthz HTTP/1.1\r\nHost: x\ry: z\r\n\r\n",
    "nul": b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n",
    "space before colon": b"GET /healthz HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
    "unknown expectation": b"GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_strictly_http_is_refused(any_server: ServerProcess, name: str) -> None:
    with Wire(any_server).send(BAD[name]) as wire:
        status, body = wire.answer()
        assert status in (400, 417, 501, 505), body
        assert b'"kind":"Status"' in body
        assert b"connection: close" in wire.head
        assert wire.is_closed


@pytest.mark.parametrize("size", [b"x", b"-1", b"0x1", b"1 ", b"f" * 17, b""])
def test_odd_sizes_of_chunks_are_refused(any_server: ServerProcess, size: bytes) -> None:
    with Wire(any_server).ask("POST /api/v1/namespaces", "Transfer-Encoding: chunked") as wire:
        wire.send(size + b"\r\nx\r\n0\r\n\r\n")
        assert wire.status() == 400
        assert wire.is_closed
