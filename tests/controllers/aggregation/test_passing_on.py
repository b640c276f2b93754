"""Requests to groups of extension servers, and their answers."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.extension import (
    HERE,
    SERVICE,
    SERVICES,
    Caller,
    RawExtension,
    Registered,
    bundle,
    fields,
)
from support.process import FreshServer, ServerProcess
from support.wire import ADMIN, Wire

MIB = 1024 * 1024


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_method_path_and_query_pass_as_they_came(
    front: ServerProcess, raw: RawExtension, group: Registered, method: str
) -> None:
    raw.talk = lambda caller, head: caller.answer(b'{"a": 1}', 209, "x-own: 1")
    target = f"{group.path}/namespaces/n/things/a%20c?x=%2f&y=1&y=+&bare"
    with Wire(front).ask(f"{method} {target}") as wire:
        assert wire.answer() == (209, b'{"a": 1}')
    assert b"\r\nx-own: 1" in wire.head
    assert raw.heads[0].split(b"\r\n")[0] == f"{method} {target} HTTP/1.1".encode()


def test_an_answer_can_do_nothing_in_the_browser_of_who_looks_at_it(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    messages = ("set-cookie: a=1", "service-worker-allowed: /", "clear-site-data: *", "x-own: 1")
    raw.talk = lambda caller, head: caller.answer(b"<script>", 200, *messages)
    with Wire(front).ask(f"GET {group.path}/things", "Cookie: theirs=1") as wire:
        assert wire.answer() == (200, b"<script>")
    lines = wire.head.split(b"\r\n")
    assert {b"content-security-policy: sandbox", b"x-content-type-options: nosniff"} <= {*lines}
    assert b"x-own: 1" in lines
    assert not [line for line in lines if line.startswith((b"set-", b"service-", b"clear-"))]
    assert fields(raw.heads[0], "cookie") == []


def test_the_script_of_a_service_worker_is_refused(raw: RawExtension, group: Registered) -> None:
    answer = group.client.get(f"{group.path}/things", headers={"Service-Worker": "script"})
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert raw.heads == []


@pytest.mark.parametrize("rest", ["", "/", "/things", "/namespaces/n/things/a/deep/er"])
def test_everything_below_the_version_is_passed_on(
    raw: RawExtension, group: Registered, rest: str
) -> None:
    assert group.client.get(f"{group.path}{rest}").body == {}
    assert raw.heads[0].startswith(f"GET {group.path}{rest} ".encode())


def test_proxy_does_not_pass_on_paths_beside_the_version(
    raw: RawExtension, group: Registered
) -> None:
    for path in (f"/apis/{group.group}/v2", f"{group.path}x/things", f"/{group.path}/things"):
        assert group.client.get(path).status == 404
    assert raw.heads == []


def test_a_head_request_has_no_body(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    raw.talk = lambda caller, head: caller.say(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")
    with Wire(front).ask(f"HEAD {group.path}/things") as wire:
        wire.send(b"GET /healthz HTTP/1.1\r\n" + ADMIN + b"\r\n")
        data = b""
        while not data.endswith(b"ok"):
            data += wire.sock.recv(65536)
    first, second = data.split(b"\r\n\r\n", 1)
    assert b"\r\ncontent-length: 5" in first
    assert second.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("code", [204, 304])
def test_an_answer_without_a_body_has_none(
    front: ServerProcess, raw: RawExtension, group: Registered, code: int
) -> None:
    raw.talk = lambda caller, head: caller.say(f"HTTP/1.1 {code} X\r\n\r\n".encode())
    with Wire(front).ask(f"GET {group.path}/things") as wire:
        assert wire.answer() == (code, b"")
        assert b"transfer-encoding" not in wire.head
        assert wire.ask("GET /healthz").answer() == (200, b"ok")


def test_proxy_skips_interim_responses(raw: RawExtension, group: Registered) -> None:
    def talk(caller: Caller, head: bytes) -> None:
        caller.say(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n")
        caller.answer(b"[]")

    raw.talk = talk
    assert group.client.get(f"{group.path}/things").raw == b"[]"


def test_an_answer_comes_piece_by_piece_and_without_its_trailers(
    raw: RawExtension, group: Registered
) -> None:
    more = threading.Event()

    def talk(caller: Caller, head: bytes) -> None:
        caller.say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n")
        more.wait(20)
        caller.say(b"3\r\ntwo\r\n0\r\nx-trailer: 1\r\n\r\n")

    raw.talk = talk
    connection = group.client.connect()
    connection.request("GET", f"{group.path}/things?watch=1", headers=group.client.head_of())
    response = connection.getresponse()
    assert response.read(3) == b"one"
    more.set()
    assert response.read() == b"two"
    connection.close()


def test_a_body_is_passed_on_while_it_comes(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    chunks: list[bytes] = []
    first = threading.Event()

    def talk(caller: Caller, head: bytes) -> None:
        chunks.append(caller.take(5))
        first.set()
        chunks.append(caller.take(5))
        caller.answer()

    raw.talk = talk
    with Wire(front).ask(f"POST {group.path}/things", "Content-Length: 10") as wire:
        wire.send(b"first")
        assert first.wait(20)
        wire.send(b"after")
        assert wire.status() == 200
    assert chunks == [b"first", b"after"]
    assert fields(raw.heads[0], "content-length") == ["10"]


def test_proxy_answers_expect_100_continue(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    raw.talk = lambda caller, head: caller.answer(caller.take(4))
    wire = Wire(front)
    with wire.ask(f"PUT {group.path}/things/a", "Content-Length: 4", "Expect: 100-continue"):
        assert wire.answer() == (100, b"")
        assert wire.send(b"body").answer() == (200, b"body")
    assert fields(raw.heads[0], "expect") == []


def test_proxy_streams_a_body_of_64_mib_without_buffering_it(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    size, slow = 64 * MIB, threading.Event()

    def talk(caller: Caller, head: bytes) -> None:
        taken = caller.take(1)
        slow.wait(20)
        left = size * 8 // 7
        while b"0\r\n\r\n" not in taken[-5:] and left > 0:
            taken = caller.rest[-5:] or caller.sock.recv(1 << 20)
            caller.rest = b""
            left -= len(taken)
        caller.answer()

    raw.talk = talk
    before = front.resident_bytes()
    wire = Wire(front).ask(f"POST {group.path}/things", "Transfer-Encoding: chunked")
    piece = b"%x\r\n%b\r\n" % (MIB, b"x" * MIB)

    def send() -> None:
        for _ in range(size // MIB):
            wire.send(piece)
        wire.send(b"0\r\n\r\n")

    sending = threading.Thread(target=send)
    sending.start()
    sending.join(1)  # until nothing more is taken
    assert sending.is_alive()
    assert front.resident_bytes() - before < 16 * MIB
    slow.set()
    assert wire.status() == 200
    sending.join(20)
    assert front.resident_bytes() - before < 16 * MIB
    wire.close()


def test_an_answer_before_the_end_of_the_body_is_passed_on(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    def talk(caller: Caller, head: bytes) -> None:
        caller.answer(b"enough", 413, "connection: close")
        while caller.sock.recv(65536):
            pass

    raw.talk = talk
    with Wire(front).ask(f"POST {group.path}/things", "Content-Length: 99999999") as wire:
        wire.send(b"x" * 100_000)
        assert wire.answer() == (413, b"enough")


def test_a_body_that_is_cut_off_is_cut_off_there_too(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def talk(caller: Caller, head: bytes) -> None:
        assert caller.take(4) == b"half"
        begun.set()
        with suppress(OSError):
            assert caller.sock.recv(96) == b""
        ended.set()

    raw.talk = talk
    with Wire(front).ask(f"POST {group.path}/things", "Content-Length: 100") as wire:
        wire.send(b"half")
        assert begun.wait(20)
    assert ended.wait(20)


def test_an_answer_that_is_cut_off_does_not_look_whole(
    raw: RawExtension, group: Registered
) -> None:
    def talk(caller: Caller, head: bytes) -> None:
        caller.say(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
        caller.sock.close()

    raw.talk = talk
    with pytest.raises((http.client.HTTPException, OSError)):
        group.client.get(f"{group.path}/things")


def test_an_answer_that_waits_for_its_reader_is_whole_though_its_sender_is_gone(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    size, gone = 4 * MIB, threading.Event()

    def talk(caller: Caller, head: bytes) -> None:
        caller.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * MIB)
        caller.answer(b"x" * size, 200, "connection: close")
        caller.sock.close()
        gone.set()

    raw.talk = talk
    with Wire(front, buffer=65536).ask(f"GET {group.path}/things") as wire:
        gone.wait(1)  # it may have to wait for us
        assert wire.answer() == (200, b"x" * size)


def test_a_client_that_leaves_ends_the_request_there(raw: RawExtension, group: Registered) -> None:
    requested, left = threading.Event(), threading.Event()

    def talk(caller: Caller, head: bytes) -> None:
        requested.set()
        with suppress(OSError):
            caller.sock.recv(1)
        left.set()

    raw.talk = talk
    connection = group.client.connect()
    connection.request("GET", f"{group.path}/things", headers=group.client.head_of())
    assert requested.wait(20)
    connection.close()
    assert left.wait(20)


def test_connections_are_kept_until_the_service_changes(
    raw: RawExtension, group: Registered
) -> None:
    raw.talk = lambda caller, head: caller.answer(caller.body(head))
    before = raw.connections
    for _ in range(3):
        assert group.client.get(f"{group.path}/things").status == 200
        assert group.client.post(f"{group.path}/things", {}).status == 200
    kept = raw.connections
    assert kept - before < 6  # the server itself asks now and then, too
    group.change(caBundle=None, insecureSkipTLSVerify=True)
    assert group.client.get(f"{group.path}/things").status == 200
    assert raw.connections == kept + 1


def test_a_kept_connection_that_was_closed_is_not_noticed_by_clients(
    raw: RawExtension, group: Registered
) -> None:
    def talk(caller: Caller, head: bytes) -> None:
        caller.answer()
        caller.sock.close()

    raw.talk = talk
    for _ in range(5):
        assert group.client.get(f"{group.path}/things").status == 200


def test_a_redirect_is_neither_followed_nor_given_to_clients(
    raw: RawExtension, group: Registered
) -> None:
    raw.talk = lambda caller, head: caller.answer(b"", 302, "location: https://elsewhere.example/")
    answer = group.client.get(f"{group.path}/things")
    text = "the backend attempted to redirect this request, which is not permitted"
    assert (answer.status, answer.text, answer.headers["Location"]) == (502, text, None)


@pytest.mark.parametrize(
    "message",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nsomething",
        b"HTTP/1.1 102 Processing\r\n\r\n" * 1000 + b"HTTP/1.1 200 OK\r\n\r\n",
        b"",
    ],
)
def test_proxy_does_not_pass_on_a_malformed_answer(
    raw: RawExtension, group: Registered, message: bytes
) -> None:
    def talk(caller: Caller, head: bytes) -> None:
        caller.say(message)
        caller.sock.close()

    raw.talk = talk
    answer = group.client.get(f"{group.path}/things")
    assert answer.status == 503
    assert answer.text.startswith("error trying to reach service: ")


@pytest.mark.parametrize(
    "first",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ],
)
def test_proxy_drops_an_unsolicited_second_answer(
    raw: RawExtension, group: Registered, first: bytes
) -> None:
    smuggled = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nEVIL!!"
    raw.talk = lambda caller, head: caller.say(first + smuggled)
    for _ in range(3):
        assert group.client.get(f"{group.path}/things").text == "ok"
        assert group.client.get("/healthz").text == "ok"


@pytest.mark.parametrize("step", ["..", ".", "%2e%2e", ""])
def test_proxy_refuses_an_ambiguous_path(
    front: ServerProcess, raw: RawExtension, group: Registered, step: str
) -> None:
    with Wire(front).ask(f"GET {group.path}/namespaces/a/{step}/b/things") as wire:
        code, body = wire.answer()
    assert (code, json.loads(body)["reason"]) == (400, "BadRequest")
    assert raw.heads == []


@pytest.mark.parametrize(
    ("requested", "passed"),
    [
        ("namespaces%2Fa/things", "namespaces/a/things"),
        ("things/a%252Fb", "things/a%252Fb"),
        ("%74hings/a%20b%3Fc", "things/a%20b%3Fc"),
        ("things/%C3%A4;x=y", "things/%C3%A4;x=y"),
        ("things/(a)", "things/(a)"),
    ],
)
def test_the_other_server_sees_the_path_that_was_judged(
    front: ServerProcess, raw: RawExtension, group: Registered, requested: str, passed: str
) -> None:
    with Wire(front).ask(f"GET {group.path}/{requested}?x=%2F") as wire:
        assert wire.status() == 200
    assert raw.heads[0].startswith(f"GET {group.path}/{passed}?x=%2F HTTP/1.1\r\n".encode())


def test_an_unavailable_group_is_503(front: ServerProcess) -> None:
    nobody = Registered(front, 9, insecureSkipTLSVerify=True)
    answer = nobody.client.get(f"{nobody.path}/things")
    assert answer.status == 503
    assert answer.text in (
        "service unavailable\n",
        "error trying to reach service: dial tcp 127.0.0.1:9: connect: connection refused\n",
    )
    nobody.tell_available("False")
    answer = nobody.client.get(f"{nobody.path}/things")
    assert (answer.status, answer.text) == (503, "service unavailable\n")
    nobody.remove()
    assert nobody.client.get(f"{nobody.path}/things").status == 404


def test_an_extension_server_of_another_ca_is_not_trusted(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    group.change(caBundle=bundle(front.ca.read_bytes()))
    assert group.client.get(f"{group.path}/things").status == 503
    assert raw.heads == []


def test_the_server_shows_its_certificate(front: ServerProcess, tmp_path: Path) -> None:
    strict = RawExtension(tmp_path, client_ca=front.data / "pki" / "front-proxy-ca.crt")
    names: list[object] = []

    def talk(caller: Caller, head: bytes) -> None:
        assert isinstance(caller.sock, ssl.SSLSocket)
        output: Any = caller.sock.getpeercert() or {}
        names.append(dict(part[0] for part in output["subject"])["commonName"])
        caller.answer()

    strict.talk = talk
    group = Registered(front, strict.port, insecureSkipTLSVerify=True)
    assert group.client.get(f"{group.path}/things").status == 200
    assert names == ["front-proxy-client"]
    group.remove()
    strict.close()


def test_through_a_server_that_is_read_only_nobody_writes(
    raw: RawExtension, tmp_path: Path
) -> None:
    front = ServerProcess(tmp_path, flags=HERE).start()
    group = Registered(front, raw.port, caBundle=bundle(raw.ca))
    front.stop()
    front.flags = (*HERE, "--read-only")
    client = front.start().client()
    raw.heads.clear()
    assert client.get(f"{group.path}/things").status == 200
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = client.request(method, f"{group.path}/things/a")
        assert answer.status == 403
        assert answer.message == f'things.{group.group} "a" is forbidden: the server is read-only'
    assert len(raw.heads) == 1
    front.stop()


@pytest.mark.parametrize("dialect", ["kubernetes", "cluster"])
@pytest.mark.parametrize("label", ["onstart", None])
def test_built_in_versions_are_never_those_of_another_server(
    fresh_server: FreshServer, raw: RawExtension, dialect: str, label: str | None
) -> None:
    server = fresh_server(*HERE, dialect=dialect)
    client = server.client()
    place = {"type": "ExternalName", "externalName": "127.0.0.1"}
    services = "/api/v1/namespaces/default/services"
    assert client.post(services, {"metadata": {"name": SERVICE}, "spec": place}).status == 201
    service = {"namespace": "default", "name": SERVICE, "port": raw.port}
    labels = {server.dialect.label("kube-aggregator.@/automanaged"): label}
    change = {
        "metadata": {"labels": labels},
        "spec": {"service": service, "insecureSkipTLSVerify": True},
    }
    own = SERVICES.format(domain=server.dialect.group_domain)
    for name in ("v1.", "v1.apps"):
        assert client.patch(f"{own}/{name}", change).status == 200
    assert client.get("/api").body["kind"] == "APIVersions"
    assert client.get("/api/v1/namespaces/default").body["kind"] == "Namespace"
    assert client.get("/apis/apps/v1/deployments").body["kind"] == "DeploymentList"
    assert not [head for head in raw.heads if b"/namespaces" in head or b"/deployments" in head]
