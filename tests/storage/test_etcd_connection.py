"""Calls to an etcd member: a grpcio server, and one that sends arbitrary frames."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from struct import pack
from typing import Any

import grpc
import pytest
from grpc import aio
from hpack import Encoder

from fairlead.storage.etcd.members import Member
from fairlead.storage.etcd.messages import RANGE
from fairlead.wire.grpc.channel import Trust
from fairlead.wire.grpc.failures import CallFailed
from fairlead.wire.grpc.http2 import (
    CONTINUATION,
    DATA,
    GOAWAY,
    HEADERS,
    PUSH,
    RESET,
    SETTINGS,
    STREAM_WINDOW,
    WINDOW,
    frame,
)

PATIENCE = 10.0


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await asyncio.wait_for(test(), 30)

    asyncio.run(main())


# Against grpcio: what it is asked says what it does.


class Handlers(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic in its stubs alone
    def service(self, details: Any) -> Any:
        if details.method == RANGE:
            return grpc.unary_unary_rpc_method_handler(self.answer)
        return grpc.stream_stream_rpc_method_handler(self.tell)

    async def answer(self, request: bytes, context: Any) -> bytes:
        word, _, rest = request.partition(b" ")
        if word == b"size":
            return b"x" * int(rest)
        if word == b"fail":
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, "é: 100 % gone")
        if word == b"hang":
            await asyncio.sleep(60)
        return b"%d" % len(request)

    async def tell(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async for request in requests:
            count, size = map(int, request.split())
            for number in range(count):
                yield b"%08d" % number + b"x" * size
            return


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[aio.Server, Member]]:
    server = aio.server(
        options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    )
    server.add_generic_rpc_handlers((Handlers(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    member = Member(f"http://127.0.0.1:{port}", Trust())
    try:
        yield server, member
    finally:
        await member.close()
        await server.stop(None)


@pytest.mark.parametrize("size", [0, 1, 16_384, 70_000, 3_000_000])
def test_grpc_messages_of_any_size_go_both_ways(size: int) -> None:
    async def test() -> None:
        async with serving() as (_, member):
            assert await member.call(RANGE, b"x" * size, PATIENCE) == b"%d" % size
            assert await member.call(RANGE, b"size %d" % size, PATIENCE) == b"x" * size

    run(test)


def test_grpc_messages_larger_than_the_flow_window_go_both_ways() -> None:
    async def test() -> None:
        async with serving() as (_, member):
            size = 2 * STREAM_WINDOW
            assert len(await member.call(RANGE, b"size %d" % size, PATIENCE)) == size

    run(test)


def test_grpc_calls_share_a_connection() -> None:
    async def test() -> None:
        async with serving() as (_, member):
            calls = [member.call(RANGE, b"x" * (n * 1000), PATIENCE) for n in range(200)]
            assert await asyncio.gather(*calls) == [b"%d" % (n * 1000) for n in range(200)]

    run(test)


def test_grpc_connection_without_stream_numbers_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.wire.grpc.http2._LAST_STREAM", 9)

    async def test() -> None:
        async with serving() as (_, member):
            for number in range(20):
                assert await member.call(RANGE, b"x" * number, PATIENCE) == b"%d" % number

    run(test)


def test_grpc_refusal_has_its_code_and_message() -> None:
    async def test() -> None:
        async with serving() as (_, member):
            with pytest.raises(CallFailed) as failed:
                await member.call(RANGE, b"fail", PATIENCE)
            assert (failed.value.code, failed.value.details) == ("OUT_OF_RANGE", "é: 100 % gone")
            assert await member.call(RANGE, b"good", PATIENCE) == b"4"

    run(test)


def test_grpc_call_times_out_and_the_next_one_does_not() -> None:
    async def test() -> None:
        async with serving() as (_, member):
            with pytest.raises(CallFailed) as failed:
                await member.call(RANGE, b"hang", 0.05)
            assert failed.value.code == "DEADLINE_EXCEEDED"
            cancelled = asyncio.create_task(member.call(RANGE, b"hang", PATIENCE))
            await asyncio.sleep(0)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            assert await member.call(RANGE, b"good", PATIENCE) == b"4"

    run(test)


def test_grpc_stream_gives_all_in_order_and_waits_for_its_reader() -> None:
    async def test() -> None:
        async with serving() as (_, member):
            count, size = 60, 1 << 20
            stream = await member.watch(b"%d %d" % (count, size), PATIENCE)
            await asyncio.sleep(0.2)  # as much as may come before the first is read
            assert await member.call(RANGE, b"good", PATIENCE) == b"4"
            for number in range(count):
                message = await stream.read()
                assert message[:8] == b"%08d" % number
                assert len(message) == size + 8
            with pytest.raises(CallFailed):
                await stream.read()

    run(test)


def test_grpc_goaway_lets_accepted_calls_finish() -> None:
    async def test() -> None:
        async with serving() as (server, member):
            slow = asyncio.create_task(member.call(RANGE, b"size 5000000", PATIENCE))
            await asyncio.sleep(0)
            await member.call(RANGE, b"good", PATIENCE)
            await server.stop(5)
            assert len(await slow) == 5_000_000
            with pytest.raises(CallFailed) as failed:
                await member.call(RANGE, b"good", 1.0)
            assert failed.value.is_away
            assert failed.value.is_unsent

    run(test)


# Against one that speaks as it likes.


def message(body: bytes) -> bytes:
    return pack(">BI", 0, len(body)) + body


def block(*headers: tuple[str, str]) -> bytes:
    return Encoder().encode(headers)


HELLO = frame(SETTINGS, 0, 0, b"")
BEGIN = block((":status", "200"), ("content-type", "application/grpc"))
GOOD = block(("grpc-status", "0"))


Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server_that(speak: Speak) -> AsyncIterator[Member]:
    handlers: set[asyncio.Task[Any]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handlers.add(task)
        try:
            await speak(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    member = Member(f"http://127.0.0.1:{port}", Trust())
    try:
        yield member
    finally:
        await member.close()
        await asyncio.wait(handlers)
        server.close()
        await asyncio.sleep(0)


def speaking(*answers: bytes, stays: bool = True) -> AbstractAsyncContextManager[Member]:
    """A server that answers the first bytes of each connection with these."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 16)
        for answer in answers:
            writer.write(answer)
            await writer.drain()
            await asyncio.sleep(0.001)
        if stays:
            with suppress(ConnectionError):
                await reader.read()

    return server_that(speak)


