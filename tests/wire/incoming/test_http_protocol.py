"""HTTP/1.1 of the server."""

from __future__ import annotations

import json
import socket

import pytest
from support.namespaces import Space
from support.process import ServerProcess
from support.wire import ADMIN, Wire

LIMIT = 3 * 1024 * 1024


def test_a_connection_serves_one_request_after_the_other(server: ServerProcess) -> None:
    with Wire(server) as wire:
        for _ in range(3):
            assert wire.ask("GET /healthz").answer() == (200, b"ok")


def test_a_head_may_come_byte_by_byte(server: ServerProcess) -> None:
    with Wire(server) as wire:
        wire.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"\r\nGET /healthz HTTP/1.1\r\n" + ADMIN + b"\r\n":
            wire.send(bytes([byte]))
        assert wire.answer() == (200, b"ok")


def test_a_body_may_come_byte_by_byte(space: Space) -> None:
    body = b'{"metadata": {"name": "a"}}'
    kind = "Content-Type: application/json"
    with Wire(space.server) as wire:
        wire.ask(f"POST {space.secrets.path}", kind, f"Content-Length: {len(body)}")
        for byte in body:
            wire.send(bytes([byte]))
        assert wire.status() == 201


def test_pipelined_requests_are_answered_in_their_order(space: Space) -> None:
    body = json.dumps({"metadata": {"name": "a"}})
    with Wire(space.server) as wire:
        post = (
            f"POST {space.secrets.path} HTTP/1.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n".encode()
            + ADMIN
            + b"\r\n"
            + body.encode()
        )
        get = f"GET {space.secrets.item('a')} HTTP/1.1\r\n".encode() + ADMIN + b"\r\n"
        wire.send(get + post + get + post + get)
        assert [wire.status() for _ in range(5)] == [404, 201, 200, 409, 200]


def test_many_pipelined_reads_are_all_answered(server: ServerProcess) -> None:
    item = b"GET /healthz HTTP/1.1\r\n" + ADMIN + b"\r\n"
    with Wire(server).send(item * 500) as wire:
        assert {wire.answer() for _ in range(500)} == {(200, b"ok")}


def test_requests_behind_connection_close_are_not_answered(server: ServerProcess) -> None:
    last = b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + ADMIN + b"\r\n"
    with Wire(server).send(last * 2) as wire:
        assert wire.answer() == (200, b"ok")
        assert wire.is_closed


def test_an_answer_to_head_has_no_body(server: ServerProcess) -> None:
    with Wire(server).ask("HEAD /version") as wire:
        wire.send(b"GET /healthz HTTP/1.1\r\n" + ADMIN + b"\r\n")
        data = b""
        while not data.endswith(b"ok"):
            data += wire.sock.recv(65536)
        first, second = data.split(b"\r\n\r\n", 1)
        assert b"content-length: " in first
        assert second.startswith(b"HTTP/1.1 200 OK\r\n")


def test_connection_close_is_honoured(server: ServerProcess) -> None:
    with Wire(server).ask("GET /healthz", "Connection: close") as wire:
        assert wire.status() == 200
        assert b"connection: close" in wire.head
        assert wire.is_closed


def test_http_1_0_ends_with_its_answer(server: ServerProcess) -> None:
    with Wire(server).send(b"GET /healthz HTTP/1.0\r\n\r\n") as wire:
        assert wire.answer() == (200, b"ok")
        assert wire.is_closed


def test_a_watch_over_http_1_0_is_not_chunked(kubernetes: Space) -> None:
    kubernetes.secrets.create("a")
    path = f"{kubernetes.secrets.path}?watch=1&timeoutSeconds=1"
    with Wire(kubernetes.server).send(
        f"GET {path} HTTP/1.0\r\n".encode() + ADMIN + b"\r\n"
    ) as wire:
        head, _, body = wire.rest().partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert json.loads(body)["type"] == "ADDED"


def test_every_answer_has_a_date(server: ServerProcess) -> None:
    with Wire(server).ask("GET /healthz") as wire:
        wire.answer()
        assert b"\r\ndate: " in wire.head
        assert wire.head.endswith(b"content-length: 2")


def test_the_absolute_form_of_a_target_is_read(server: ServerProcess) -> None:
    with Wire(server).ask("GET https://elsewhere/healthz") as wire:
        assert wire.answer() == (200, b"ok")


@pytest.mark.parametrize("target", ["*", "//", "/%", "/%00", "/\xff", "/#", "/?#?"])
def test_request_target_of_any_form_is_answered(server: ServerProcess, target: str) -> None:
    with Wire(server) as wire:
        wire.send(f"OPTIONS {target} HTTP/1.1\r\n".encode("latin-1") + ADMIN + b"\r\n")
        assert wire.status() < 500


@pytest.mark.parametrize("method", ["NOSUCHVERB", "get", "PROPFIND", "M-SEARCH", "x!"])
def test_unknown_method_is_answered_with_method_not_allowed(kubernetes: Space, method: str) -> None:
    with Wire(kubernetes.server) as wire:
        code, body = wire.ask(f"{method} {kubernetes.secrets.path}").answer()
        assert (code, json.loads(body)["reason"]) == (405, "MethodNotAllowed")
        assert wire.ask("GET /healthz").answer() == (200, b"ok")


