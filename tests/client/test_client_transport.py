"""Responses in every form, and errors for malformed ones."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from base64 import b64encode
from typing import Any

import pytest
from support.namespaces import Space
from support.scripted import (
    END,
    STREAM,
    Cut,
    ScriptedReply,
    ScriptedServer,
    SeenRequest,
    answer,
    chunks,
)

from fairlead.client import Access, AccessError, ApiError, Client, Unreachable
from fairlead.client.access.loader import FixedCredentials, load_access
from fairlead.client.errors import NotThisApi
from fairlead.client.session import Request
from fairlead.wire.outgoing.client_config import ClientConfig

PATIENCE = 20.0
PACKED = "Content-Encoding: gzip\r\n"


async def request_bytes(script: ScriptedServer, method: str = "GET", **parts: Any) -> bytes:
    async with script, script.client() as client, asyncio.timeout(PATIENCE):
        return await client.raw(method, "/x", **parts)


def body_of_reply(message: ScriptedReply, method: str = "GET", **parts: Any) -> bytes:
    return asyncio.run(request_bytes(ScriptedServer(message), method, **parts))


def fault_of(message: ScriptedReply, method: str = "POST", **parts: Any) -> str:
    with pytest.raises(Unreachable) as caught:
        body_of_reply(message, method, **parts)
    return str(caught.value)


async def in_single_bytes(writer: asyncio.StreamWriter) -> None:
    for byte in STREAM + chunks(b"on", b"e") + END:
        writer.write(bytes([byte]))
        await writer.drain()


async def slowly(writer: asyncio.StreamWriter) -> None:
    writer.write(STREAM)
    while True:
        writer.write(chunks(b"x"))
        await writer.drain()
        await asyncio.sleep(0.02)


async def endless_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 500 + b"\r\n")
        await writer.drain()


async def endless_promises(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
        await writer.drain()


async def silence(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(PATIENCE)


@pytest.mark.parametrize(
    ("message", "content"),
    [
        (answer(b"plain"), b"plain"),
        (STREAM + chunks(b"in ", b"chunks") + END, b"in chunks"),
        (in_single_bytes, b"one"),
        (Cut(b"HTTP/1.0 200 OK\r\n\r\nuntil the end"), b"until the end"),
        (b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n" + answer(b"later"), b"later"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" + answer(b"hinted"), b"hinted"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (answer(gzip.compress(b"packed"), headers=PACKED), b"packed"),
        (answer(gzip.compress(b"a") + gzip.compress(b"b"), headers=PACKED), b"ab"),
        (answer(b"", headers=PACKED), b""),
    ],
)
def test_answers_are_read_in_every_form(message: ScriptedReply, content: bytes) -> None:
    assert body_of_reply(message) == content


def test_a_packed_answer_is_unpacked_in_bounded_parts() -> None:
    large = bytes(5_000_000)
    assert body_of_reply(answer(gzip.compress(large), headers=PACKED)) == large


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (Cut(), "EOF"),
        (Cut(b"HTTP/1.1 2"), "unexpected EOF"),
        (Cut(b"HTTP/1.1 200 OK\r\nContent-Le"), "unexpected EOF"),
        (Cut(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"), "unexpected EOF"),
        (Cut(STREAM + chunks(b"abc")), "unexpected EOF"),
        (b"SSH-2.0-OpenSSH_9.0\r\n", "malformed HTTP response"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "malformed HTTP response"),
        (STREAM + b"not a size\r\n", "malformed HTTP response"),
        (answer(b"not packed", headers=PACKED), "gzip"),
        (answer(gzip.compress(b"packed" * 100)[:-9], headers=PACKED), "gzip: unexpected EOF"),
        (endless_head, "the head of the answer is too long"),
        (endless_promises, "the head of the answer is too long"),
    ],
)
def test_an_answer_that_is_cut_off_or_nonsense_is_said_to_be_so(
    message: ScriptedReply, fault: str
) -> None:
    assert fault in fault_of(message)


@pytest.mark.parametrize(
    "whole",
    [
        answer({"a": 1}),
        STREAM + chunks(b'{"a"', b":1}") + END,
        answer(gzip.compress(b'{"a": 1}'), headers=PACKED),
    ],
    ids=["plain", "chunks", "packed"],
)
def test_an_answer_may_be_cut_off_anywhere(whole: bytes) -> None:
    async def scenario() -> None:
        script = ScriptedServer(reply=lambda response: Cut(whole[: len(response.body)]))
        async with script, script.client() as client:
            for length in range(1, len(whole)):
                with pytest.raises(Unreachable):
                    await client.session.object(Request("POST", "/x", body=b"x" * length))
            await client.session.object(Request("POST", "/x", body=b"x" * len(whole)))

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))


@pytest.mark.parametrize("message", [silence, slowly, STREAM], ids=["nothing", "drops", "head"])
def test_a_slow_server_is_given_as_long_as_the_request_has(message: ScriptedReply) -> None:
    assert "time" in fault_of(message, timeout=0.2) or "within 0.2s" in fault_of(
        message, timeout=0.2
    )


def test_an_answer_that_does_not_end_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.client.session._MAX_BYTES", 100)
    assert "longer than 100 bytes" in fault_of(answer(b"x" * 101))


def test_an_answer_to_head_has_no_body_whatever_it_says() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n"
    assert body_of_reply(head, "HEAD", timeout=5.0) == b""


def test_more_than_was_asked_for_is_no_answer_to_the_next_question() -> None:
    async def scenario() -> bytes:
        script = ScriptedServer(answer(b"one") + answer(b"poison"), answer(b"two"))
        async with script, script.client() as client:
            await client.raw("GET", "/1")
            return await client.raw("GET", "/2")

    assert asyncio.run(scenario()) == b"two"


def test_connections_are_used_again_until_the_server_ends_them() -> None:
    async def scenario() -> list[int]:
        closing = answer(b"last", headers="Connection: close\r\n")
        script = ScriptedServer(answer(b""), answer(b""), closing, answer(b""))
        async with script, script.client() as client:
            for _ in range(4):
                await client.raw("GET", "/x")
            return [seen.connection for seen in script.seen]

    assert asyncio.run(scenario()) == [1, 1, 1, 2]


def test_a_body_that_is_left_unread_costs_its_connection_only() -> None:
    async def scenario() -> list[int]:
        script = ScriptedServer(STREAM + chunks(b"never read"), answer(b"next"))
        async with script, script.client() as client:
            async with client.session.open(Request("GET", "/x")):
                pass
            assert await client.raw("GET", "/x") == b"next"
            return [seen.connection for seen in script.seen]

    assert asyncio.run(scenario()) == [1, 2]


def test_a_request_that_is_cancelled_leaves_nothing_behind() -> None:
    async def scenario() -> bytes:
        script = ScriptedServer(silence, answer(b"next"))
        async with script, script.client() as client:
            task = asyncio.create_task(client.raw("GET", "/x"))
            await script.requested.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await client.raw("GET", "/x")

    assert asyncio.run(scenario()) == b"next"


def test_a_slow_reader_holds_the_server_back() -> None:
    written = 0

    async def much(writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(STREAM)
        while True:
            writer.write(chunks(b"x" * 100_000))
            await writer.drain()
            written += 100_000

    async def scenario() -> None:
        request = Request("GET", "/x")
        script = ScriptedServer(much)
        async with script, script.client() as client, client.session.open(request) as answered:
            before = -1
            while before != written:  # until it gets no further
                before = written
                await asyncio.sleep(0.1)
            stopped = written
            async for _ in answered.pieces():
                if written > stopped + 1_000_000:
                    break

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))


def test_many_requests_at_once_share_a_bounded_number_of_connections() -> None:
    async def later(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.01)
        writer.write(answer({"a": 1}))

    async def scenario() -> int:
        script = ScriptedServer(later)
        async with script, script.client() as client:
            requests = [client.session.json(Request("GET", f"/{at}")) for at in range(300)]
            assert all(item == {"a": 1} for item in await asyncio.gather(*requests))
            return script.connections

    assert 1 < asyncio.run(asyncio.wait_for(scenario(), PATIENCE)) <= 64


@pytest.mark.parametrize("body", [b"<html>", b"{", b"[1]", b"null", b"\xff\xfe"])
def test_an_answer_that_is_no_object_is_said_to_be_so(body: bytes) -> None:
    async def scenario() -> None:
        script = ScriptedServer(answer(body))
        async with script, script.client() as client:
            await client.session.object(Request("GET", "/x"))

    with pytest.raises(NotThisApi, match=r"not JSON|not an object"):
        asyncio.run(scenario())


@pytest.mark.parametrize("part", ["accept", "content_type"])
def test_headers_cannot_be_smuggled_in(part: str) -> None:
    with pytest.raises(AccessError, match="line breaks"):
        body_of_reply(answer(b""), "POST", **{part: "a\r\nX-Evil: 1"})


def test_a_path_cannot_break_the_line_of_the_request() -> None:
    script = ScriptedServer(answer(b""))

    async def scenario() -> None:
        async with script, script.client() as client:
            await client.raw("GET", "/a b\r\nc?d=e f&g=%20é")

    asyncio.run(scenario())
    assert script.seen[0].line == "GET /a%20b%0D%0Ac?d=e%20f&g=%20%C3%A9 HTTP/1.1"


def test_redirects_are_not_followed() -> None:
    script = ScriptedServer(answer(b"", 302, "Location: https://evil.example/\r\n"))
    with pytest.raises(ApiError, match=r"redirects to https://evil\.example/") as caught:
        asyncio.run(request_bytes(script))
    assert caught.value.code == 302
    assert len(script.seen) == 1


def test_a_server_that_is_not_there_is_named() -> None:
    async def scenario() -> str:
        async with ScriptedServer(answer(b"")) as script:
            response = script.client()
        with pytest.raises(Unreachable) as caught:
            await response.raw("GET", "/x")
        assert not caught.value.sent
        return str(caught.value)

    assert asyncio.run(scenario()).endswith("connect: connection refused")


class Proxy(ScriptedServer):
    """Opens tunnels to wherever one wants."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(reply=self._open, tls=tls)

    def _open(self, seen: SeenRequest) -> ScriptedReply:
        async def tunnel(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            host, _, port = seen.line.split()[1].rpartition(":")
            there, back = await asyncio.open_connection(host.strip("[]"), int(port))
            protocol: Any = writer.transport.get_protocol()
            reader = protocol._stream_reader  # the reader that belongs to the writer
            try:
                await asyncio.gather(_pumped(reader, back), _pumped(there, writer))
            finally:
                back.transport.abort()

        return tunnel


async def _pumped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


def test_a_proxy_is_asked_for_a_tunnel_with_its_credentials() -> None:
    async def scenario() -> tuple[bytes, SeenRequest]:
        async with Proxy() as proxy, ScriptedServer(answer(b"through")) as script:
            url = f"http://me:p%40ss@127.0.0.1:{proxy.port}"
            async with script.client(proxy=url) as client:
                content = await client.raw("GET", "/x")
            return content, proxy.seen[0]

    content, seen = asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    assert content == b"through"
    assert seen.line.startswith("CONNECT 127.0.0.1:")
    assert seen.headers["proxy-authorization"] == f"Basic {b64encode(b'me:p@ss').decode()}"


def test_tls_is_spoken_through_the_tunnel(kubernetes: Space) -> None:
    async def scenario() -> bytes:
        async with Proxy() as proxy:
            access = load_access(kubernetes.server.data / "admin.kubeconfig")
            through = access._replace(place=access.place._replace(proxy=proxy.url))
            async with Client(through) as client:
                return await client.raw("GET", "/livez")

    assert asyncio.run(asyncio.wait_for(scenario(), PATIENCE)) == b"ok"


def test_a_proxy_may_speak_tls_itself(kubernetes: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = kubernetes.server.data / "pki"
    monkeypatch.setenv("SSL_CERT_FILE", str(keys / "ca.crt"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(keys / "serving.crt", keys / "serving.key")

    async def scenario() -> bytes:
        async with Proxy(tls=context) as proxy:
            access = load_access(kubernetes.server.data / "admin.kubeconfig")
            place = access.place._replace(proxy=f"https://127.0.0.1:{proxy.port}")
            async with Client(access._replace(place=place)) as client:
                return await client.raw("GET", "/livez")

    assert asyncio.run(asyncio.wait_for(scenario(), PATIENCE)) == b"ok"


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (answer(b"", 407), "proxyconnect: the proxy answered 407"),
        (Cut(), "proxyconnect tcp: EOF"),
        (b"nonsense\r\n\r\n", "proxyconnect tcp: malformed HTTP response"),
    ],
)
def test_a_proxy_that_refuses_is_told_of(message: ScriptedReply, fault: str) -> None:
    async def scenario() -> None:
        script = ScriptedServer(answer(b""))
        async with (
            ScriptedServer(message) as proxy,
            script,
            script.client(proxy=proxy.url) as client,
        ):
            await client.raw("GET", "/x")

    with pytest.raises(Unreachable, match=fault):
        asyncio.run(asyncio.wait_for(scenario(), PATIENCE))


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("socks5://me:secret@127.0.0.1:1080", "SOCKS are not supported: 127.0.0.1:1080"),
        ("ftp://x", "not an http or https URL"),
        ("http://x:port", "not an http or https URL"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(url: str, fault: str) -> None:
    async def scenario() -> None:
        script = ScriptedServer(answer(b""))
        async with script, script.client(proxy=url) as client:
            await client.raw("GET", "/x")

    with pytest.raises(Unreachable, match=fault):
        asyncio.run(scenario())


def test_the_time_that_a_user_gives_covers_streams_too() -> None:
    async def scenario() -> None:
        script = ScriptedServer(slowly)
        async with script:
            config = ClientConfig(script.url)
            access = Access(config, FixedCredentials(config), timeout=0.2)
            request = Request("GET", "/x")
            async with Client(access) as client, client.session.open(request) as answered:
                async for _ in answered.pieces():
                    pass

    with pytest.raises(Unreachable, match="in time"):
        asyncio.run(asyncio.wait_for(scenario(), PATIENCE))


def test_warnings_of_the_server_are_passed_on() -> None:
    async def scenario() -> list[str]:
        warned: list[str] = []
        headers = 'Warning: 299 - "one, \\"two\\""\r\nWarning: 299 - "three"\r\n'
        script = ScriptedServer(answer(b"", headers=headers))
        async with script, script.client() as client:
            client.session.on_warning = warned.append
            await client.raw("GET", "/x")
        return warned

    assert asyncio.run(scenario()) == ['one, "two"', "three"]