def test_http2_continuation_padding_and_unknown_frames_are_understood() -> None:
    async def test() -> None:
        padded = b"\x03" + message(b"answer") + b"\0\0\0"
        async with speaking(
            HELLO,
            frame(0xBB, 0xFF, 1, b"whatever"),
            frame(HEADERS, 0, 1, BEGIN[:4]),
            frame(CONTINUATION, 0x4, 1, BEGIN[4:]),
            frame(DATA, 0x8, 1, padded),
            frame(HEADERS, 0x4 | 0x1 | 0x20, 1, b"\0\0\0\0\0" + GOOD),
        ) as member:
            assert await member.call(RANGE, b"", PATIENCE) == b"answer"

    run(test)


def test_grpc_answer_that_comes_byte_by_byte_is_read_whole() -> None:
    async def test() -> None:
        whole = (
            HELLO
            + frame(HEADERS, 0x4, 1, BEGIN)
            + frame(DATA, 0, 1, message(b"answer"))
            + frame(HEADERS, 0x5, 1, GOOD)
        )
        async with speaking(*(whole[at : at + 1] for at in range(len(whole)))) as member:
            assert await member.call(RANGE, b"", PATIENCE) == b"answer"

    run(test)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" + b"x" * 300,
        HELLO + frame(HEADERS, 0x5, 1, b"\xff\xff\xff\xff\xff\xff"),
        HELLO + frame(HEADERS, 0, 1, BEGIN) + frame(DATA, 0, 1, b""),
        HELLO + frame(HEADERS, 0x4, 1, BEGIN) + frame(DATA, 0, 1, b"\x01\0\0\0\0"),
        HELLO + frame(HEADERS, 0xC, 1, b""),
        HELLO + frame(WINDOW, 0, 0, b"\0"),
        HELLO + frame(PUSH, 0x4, 1, b"\0\0\0\x02"),
        HELLO + frame(HEADERS, 0x5, 1, block((":status", "503"))),
        HELLO + frame(HEADERS, 0x4, 1, block((":status", "404"))),
        HELLO + frame(HEADERS, 0x5, 1, block((":status", "200"), ("grpc-status", "x"))),
        HELLO + frame(HEADERS, 0x5, 1, GOOD),
        HELLO + frame(RESET, 0, 1, b"\0\0\0\x02"),
    ],
)
def test_grpc_call_with_a_malformed_answer_fails_and_does_not_count_as_unsent(
    answer: bytes,
) -> None:
    async def test() -> None:
        async with speaking(answer) as member:
            with pytest.raises(CallFailed) as failed:
                await member.call(RANGE, b"", PATIENCE)
            assert not failed.value.is_unsent

    run(test)


