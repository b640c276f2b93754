"""Watches over WebSockets: each event is a message, and both sides may close."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable

import pytest
from support.client import ADMIN_TOKEN
from support.namespaces import Space
from support.process import ServerProcess
from support.waiting import eventually
from support.web_sockets import (
    BINARY,
    CLOSE,
    HELLO,
    KEY,
    ORIGIN,
    PING,
    PONG,
    TEXT,
    TOKEN,
    WebSocket,
    frame,
)
from support.wire import Wire

NORMAL, PROTOCOL_ERROR = (1000).to_bytes(2, "big"), (1002).to_bytes(2, "big")


def watched(space: Space, *headers: str, query: str = "", early: bytes = b"") -> WebSocket:
    path = f"{space.secrets.path}?watch=true{query}"
    return WebSocket(space.server, path, *headers, early=early)


@pytest.mark.both_dialects
def test_what_was_and_what_happens_comes_as_messages(space: Space) -> None:
    secret = space.secrets.create("a")
    with watched(space) as socket:
        assert "\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n" in socket.head
        assert socket.event() == {"type": "ADDED", "object": secret}
        changed = space.secrets.label("a", x="1")
        assert socket.event() == {"type": "MODIFIED", "object": changed}
        space.secrets.remove("a")
        assert socket.names(1) == [("DELETED", "a")]


def test_a_large_object_is_one_message(space: Space) -> None:
    with watched(space) as socket:
        for size in (100, 30_000, 100_000):
            space.secrets.create(f"s{size}", data={"x": "QUFB" * (size // 4)})
            assert socket.names(1) == [("ADDED", f"s{size}")]


def test_the_old_paths_serve_them_too(kubernetes: Space) -> None:
    kubernetes.secrets.create("a")
    path = kubernetes.secrets.path.replace("/api/v1/", "/api/v1/watch/")
    with WebSocket(kubernetes.server, path) as socket:
        assert socket.names(1) == [("ADDED", "a")]


def test_only_what_is_selected_comes(space: Space) -> None:
    with watched(space, query="&labelSelector=x%3D1") as socket:
        space.secrets.create("a")
        space.secrets.create("b", labels={"x": "1"})
        assert socket.names(1) == [("ADDED", "b")]


def test_it_ends_with_a_bookmark_and_a_close_when_its_time_is_up(kubernetes: Space) -> None:
    with watched(kubernetes, query="&timeoutSeconds=3&allowWatchBookmarks=true") as socket:
        assert socket.event()["type"] == "BOOKMARK"
        assert socket.next() == (CLOSE, NORMAL)
        assert socket.is_closed


def test_messages_of_protobuf_are_binary_and_have_no_length_before_them(kubernetes: Space) -> None:
    accept = "Accept: application/vnd.kubernetes.protobuf;stream=watch"
    kubernetes.secrets.create("a")
    with watched(kubernetes, accept) as socket:
        opcode, payload = socket.next()
    assert opcode == BINARY
    assert payload.startswith(b"\x0a\x05ADDED\x12")


def test_columns_come_with_the_first_table_only(kubernetes: Space) -> None:
    kubernetes.secrets.create_all("a", "b")
    with watched(kubernetes, "Accept: application/json;as=Table;g=meta.k8s.io;v=v1") as socket:
        first, second = socket.event()["object"], socket.event()["object"]
    assert first["kind"] == second["kind"] == "Table"
    assert first["columnDefinitions"]
    assert second["columnDefinitions"] is None


def test_a_ping_is_answered_with_what_it_holds(space: Space) -> None:
    with watched(space) as socket:
        socket.send(PING, b"are you there?")
        assert socket.next() == (PONG, b"are you there?")
        socket.send(PONG)
        socket.send(PING)
        assert socket.next() == (PONG, b"")


def test_pings_come_between_messages(space: Space) -> None:
    """Whatever is being sent, nothing of it is torn."""
    for number in range(20):
        space.secrets.create(f"s{number}", data={"x": "QUFB" * 20_000})
    with watched(space, early=frame(PING, b"early")) as socket:
        socket.send(PING, b"late")
        texts, pongs = 0, []
        while texts < 20 or b"late" not in pongs:
            opcode, payload = socket.next()
            if opcode == TEXT:
                texts += 1
            else:
                assert opcode == PONG
                pongs.append(payload)
    assert texts == 20
    assert pongs in ([b"late"], [b"early", b"late"])  # a newer ping may replace an older one


def test_what_the_client_says_is_passed_over(space: Space) -> None:
    with watched(space, early=frame(TEXT, b"early")) as socket:
        for size in (5, 1000, 60_000):
            socket.send(TEXT, b"x" * size)
        for byte in frame(BINARY, b"bit by bit") + frame(PING, b"1"):
            socket.wire.send(bytes((byte,)))
        assert socket.next() == (PONG, b"1")
        space.secrets.create("a")
        assert socket.names(1) == [("ADDED", "a")]


def test_who_closes_is_answered_and_heard_of_no_more(space: Space) -> None:
    with watched(space) as socket:
        socket.send(CLOSE, (1001).to_bytes(2, "big") + b"gone")
        assert socket.next() == (CLOSE, NORMAL)
        assert socket.is_closed


@pytest.mark.parametrize("broken", [b"\x81\x02hi", b"\x09\x80\0\0\0\0", b"\x89\xfe\0\x7f\0\0\0\0"])
def test_who_breaks_the_rules_is_told_and_left(space: Space, broken: bytes) -> None:
    with watched(space) as socket:
        socket.wire.send(broken)
        assert socket.next() == (CLOSE, PROTOCOL_ERROR)


def test_who_goes_without_a_word_is_not_waited_for(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server()
    space = Space(server, server.client())

    def watches() -> int:
        lines = server.client().get("/metrics").text.splitlines()
        texts = [line for line in lines if line.startswith("apiserver_longrunning_requests{")]
        return sum(int(float(line.rsplit(" ", 1)[1])) for line in texts if '"secrets"' in line)

    before = watches()
    with watched(space):
        eventually(lambda: watches() == before + 1, "the watch is counted")
    eventually(lambda: watches() == before, "it is over")


def test_the_server_says_goodbye_when_it_stops(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server()
    with watched(Space(server, server.client())) as socket:
        server.stop()
        assert socket.next() == (CLOSE, NORMAL)


def test_a_token_among_the_protocols_tells_who_watches(kubernetes: Space) -> None:
    token = urlsafe_b64encode(ADMIN_TOKEN.encode()).decode().rstrip("=")
    offers = f"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.{token}, x.example"
    path = f"{kubernetes.secrets.path}?watch=1"
    kubernetes.secrets.create("a")
    with WebSocket(kubernetes.server, path, offers, hello=(*HELLO, ORIGIN, KEY)) as socket:
        assert "\r\nsec-websocket-protocol: x.example\r\n" in socket.head
        assert socket.names(1) == [("ADDED", "a")]


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        ((*HELLO, KEY), 403),  # no origin
        ((*HELLO, KEY, "Origin: null"), 403),
        ((*HELLO, ORIGIN), 400),  # no key
        ((*HELLO[:2], KEY, ORIGIN), 400),  # no version
        ((*HELLO, KEY, ORIGIN, "Sec-WebSocket-Protocol: a, b"), 400),  # none can be chosen
    ],
)
def test_a_bad_handshake_is_refused(space: Space, hello: tuple[str, ...], code: int) -> None:
    with Wire(space.server) as wire:
        wire.ask(f"GET {space.secrets.path}?watch=1", *hello)
        assert wire.status() == code
        assert wire.is_closed


@pytest.mark.parametrize(
    ("query", "credentials", "code"),
    [("watch=1", (), 403), ("watch=1&resourceVersion=x", (TOKEN,), 400), ("", (TOKEN,), 200)],
)
def test_what_is_no_watch_is_answered_as_ever(
    space: Space, query: str, credentials: tuple[str, ...], code: int
) -> None:
    lines = "".join(f"{line}\r\n" for line in ("Host: x", *HELLO, KEY, ORIGIN, *credentials))
    with Wire(space.server) as wire:
        wire.send(f"GET {space.secrets.path}?{query} HTTP/1.1\r\n{lines}\r\n".encode())
        assert wire.status() == code