def test_the_body_of_an_unknown_method_is_no_request(server: ServerProcess) -> None:
    with Wire(server) as wire:
        wire.ask("NOSUCHVERB /version", "Content-Length: 5").send(b"GET /")
        assert wire.status() == 405
        assert wire.ask("GET /healthz").answer() == (200, b"ok")


def test_unauthenticated_request_is_refused_whatever_the_method(server: ServerProcess) -> None:
    with Wire(server) as wire:
        wire.send(
            b"NOSUCHVERB /api/v1/secrets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n"
        )
        assert wire.status() == 401


def test_unknown_methods_share_one_metric_label(server: ServerProcess) -> None:
    with Wire(server) as wire:
        for method in ("MADEUPA", "MADEUPB"):
            wire.ask(f"{method} /version").answer()
        _, metrics = wire.ask("GET /metrics").answer()
    assert b"MADEUP" not in metrics


def test_a_head_of_more_than_64_kib_is_too_large(any_server: ServerProcess) -> None:
    with Wire(any_server).ask("GET /healthz", "X-A: " + "a" * 60_000) as wire:
        assert wire.status() == 200
        wire.ask("GET /healthz", "X-A: " + "a" * 66_000)
        assert wire.status() == 431
        assert wire.is_closed


def test_a_head_without_end_is_too_large(any_server: ServerProcess) -> None:
    with Wire(any_server).send(b"GET /" + b"a" * 70_000) as wire:
        assert wire.status() == 431


def test_more_than_200_headers_are_too_many(any_server: ServerProcess) -> None:
    with Wire(any_server).ask("GET /healthz", *["A: b"] * 190) as wire:
        assert wire.status() == 200
        assert wire.ask("GET /healthz", *["A: b"] * 200).status() == 431


def test_a_body_over_the_limit_is_told_so_before_it_is_sent(any_server: ServerProcess) -> None:
    length = f"Content-Length: {LIMIT + 1}"
    json_type = "Content-Type: application/json"
    with Wire(any_server).ask("POST /api/v1/namespaces", json_type, length) as wire:
        status, body = wire.answer()
        assert status == 413
        assert json.loads(body)["message"] == f"Request entity too large: limit is {LIMIT}"


def test_a_client_that_goes_on_sending_a_body_over_the_limit_sees_the_answer(
    any_server: ServerProcess,
) -> None:
    json_type = "Content-Type: application/json"
    length = f"Content-Length: {20 * LIMIT}"
    with Wire(any_server).ask("POST /api/v1/namespaces", json_type, length) as wire:
        for _ in range(20):
            wire.send(b" " * LIMIT)
        assert wire.status() == 413


@pytest.mark.parametrize("over", [1, 1000])
def test_a_last_chunk_that_goes_over_the_limit_is_answered(
    any_server: ServerProcess, over: int
) -> None:
    kind = ("Content-Type: application/json", "Transfer-Encoding: chunked")
    with Wire(any_server).ask("POST /api/v1/namespaces", *kind) as wire:
        wire.send(b"%x\r\n" % LIMIT + b" " * LIMIT + b"\r\n")
        wire.send(b"%x\r\n" % over + b" " * over + b"\r\n0\r\n\r\n")
        assert wire.status() == 413


def test_a_body_of_the_limit_is_read(any_server: ServerProcess) -> None:
    body = b'{"metadata": {"name": "A"}}'
    body += b" " * (LIMIT - len(body))
    kind = ("Content-Type: application/json", f"Content-Length: {LIMIT}")
    with Wire(any_server).ask("POST /api/v1/namespaces", *kind, body=body) as wire:
        assert wire.status() == 422


def test_a_refused_request_with_a_small_body_leaves_the_connection_open(
    server: ServerProcess,
) -> None:
    with Wire(server) as wire:
        wire.send(b"POST /api/v1/secrets HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
        assert wire.status() == 403
        wire.send(b"GET /")
        assert wire.ask("GET /healthz").answer() == (200, b"ok")


def test_unauthorized_write_is_refused_before_its_body_is_asked_for(server: ServerProcess) -> None:
    with Wire(server) as wire:
        wire.send(
            b"POST /api/v1/secrets HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            b"Content-Length: 5\r\n\r\n"
        )
        assert wire.status() == 403
        assert wire.is_closed


def test_a_connection_serves_other_requests_after_a_long_answer(space: Space) -> None:
    """During a long answer the connection buffers little, and continues afterwards."""
    connection = space.client.connect()
    for _ in range(2):
        path = f"{space.secrets.path}?watch=true&timeoutSeconds=1"
        connection.request("GET", path, headers=space.client.head_of())
        assert connection.getresponse().read() == b""
        connection.request("GET", space.secrets.path, headers=space.client.head_of())
        assert json.loads(connection.getresponse().read())["items"] == []
    connection.close()
