"""Only this server passes the identity of the user to extension servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.extension import HERE, Caller, RawExtension, Registered, bundle, fields
from support.process import FreshServer, ServerProcess
from support.wire import Wire

from fairlead.auth.authentication.user import User
from fairlead.controllers.aggregation.calls import identity_fields
from fairlead.wire.outgoing.response import CallError


def asked_with(front: ServerProcess, raw: RawExtension, group: Registered, *headers: str) -> bytes:
    """The head that arrives behind the server for a request with these headers."""
    with Wire(front).ask(f"GET {group.path}/things", *headers) as wire:
        assert wire.status() == 200
    return raw.heads[-1]


def test_remote_user_headers_name_the_user(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    head = asked_with(front, raw, group)
    assert fields(head, "x-remote-user") == ["admin"]
    assert fields(head, "x-remote-group") == ["system:masters", "system:authenticated"]
    assert fields(head, "authorization") == []


def test_remote_user_headers_name_the_impersonated_user(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    head = asked_with(
        *(front, raw, group),
        *("Impersonate-User: bob", "Impersonate-Group: a", "Impersonate-Group: system:masters"),
        *("Impersonate-Extra-Acme.com%2FScope: x", "Impersonate-Extra-acme.com%2fscope: y"),
    )
    assert fields(head, "x-remote-user") == ["bob"]
    assert fields(head, "x-remote-group") == ["a", "system:masters", "system:authenticated"]
    assert fields(head, "x-remote-extra-acme.com%2fscope") == ["x", "y"]
    assert b"impersonate" not in head.lower()


SMUGGLED = [
    ("X-Remote-User: root",),
    ("x-REMOTE-user: root", "X-Remote-User: root"),
    ("X_Remote_User: root", "X-Remote_User: root", "x.remote.user: root"),
    ("X-Remote-Group: system:masters", "X_Remote_Group: system:masters"),
    ("X-Remote-Extra-Scopes: all", "X-Remote-Extra_Scopes: all"),
    ("X-Remote-Uid: 0",),
    ("Connection: X-Remote-User", "X-Remote-User: root"),
    ("Connection: close, x-remote-user, X-Remote-Group", "Connection: host"),
    ("Proxy-Authorization: Basic eA==", "Proxy-Connection: keep-alive"),
    ("X-Forwarded-Uri: /root", "X-Forwarded-Host: root", "X-Forwarded-Proto: root"),
    ("Audit_ID: root", "Authorization_: root", "Content_Length: root"),
    ("TE: trailers", "Trailer: X-Remote-User", "Keep-Alive: root"),
]


@pytest.mark.parametrize("headers", SMUGGLED, ids=lambda item: item[0])
def test_remote_user_headers_of_a_client_are_dropped(
    front: ServerProcess, raw: RawExtension, group: Registered, headers: tuple[str, ...]
) -> None:
    head = asked_with(front, raw, group, "X-Own: stays", *headers)
    assert fields(head, "x-remote-user") == ["admin"]
    assert fields(head, "x-remote-group") == ["system:masters", "system:authenticated"]
    assert fields(head, "x-own") == ["stays"]
    assert len(fields(head, "host")) == 1
    assert head.lower().count(b"remote") == 3
    assert b"root" not in head


def test_remote_user_headers_in_trailers_are_dropped(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    bodies: list[bytes] = []

    def talk(caller: Caller, head: bytes) -> None:
        bodies.append(caller.take(len(b"3\r\nabc\r\n0\r\n\r\n")))
        caller.answer()

    raw.talk = talk
    with Wire(front).ask(f"POST {group.path}/things", "Transfer-Encoding: chunked") as wire:
        wire.send(b"3\r\nabc\r\n0\r\nX-Remote-User: root\r\n\r\n")
        assert wire.status() == 200
    assert bodies == [b"3\r\nabc\r\n0\r\n\r\n"]


@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: 4", "Transfer-Encoding: chunked"),
        ("Content-Length: 4", "Content-Length: 5"),
        ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        ("X-A: b\r\n X-Remote-User: root",),
        ("X-Remote-User : root",),
        ("X-A: b\nX-Remote-User: root",),
    ],
)
def test_request_with_ambiguous_framing_is_not_proxied(
    front: ServerProcess, raw: RawExtension, group: Registered, headers: tuple[str, ...]
) -> None:
    with Wire(front).ask(f"POST {group.path}/things", *headers) as wire:
        assert wire.status() in (400, 501)
    assert raw.heads == []


def test_a_body_that_looks_like_a_request_is_a_body(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    hidden = b"GET /x HTTP/1.1\r\nHost: x\r\nX-Remote-User: root\r\n\r\n"
    bodies: list[bytes] = []

    def talk(caller: Caller, head: bytes) -> None:
        bodies.append(caller.body(head))
        caller.answer()

    raw.talk = talk
    size = f"Content-Length: {len(hidden)}"
    for more in (
        (),
        ("Connection: Upgrade", "Upgrade: websocket"),
        ("Connection: content-length",),
    ):
        with Wire(front).ask(f"DELETE {group.path}/things/a", size, *more, body=hidden) as wire:
            assert wire.status() == 200
    assert bodies == [hidden] * 3
    assert all(fields(head, "upgrade") == [] for head in raw.heads)


@pytest.mark.parametrize("protocol", ["h2c", "H2C, websocket", "HTTP/2.0", "TLS/1.0"])
def test_no_protocol_is_passed_on_in_which_a_client_could_name_users(
    front: ServerProcess, raw: RawExtension, group: Registered, protocol: str
) -> None:
    head = asked_with(front, raw, group, "Connection: Upgrade", f"Upgrade: {protocol}")
    assert fields(head, "upgrade") == fields(head, "connection") == []


def test_forwarded_headers_tell_where_a_request_comes_from(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    head = asked_with(front, raw, group, "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: http")
    assert fields(head, "x-forwarded-for") == ["192.0.2.1, 127.0.0.1"]
    assert fields(head, "x-forwarded-uri") == [f"{group.path}/things"]
    assert fields(head, "x-forwarded-proto") == ["https"]
    assert fields(head, "x-forwarded-host") == [f"127.0.0.1:{raw.port}"]


def test_unauthorized_request_is_refused_before_it_is_proxied(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    alice = front.client("alice-token")
    for path in (f"{group.path}/things", f"{group.path}/namespaces/n/things/a/exec"):
        assert alice.get(path).status == 403
    assert front.client("wrong").get(f"{group.path}/things").status == 401
    assert raw.heads == []


def test_headers_that_name_users_in_front_of_us_are_dropped(
    fresh_server: FreshServer, raw: RawExtension, tmp_path: Path
) -> None:
    authority = tmp_path / "proxy.crt"
    authority.write_bytes(raw.ca)
    front = fresh_server(
        *HERE,
        *("--requestheader-client-ca-file", str(authority)),
        *("--requestheader-username-headers", "X-Who", "--requestheader-group-headers", "X-Teams"),
        *("--requestheader-extra-headers-prefix", "X-More-", "--requestheader-allowed-names", "p"),
    )
    group = Registered(front, raw.port, caBundle=bundle(raw.ca))
    head = asked_with(
        *(front, raw, group), "X-Who: root", "x_who: root", "X-Teams: root", "X-More-A: root"
    )
    assert b"root" not in head
    group.remove()


@pytest.mark.parametrize("name", [" root", "root ", "root\t", "ro\r\not", "ro\0ot", "\u00a0root"])
def test_user_name_that_would_be_read_as_another_is_not_proxied(name: str) -> None:
    for user in (User(name), User("a", "", (name,)), User("a", "", (), {"key": (name,)})):
        with pytest.raises(CallError):
            identity_fields(user)
