"""Timeouts of connections that do not send, finish or read."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import pytest
from support.namespaces import Space
from support.pace import in_time
from support.process import ServerProcess
from support.slow_answers import PRELUDE
from support.waiting import eventually
from support.wire import Wire, fewer, plain_socket

FreshServer = Callable[..., ServerProcess]


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    bounds = fewer(
        handshake_seconds=0.5, head_seconds=0.5, idle_seconds=1, unread_seconds=1, linger_seconds=1
    )
    directory, flags = tmp_path_factory.mktemp("hasty"), ("--request-timeout", "1s")
    server = ServerProcess(directory, flags=flags, prelude=f"{bounds};{PRELUDE}").start()
    yield server
    server.kill()


def test_a_client_that_says_nothing_is_hung_up_on(hasty: ServerProcess) -> None:
    assert plain_socket(hasty).recv(100) == b""
    assert Wire(hasty).is_closed


def test_half_a_greeting_is_not_waited_for(hasty: ServerProcess) -> None:
    sock = plain_socket(hasty)
    sock.sendall(b"\x16\x03\x01\x02\x00\x01")
    assert sock.recv(100) == b""


def test_half_a_head_is_not_waited_for(hasty: ServerProcess) -> None:
    assert Wire(hasty).send(b"GET / HTTP/1.1\r\nHost").is_closed


def test_a_head_that_drips_is_not_waited_for(hasty: ServerProcess) -> None:
    wire = Wire(hasty).send(b"GET / HTTP/1.1\r\n")
    eventually(lambda: not _can_send(wire, b"A: b\r\n"), "it is hung up on", 5)


def test_a_connection_without_another_request_ends(hasty: ServerProcess) -> None:
    wire = Wire(hasty).ask("GET /healthz")
    assert wire.status() == 200
    assert wire.is_closed


def test_a_body_that_does_not_come_is_given_up_on(hasty: ServerProcess) -> None:
    wire = Wire(hasty).ask("POST /api/v1/namespaces", "Content-Length: 100", body=b"{")
    status, body = wire.answer()
    assert status == 504
    assert b'"reason":"Timeout"' in body
    assert b"Timeout: request did not complete within the allotted timeout" in body
    assert wire.is_closed


def test_a_request_that_takes_too_long_is_given_up_on_and_not_applied(
    hasty: ServerProcess,
) -> None:
    space = Space(hasty, hasty.client())
    body = {"metadata": {"name": "a"}}
    answer = space.client.post(space.secrets.path, body, headers={"X-Hold": "3"})
    assert (answer.status, answer.body["reason"]) == (504, "Timeout")
    assert answer.message == "Timeout: request did not complete within the allotted timeout"
    time.sleep(2.5)
    space.client.close()
    assert space.secrets.names() == []


def test_a_watch_goes_on_after_that_time(hasty: ServerProcess) -> None:
    space = Space(hasty, hasty.client())
    with space.secrets.watch() as watch:
        time.sleep(2)
        space.client.close()
        space.secrets.create("a")
        assert watch.next().name == "a"


def test_an_answer_that_is_not_read_is_given_up_on(hasty: ServerProcess) -> None:
    space = Space(hasty, hasty.client())
    for number in range(4):
        space.config_maps.create(f"m{number}", data={"k": "x" * 900_000})
    wire = Wire(hasty, buffer=4096).ask(f"GET {space.config_maps.path}")
    time.sleep(2.5)
    assert len(wire.rest()) < 3_600_000


@pytest.mark.parametrize("requested", ["watch=1", "pretty=false", "pretty=true"])
def test_large_answers_cost_little_while_they_are_not_read(
    fresh_server: FreshServer, requested: str
) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    for number in range(20):
        space.config_maps.create(f"m{number}", data={"k": "x" * 900_000})
    before = server.resident_bytes()
    wires = [Wire(server, buffer=4096) for _ in range(10)]
    for wire in wires:
        wire.ask(f"GET {space.config_maps.path}?{requested}")
    for wire in wires:
        assert wire.sock.recv(15) == b"HTTP/1.1 200 OK"
    assert space.client.get("/readyz").status == 200
    assert server.resident_bytes() - before < 80 * 2**20
    for wire in wires:
        wire.close()


def test_pipelined_requests_cost_nothing_while_their_answers_are_not_read(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server()
    client = server.client()
    client.get("/")
    before = server.resident_bytes()
    wire = Wire(server, buffer=4096)
    wire.sock.settimeout(1)
    request = b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-token\r\n\r\n"
    with pytest.raises(TimeoutError):
        wire.send(request * (20_000_000 // len(request)))
    started = time.monotonic()
    assert client.get("/readyz").status == 200
    assert in_time(time.monotonic() - started, 1)
    assert server.resident_bytes() - before < 20 * 2**20


def test_pipelined_requests_are_answered_once_the_answers_before_them_are_read(
    any_server: ServerProcess,
) -> None:
    with Wire(any_server, buffer=4096) as wire:
        for _ in range(3000):  # a record each
            wire.ask("GET /")
        time.sleep(0.5)
        assert [wire.status() for _ in range(3000)] == [200] * 3000


def test_trailers_without_end_are_refused(any_server: ServerProcess) -> None:
    before = any_server.resident_bytes()
    wire = Wire(any_server).ask("POST /api/v1/namespaces", "Transfer-Encoding: chunked")
    wire.send(b"0\r\n")
    for _ in range(2000):
        wire.send(b"A: " + b"x" * 10_000 + b"\r\n")
    assert wire.status() == 400
    assert any_server.resident_bytes() - before < 20 * 2**20


def test_connections_are_counted_by_address(fresh_server: FreshServer) -> None:
    server = fresh_server("--max-connections-per-address", "5")
    held = [Wire(server) for _ in range(5)]
    assert not _is_served(server)
    held.pop().close()
    eventually(lambda: _is_served(server), "there is room again")
    for wire in held:
        assert wire.ask("GET /healthz").status() == 200


def test_connections_are_counted_in_all(fresh_server: FreshServer) -> None:
    server = fresh_server("--max-connections", "3")
    held = [plain_socket(server) for _ in range(3)]
    eventually(lambda: not _is_served(server), "more are turned away")
    for sock in held:
        sock.close()
    eventually(lambda: _is_served(server), "there is room again")


def _can_send(wire: Wire, data: bytes) -> bool:
    try:
        wire.send(data)
    except OSError:
        return False
    return True


def _is_served(server: ServerProcess) -> bool:
    try:
        with Wire(server) as wire:
            return wire.ask("GET /healthz").status() == 200
    except (OSError, AssertionError):
        return False


def test_a_thousand_connections_of_one_address_are_served(any_server: ServerProcess) -> None:
    held: list[socket.socket] = [plain_socket(any_server) for _ in range(1000)]
    assert _is_served(any_server)
    for sock in held:
        sock.close()
