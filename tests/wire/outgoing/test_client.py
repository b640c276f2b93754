"""The policy of outgoing calls, against servers that send raw bytes."""

from __future__ import annotations

import asyncio
import gzip
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from support.scripted import ScriptedServer
from support.scripted import answer as scripted

from fairlead.wire.outgoing.client import HttpClient
from fairlead.wire.outgoing.request import Request
from fairlead.wire.outgoing.response import CallError, Response
from fairlead.wire.outgoing.tls import unchecked

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def call(answer: Answering, *, times: int = 1, **options: Any) -> list[Response]:
    """Return the result of a call to a server with this answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        finally:
            writer.close()

    async def run() -> list[Response]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = HttpClient()
        arguments = {"timeout": 5.0, **options}
        request = Request("GET", f"http://127.0.0.1:{port}/x")
        try:
            return [await client.call(request, **arguments) for _ in range(times)]
        finally:
            await client.close()
            server.close()

    return asyncio.run(run())


async def head_of(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


def test_an_answer_in_many_segments_is_read_whole() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        for part in (b"HTTP/1.1 200 OK\r\nContent-Le", b"ngth: 9\r\n\r\n", b"one", b"two", b"six"):
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.02)

    assert call(answer) == [Response(200, b"onetwosix")]


def test_an_answer_that_ends_too_early_is_an_error() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none")

    with pytest.raises(CallError, match="unexpected EOF") as raised:
        call(answer)
    assert raised.value.retryable


@pytest.mark.parametrize("length", [b"Content-Length: 5000\r\n", b""])
def test_an_answer_may_not_be_longer_than_agreed(length: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n" + b"x" * 5000)

    with pytest.raises(CallError, match="longer than 4999 bytes"):
        call(answer, max_bytes=4999)
    assert call(answer, max_bytes=5000) == [Response(200, b"x" * 5000)]


def test_a_packed_answer_is_measured_unpacked() -> None:
    packed = gzip.compress(bytes(50_000_000))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(packed) + packed)

    with pytest.raises(CallError, match="longer than"):
        call(answer, max_bytes=1_000_000)


def test_an_answer_that_drips_ends_with_the_time() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
        for _ in range(9):
            writer.write(b"x")
            await asyncio.sleep(1)

    with pytest.raises(CallError, match=r"no answer within 0\.3s") as raised:
        call(answer, timeout=0.3)
    assert raised.value.retryable


def test_redirects_are_answers() -> None:
    requests = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await head_of(reader))
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n")

    assert call(answer) == [Response(302, b"")]
    assert len(requests) == 1


def test_connections_are_used_again_and_cookies_are_not_kept() -> None:
    connections = []
    heads = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        for _ in range(3):
            heads.append(await head_of(reader))
            writer.write(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nok")

    assert call(answer, times=3) == [Response(200, b"ok")] * 3
    assert len(connections) == 1
    assert not any(b"cookie" in head.lower() for head in heads)


@pytest.mark.parametrize("message", [b"nonsense\r\n\r\n", b"HTTP/1.1 999999 x\r\n\r\n", b""])
def test_what_is_not_http_is_an_error(message: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(message)

    with pytest.raises(CallError):
        call(answer)


def through_proxy(proxy: ScriptedServer, url: str, credentials: str = "") -> Response:
    """The response to a GET of a URL through a proxy."""

    async def run() -> Response:
        async with proxy:
            way = f"http://{credentials}127.0.0.1:{proxy.port}"
            client = HttpClient(proxy_for=lambda _: way)
            try:
                return await client.call(Request("GET", url, tls=unchecked()), timeout=5.0)
            finally:
                await client.close()

    return asyncio.run(run())


def test_a_proxy_is_asked_for_plain_urls_itself() -> None:
    proxy = ScriptedServer(scripted(b"through"))
    response = through_proxy(proxy, "http://other.example:81/a?b=c", "me:p%40ss@")
    assert response == Response(200, b"through")
    seen = proxy.seen[0]
    assert seen.line == "GET http://other.example:81/a?b=c HTTP/1.1"
    assert seen.headers["host"] == "other.example:81"
    assert seen.headers["proxy-authorization"] == f"Basic {b64encode(b'me:p@ss').decode()}"


def test_a_proxy_is_asked_for_a_tunnel_to_https_urls() -> None:
    proxy = ScriptedServer(scripted(b"", 403))
    with pytest.raises(CallError, match="proxyconnect: the proxy answered 403"):
        through_proxy(proxy, "https://other.example/a")
    assert proxy.seen[0].line == "CONNECT other.example:443 HTTP/1.1"


@pytest.mark.parametrize(
    ("url", "value"),
    [
        ("http://127.0.0.1:1/", "a\r\nX-Evil: 1"),
        ("ftp://127.0.0.1/", ""),
        ("http://", ""),
        ("http://127.0.0.1:port/", ""),
    ],
)
def test_a_request_that_cannot_be_encoded_is_not_sent(url: str, value: str) -> None:
    async def run() -> None:
        await HttpClient().call(Request("GET", url, {"x": value}), timeout=5.0)

    with pytest.raises(CallError, match="the request cannot be sent"):
        asyncio.run(run())


def test_a_get_is_repeated_if_its_kept_connection_is_lost() -> None:
    requests = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await head_of(reader))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        requests.append(await head_of(reader))  # and closes

    assert call(answer, times=2) == [Response(200, b"ok")] * 2
    assert len(requests) == 3


def test_a_connection_that_is_idle_for_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.wire.outgoing.pool._SECONDS_IDLE", 0.01)

    async def run() -> bytes:
        closed = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await head_of(reader)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            closed.set_result(await reader.read())
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = HttpClient()
        await client.call(Request("GET", f"http://127.0.0.1:{port}/"), timeout=5.0)
        end: bytes = await asyncio.wait_for(closed, 10)
        await client.close()
        server.close()
        return end

    assert asyncio.run(run()) == b""
