"""Connection pooling, against servers with odd answers."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairlead.process.certificates.authority import ensure_pki
from fairlead.wire.outgoing.response import MAX_RESPONSE_BYTES, CallError
from fairlead.wire.outgoing.webhooks import MAX_CALLS, Webhooks

Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, str]:
    """The TLS settings of a server, and the trust of its client."""
    pki = ensure_pki(tmp_path_factory.mktemp("pki"), ["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.serving.certificate, pki.serving.key)
    return context, base64.b64encode(pki.ca.certificate.read_bytes()).decode()


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return await reader.readexactly(length)


class Talk:
    """A webhook and a server with scripted answers; `connections` counts accepted connections."""

    def __init__(self, certificates: tuple[ssl.SSLContext, str], speak: Speak) -> None:
        self._tls, self._bundle = certificates
        self._speak = speak
        self.connections = 0

    def run(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            try:
                await self._speak(reader, writer)
            except (asyncio.IncompleteReadError, OSError):
                pass
            finally:
                writer.close()

        async def main() -> Any:
            server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=self._tls)
            port = server.sockets[0].getsockname()[1]
            webhooks = Webhooks(lambda key, namespace, name: None)
            config = {"url": f"https://127.0.0.1:{port}/x", "caBundle": self._bundle}
            try:
                return await work(webhooks.webhook(config))
            finally:
                await webhooks.close()
                server.close()

        return asyncio.run(main())

    def post(self, times: int = 1, timeout: float = 5.0) -> list[bytes]:
        async def work(webhook: Any) -> list[bytes]:
            return [await webhook.post(b"{}", timeout) for _ in range(times)]

        chunks: list[bytes] = self.run(work)
        return chunks


def _pieces(*pieces: bytes, times: int = 1) -> Speak:
    """Send an answer in pieces, each after the previous one was read."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(times):
            await _request(reader)
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.005)

    return speak


@pytest.mark.parametrize(
    "pieces",
    [
        (OK + b"Content-Length: 5\r\n\r\nhello",),
        (OK + b"Content-Length: 5\r\n\r\nhe", b"llo"),
        (OK, b"Content-Length: 5\r\n", b"\r\n", b"h", b"ello"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n", b"3\r\nllo\r\n0\r\n\r\n"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", OK + b"Content-Length: 5\r\n\r\nhello"),
        (OK + b"\r\nhel", b"lo"),  # ends with the connection
        (b"HTTP/1.0 200 OK\r\n\r\nhello",),
    ],
    ids=["whole", "two", "many", "chunked", "continue", "until the end", "old"],
)
def test_an_answer_is_read_whole(certificates: Any, pieces: tuple[bytes, ...]) -> None:
    assert Talk(certificates, _pieces(*pieces)).post() == [b"hello"]


def test_a_connection_serves_many_calls(certificates: Any) -> None:
    talk = Talk(certificates, _pieces(OK + b"Content-Length: 2\r\n\r\nok", times=10))
    assert talk.post(10) == [b"ok"] * 10
    assert talk.connections == 1


def test_a_connection_that_the_server_ends_is_not_used_again(certificates: Any) -> None:
    answer = OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nok"
    talk = Talk(certificates, _pieces(answer))
    assert talk.post(3) == [b"ok"] * 3
    assert talk.connections == 3


def test_a_connection_that_ended_while_it_was_idle_is_made_anew(certificates: Any) -> None:
    ended = asyncio.Queue[bool]()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(OK + b"Content-Length: 2\r\n\r\nok")
        await writer.drain()
        writer.transport.abort()
        ended.put_nowait(True)

    async def work(webhook: Any) -> list[bytes]:
        results = []
        for _ in range(3):
            results.append(await webhook.post(b"{}", 5.0))
            await ended.get()  # the loop has not read the end of the connection yet
        return results

    talk = Talk(certificates, speak)
    assert talk.run(work) == [b"ok"] * 3
    assert talk.connections == 3


def test_what_the_other_side_may_have_read_is_not_sent_again(certificates: Any) -> None:
    seen: list[bytes] = []

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await _request(reader))
        writer.write(OK + b"Content-Length: 2\r\n\r\nok")
        seen.append(await _request(reader))  # and closes

    async def work(webhook: Any) -> None:
        assert await webhook.post(b"first", 5.0) == b"ok"
        with pytest.raises(CallError, match=r"timeout=5s\": EOF$"):
            await webhook.post(b"second", 5.0)

    Talk(certificates, speak).run(work)
    assert seen == [b"first", b"second"]


