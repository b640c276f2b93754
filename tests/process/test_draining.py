"""Shutdown: running requests are answered, and no client delays it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

from support.namespaces import Space
from support.process import ServerProcess
from support.slow_answers import PRELUDE
from support.waiting import eventually
from support.wire import ADMIN, Wire

PROMPT = 9.0  # seconds, on a busy machine; the default of --shutdown-grace is 10
FreshServer = Callable[..., ServerProcess]


def end(server: ServerProcess) -> tuple[int, float]:
    """Stop a server; its exit code and how long it took."""
    server.signal(signal.SIGTERM)
    started = time.monotonic()
    return server.wait(30), time.monotonic() - started


def test_an_answer_that_is_not_read_holds_the_end_up_for_the_grace_only(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--shutdown-grace", "1s")
    space = Space(server, server.client())
    for number in range(8):
        space.config_maps.create(f"m{number}", data={"k": "x" * 900_000})
    wire = Wire(server, buffer=4096).ask(f"GET {space.config_maps.path}")
    wire.sock.recv(10)
    code, seconds = end(server)
    assert code == 0
    assert seconds < PROMPT


def test_an_unfinished_body_holds_the_end_up_for_the_grace_only(fresh_server: FreshServer) -> None:
    server = fresh_server("--shutdown-grace", "1s")
    wire = Wire(server).ask("POST /api/v1/namespaces", "Content-Length: 9", "Expect: 100-continue")
    assert wire.status() == 100
    code, seconds = end(server)
    assert code == 0
    assert 1 <= seconds < PROMPT


def test_a_second_signal_ends_at_once(fresh_server: FreshServer) -> None:
    server = fresh_server("--shutdown-grace", "60s")
    wire = Wire(server).ask("POST /api/v1/namespaces", "Content-Length: 9", "Expect: 100-continue")
    assert wire.status() == 100
    server.signal(signal.SIGTERM)
    eventually(lambda: "shutting down" in server.log.read_text(), "the first signal is heeded")
    code, seconds = end(server)
    assert code == 0
    assert seconds < PROMPT


def test_a_second_signal_does_not_wait_for_load_balancers(fresh_server: FreshServer) -> None:
    server = fresh_server("--shutdown-delay-duration", "60s")
    client = server.client()
    server.signal(signal.SIGTERM)
    eventually(lambda: client.get("/readyz").status == 500, "the first signal is heeded")
    assert end(server)[1] < PROMPT


def test_a_request_that_is_being_answered_is_answered(fresh_server: FreshServer) -> None:
    server = fresh_server(prelude=PRELUDE)
    with Wire(server).ask("GET /version", "X-Hold: 1") as wire:
        wire.send(b"GET /version HTTP/1.1\r\n" + ADMIN + b"\r\n")
        time.sleep(0.2)
        server.signal(signal.SIGTERM)
        assert wire.status() == 200
        assert b"connection: close" in wire.head
        assert wire.is_closed
    assert server.wait(15) == 0


def test_every_request_that_was_sent_before_the_signal_is_answered(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    wires = [Wire(server) for _ in range(100)]
    threads = [
        threading.Thread(target=wire.ask, args=(f"GET {space.secrets.path}",)) for wire in wires
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.signal(signal.SIGTERM)
    assert [wire.status() for wire in wires] == [200] * 100
    assert server.wait(15) == 0


def test_a_watch_that_begins_again_when_others_end_does_not_hold_up_the_end(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--shutdown-grace", "60s")
    with Wire(server).ask("GET /api/v1/secrets?watch=true") as wire:
        assert wire.status() == 200
        server.signal(signal.SIGTERM)
        while not wire.sock.recv(65536).endswith(b"0\r\n\r\n"):
            pass
        wire.ask("GET /api/v1/secrets?watch=true")
        started = time.monotonic()
        assert server.wait(30) == 0
        assert time.monotonic() - started < PROMPT