@pytest.mark.parametrize(
    "answer",
    [
        frame(GOAWAY, 0, 0, b"\0\0\0\0\0\0\0\0"),
        frame(RESET, 0, 1, b"\0\0\0\x07"),
    ],
)
def test_grpc_call_that_the_server_did_not_take_counts_as_unsent(answer: bytes) -> None:
    async def test() -> None:
        async with speaking(HELLO + answer) as member:
            with pytest.raises(CallFailed) as failed:
                await member.call(RANGE, b"", PATIENCE)
            assert failed.value.is_unsent

    run(test)


def test_grpc_connection_that_ends_fails_its_calls_and_the_next_call_reconnects() -> None:
    async def test() -> None:
        async with speaking(HELLO, stays=False) as member:
            for _ in range(2):
                with pytest.raises(CallFailed) as failed:
                    await member.call(RANGE, b"", PATIENCE)
                assert failed.value.is_away

    run(test)


def test_grpc_sends_no_more_than_the_flow_window_allows() -> None:
    async def test() -> None:
        sent: list[int] = []

        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(24)
            writer.write(frame(SETTINGS, 0, 0, pack(">HI", 4, 1000)))
            await _data(reader, 1, 5)
            writer.write(good(1))
            for allowed, grant in ((1000, 500), (1500, 70_000), (5005, 0)):
                sent.append(await _data(reader, 3, allowed - sum(sent)))
                if grant:
                    with pytest.raises(TimeoutError):
                        await asyncio.wait_for(reader.readexactly(1), 0.05)
                    writer.write(frame(WINDOW, 0, 3, pack(">I", grant)))
            writer.write(good(3))

        def good(number: int) -> bytes:
            begun = frame(HEADERS, 0x4, number, BEGIN) + frame(DATA, 0, number, message(b"ok"))
            return begun + frame(HEADERS, 0x5, number, GOOD)

        async with server_that(speak) as member:
            assert await member.call(RANGE, b"", PATIENCE) == b"ok"
            assert await member.call(RANGE, b"x" * 5000, PATIENCE) == b"ok"
        assert sent == [1000, 500, 3505]

    run(test)


async def _data(reader: asyncio.StreamReader, number: int, enough: int) -> int:
    """How much comes in data frames of a stream until it is enough."""
    total = 0
    while total < enough:
        head = await reader.readexactly(9)
        body = await reader.readexactly(int.from_bytes(head[:3], "big"))
        if head[3] == DATA and int.from_bytes(head[5:], "big") == number:
            total += len(body)
    return total