@pytest.mark.parametrize(
    ("pieces", "why"),
    [
        ((), "EOF"),
        ((OK + b"Content-Length: 50\r\n\r\nhalf",), "unexpected EOF"),
        ((OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n",), "unexpected EOF"),
        ((b"SSH-2.0-OpenSSH\r\n",), "malformed HTTP response"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",), "malformed HTTP response"),
    ],
    ids=["nothing", "half", "half a chunk", "no HTTP", "bad length"],
)
def test_an_answer_that_is_none_fails(
    certificates: Any, pieces: tuple[bytes, ...], why: str
) -> None:
    with pytest.raises(CallError, match=rf'Post "https://127.0.0.1:\d+/x\?timeout=5s": .*({why})'):
        Talk(certificates, _pieces(*pieces)).post()


def test_an_answer_without_end_is_not_kept(certificates: Any) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(OK + b"\r\n")
        for _ in range(MAX_RESPONSE_BYTES // 65536 + 64):
            writer.write(b"x" * 65536)
            await writer.drain()

    with pytest.raises(CallError, match="the answer is longer than"):
        Talk(certificates, speak).post(timeout=20.0)


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (OK + b"X: ", b"x"),
        (OK, b"X: y\r\n"),
        (b"HTTP/1.1 200 ", b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5;", b"x"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"x"),
    ],
    ids=["field", "fields", "status", "continue", "chunk", "trailer"],
)
def test_what_goes_on_and_on_without_content_is_cut_off(
    certificates: Any, begin: bytes, more: bytes
) -> None:
    cut_off = asyncio.Event()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(begin)
        try:
            while not writer.is_closing():
                writer.write(more * (60_000 // len(more)))
                await writer.drain()
        finally:
            cut_off.set()

    async def work(webhook: Any) -> None:
        too_much = "the head of the answer is too long|the answer has too much beside its content"
        with pytest.raises(CallError, match=too_much):
            await webhook.post(b"{}", 20.0)
        await asyncio.wait_for(cut_off.wait(), 10)

    Talk(certificates, speak).run(work)


def test_who_goes_on_sending_when_the_call_is_given_up_is_cut_off(certificates: Any) -> None:
    cut_off = asyncio.Event()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(OK + b"Content-Length: 100000000\r\n\r\n")
        try:
            while not writer.is_closing():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            cut_off.set()

    async def work(webhook: Any) -> None:
        with pytest.raises(CallError, match="context deadline exceeded"):
            await webhook.post(b"{}", 0.2)
        await asyncio.wait_for(cut_off.wait(), 10)

    Talk(certificates, speak).run(work)


def test_many_small_chunks_are_one_answer(certificates: Any) -> None:
    chunks = b"2\r\nab\r\n" * 100_000
    answer = OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    assert Talk(certificates, _pieces(answer)).post() == [b"ab" * 100_000]


@pytest.mark.parametrize("behind", [b"forged", b"for"], ids=["whole", "half"])
def test_an_answer_behind_the_answer_is_nobodys(certificates: Any, behind: bytes) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            body = await _request(reader)
            request = OK + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
            writer.write(request + OK + b"Content-Length: 6\r\n\r\n" + behind)

    async def work(webhook: Any) -> list[bytes]:
        return [await webhook.post(body, 5.0) for body in (b"first", b"second", b"third")]

    assert Talk(certificates, speak).run(work) == [b"first", b"second", b"third"]


def test_a_drop_at_a_time_does_not_put_the_deadline_off(certificates: Any) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(OK + b"Content-Length: 100000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    with pytest.raises(CallError, match="context deadline exceeded"):
        Talk(certificates, speak).post(timeout=0.3)


def test_an_answer_that_comes_too_late_is_nobodys(certificates: Any) -> None:
    """The connection of a call that timed out is not reused."""
    calls = iter([0.5, 0.0])

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            body = await _request(reader)
            await asyncio.sleep(next(calls))
            writer.write(OK + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def work(webhook: Any) -> bytes:
        with pytest.raises(CallError):
            await webhook.post(b"first", 0.2)
        answer: bytes = await webhook.post(b"second", 5.0)
        return answer

    assert Talk(certificates, speak).run(work) == b"second"


def test_bytes_that_nobody_asked_for_end_the_connection(certificates: Any) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = await _request(reader)
        writer.write(OK + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.write(OK + b"Content-Length: 6\r\n\r\nforged")
        await writer.drain()
        await _request(reader)

    async def work(webhook: Any) -> list[bytes]:
        results = []
        for body in (b"first", b"second", b"third"):
            results.append(await webhook.post(body, 5.0))
            await asyncio.sleep(0.05)
        return results

    assert Talk(certificates, speak).run(work) == [b"first", b"second", b"third"]


def test_a_webhook_has_only_so_many_connections(certificates: Any) -> None:
    released, full = asyncio.Event(), asyncio.Barrier(MAX_CALLS + 1)

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await _request(reader)
            if not released.is_set():
                await full.wait()
            await released.wait()
            writer.write(OK + b"Content-Length: 2\r\n\r\nok")

    talk = Talk(certificates, speak)

    async def work(webhook: Any) -> list[bytes]:
        calls = [asyncio.create_task(webhook.post(b"{}", 30.0)) for _ in range(MAX_CALLS + 10)]
        await full.wait()
        released.set()
        answers: list[bytes] = await asyncio.gather(*calls)
        return answers

    assert talk.run(work) == [b"ok"] * (MAX_CALLS + 10)
    assert talk.connections == MAX_CALLS


def _silent(arrived: asyncio.Queue[bool]) -> Speak:
    """Reads and never answers."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        arrived.put_nowait(True)
        await reader.read()

    return speak


def test_a_call_that_waits_for_a_place_has_all_of_its_time_then(certificates: Any) -> None:
    arrived, released = asyncio.Queue[bool](), asyncio.Event()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await _request(reader)
            arrived.put_nowait(True)
            await released.wait()
            writer.write(OK + b"Content-Length: 2\r\n\r\nok")

    async def work(webhook: Any) -> bytes:
        calls = [asyncio.create_task(webhook.post(b"{}", 60.0)) for _ in range(MAX_CALLS)]
        for _ in range(MAX_CALLS):
            await arrived.get()
        one_more = asyncio.create_task(webhook.post(b"{}", 2.0))
        await asyncio.wait([one_more], timeout=2.5)  # longer than it may take itself
        released.set()
        await asyncio.gather(*calls)
        data: bytes = await one_more
        return data

    assert Talk(certificates, speak).run(work) == b"ok"


def test_calls_that_run_out_of_time_together_all_say_so(certificates: Any) -> None:
    """Waiting calls get the slots of calls that time out at the same moment."""
    arrived = asyncio.Queue[bool]()

    async def work(webhook: Any) -> list[Any]:
        calls = [webhook.post(b"{}", 0.5) for _ in range(MAX_CALLS * 2 + 10)]
        return await asyncio.gather(*calls, return_exceptions=True)

    failures = Talk(certificates, _silent(arrived)).run(work)
    assert {type(failure) for failure in failures} == {CallError}
    assert all(str(failure).endswith("context deadline exceeded") for failure in failures)


def test_a_place_is_waited_for_as_long_as_the_request_may_take(certificates: Any) -> None:
    arrived = asyncio.Queue[bool]()

    async def work(webhook: Any) -> None:
        calls = [asyncio.create_task(webhook.post(b"{}", 60.0)) for _ in range(MAX_CALLS)]
        for _ in range(MAX_CALLS):
            await arrived.get()
        late = asyncio.get_running_loop().time() + 1.2
        with pytest.raises(CallError, match="context deadline exceeded"):
            await webhook.post(b"{}", 60.0, late)
        assert asyncio.get_running_loop().time() < late  # it has time left to go on
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    Talk(certificates, _silent(arrived)).run(work)
    assert arrived.empty()


def test_a_call_that_is_given_up_leaves_its_place(certificates: Any) -> None:
    arrived = asyncio.Queue[bool]()

    async def work(webhook: Any) -> None:
        for _ in range(2):
            calls = [asyncio.create_task(webhook.post(b"{}", 60.0)) for _ in range(MAX_CALLS + 9)]
            for _ in range(MAX_CALLS):
                await arrived.get()
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    Talk(certificates, _silent(arrived)).run(work)
    assert arrived.empty()


def test_a_server_without_tls_is_named_as_such() -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(10)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        webhooks = Webhooks(lambda key, namespace, name: None)
        with pytest.raises(CallError, match="server gave HTTP response to HTTPS client"):
            await webhooks.webhook({"url": f"https://127.0.0.1:{port}/"}).post(b"{}", 5.0)
        await webhooks.close()
        server.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("localhost", r"dial tcp (127\.0\.0\.1|\[::1\]):1: connect: connection refused"),
        ("no-such-host.invalid", r"dial tcp: lookup no-such-host\.invalid: no such host"),
    ],
)
def test_a_place_that_cannot_be_reached_is_named(host: str, why: str) -> None:
    async def main() -> None:
        webhooks = Webhooks(lambda key, namespace, name: None)
        with pytest.raises(CallError, match=why):
            await webhooks.webhook({"url": f"https://{host}:1/"}).post(b"{}", 5.0)
        await webhooks.close()

    asyncio.run(main())
