"""Idle watches: their memory, and that they continue."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from support.collected import Weighed
from support.namespaces import Space
from support.process import ServerProcess
from support.waiting import eventually
from support.wire import ADMIN, Wire

MANY = 30
END = b"\r\n0\r\n\r\n"


def test_a_silent_watch_holds_neither_a_task_nor_its_request(tmp_path: Path) -> None:
    weighed = Weighed(tmp_path)
    space = Space(weighed.server, weighed.server.client())
    space.config_maps.create("a")
    try:
        with ExitStack() as opened:
            space.ready_for_pods()  # which is the controllers' work
            before = weighed.settled()
            for _ in range(MANY):
                wire = opened.enter_context(Wire(weighed.server))
                wire.ask(f"GET {space.config_maps.path}?watch=1&allowWatchBookmarks=1")
                wire.status()
            eventually(lambda: space.config_maps.list().status == 200, "others are answered")
            after = weighed.living()
    finally:
        weighed.server.stop()
    more = {name: after[name] - before.get(name, 0) for name in after}
    assert more["WatchStream"] == MANY
    for name in ("Task", "coroutine", "Future", "TimerHandle", "Request", "Operation", "Target"):
        assert more.get(name, 0) < MANY / 2, name
    for name in ("Head", "Reader", "async_generator", "dict"):
        assert more.get(name, 0) < MANY / 2, name


def chunks(wire: Wire, until: bytes) -> bytes:
    """Return the bytes that arrive, at least one chunk."""
    data = b""
    while until not in data:
        data += wire.sock.recv(65536)
    return data


def test_a_client_that_reads_late_is_told_everything_and_then_what_happens_next(
    any_server: ServerProcess,
) -> None:
    space = Space(any_server, any_server.client())
    space.secrets.create("a")
    with Wire(any_server, buffer=4096) as wire:
        wire.ask(f"GET {space.secrets.path}?watch=1")
        chunks(wire, b'"name":"a"')
        for number in range(150):
            space.secrets.create(f"b{number}", data={"bulk": "x" * 20_000})
        content = chunks(wire, b'"name":"b149"')
        assert content.count(b'"type":"ADDED"') == 150
        space.secrets.create("c")
        assert chunks(wire, b'"name":"c"').count(b'"type":"ADDED"') == 1


def test_what_was_sent_behind_a_watch_is_answered_after_it(any_server: ServerProcess) -> None:
    space = Space(any_server, any_server.client())
    with Wire(any_server) as wire:
        wire.ask(f"GET {space.config_maps.path}?watch=1&resourceVersion=0&timeoutSeconds=1")
        wire.ask("GET /version")
        data = chunks(wire, b"gitVersion")
        assert data.index(END) < data.index(b"HTTP/1.1 200", 20)
        wire.ask("GET /healthz")
        assert wire.answer() == (200, b"ok")


def test_a_connection_serves_one_watch_after_the_other(any_server: ServerProcess) -> None:
    space = Space(any_server, any_server.client())
    path = f"{space.secrets.path}?watch=1&timeoutSeconds=1"
    with Wire(any_server) as wire:
        for name in ("a", "b"):
            version = space.secrets.version()
            wire.ask(f"GET {path}&resourceVersion={version}")
            chunks(wire, b"\r\n\r\n")
            space.secrets.create(name)
            assert chunks(wire, END).count(b'"type":"ADDED"') == 1


def test_what_happens_is_told_to_clients_that_know_no_chunks(any_server: ServerProcess) -> None:
    space = Space(any_server, any_server.client())
    query = f"watch=1&timeoutSeconds=2&resourceVersion={space.secrets.version()}"
    line = f"GET {space.secrets.path}?{query} HTTP/1.0\r\n"
    with Wire(any_server).send(line.encode() + ADMIN + b"\r\n") as wire:
        chunks(wire, b"\r\n\r\n")
        space.secrets.create("a")
        space.secrets.create("b")
        lines = wire.rest().splitlines()
    assert [line[:15] for line in lines] == [b'{"type":"ADDED"'] * 2
