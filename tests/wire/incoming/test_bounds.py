"""Limits of a connection, each on a server with small limits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest
from support.waiting import comes_true

from fairlead.wire.incoming.connections import Connections
from fairlead.wire.incoming.exchange import BodyTooLarge, Exchange
from fairlead.wire.incoming.limits import KIB, MIB, Limits, TooManyBodies, UnreadOutput
from fairlead.wire.incoming.protocol import HttpProtocol
from fairlead.wire.incoming.transfer import read_body, respond_in_pieces, send

Work = Callable[[Exchange], Awaitable[None]]
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
MORE_THAN_BUFFERS_HOLD = 64 * MIB  # of the two sockets between a client and the server


class Small:
    """A server with small limits, and the requests that it received."""

    def __init__(self, connections: Connections, port: int) -> None:
        self.connections = connections
        self.port = port

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=64 * KIB)
        sock: socket.socket = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * KIB)
        try:
            yield Client(reader, writer)
        finally:
            writer.transport.abort()
            await asyncio.sleep(0)  # it is closed behind this

    @property
    def unread(self) -> int:
        """Bytes that all connections hold because they are not read."""
        return self.connections.unread_output.total

    async def is_rid_of_it(self) -> None:
        await comes_true(lambda: not len(self.connections), "the connection is given up")


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def pause_reading(self) -> None:
        transport = self.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()

    @property
    def unsent(self) -> int:
        """Bytes that the server's side has not taken."""
        return self.writer.transport.get_write_buffer_size()

    async def head(self) -> bytes:
        return await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 20)

    async def answer(self) -> bytes:
        """The head and body of an answer."""
        head = await self.head()
        [length] = [
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ]
        return head + await asyncio.wait_for(self.reader.readexactly(length), 20)

    async def is_cut_off(self, *, sending: bytes = b"") -> bool:
        """Whether the server ends the connection, whatever is sent to it meanwhile."""
        with suppress(ConnectionError):
            for _ in range(MORE_THAN_BUFFERS_HOLD // (len(sending) or 1) if sending else 0):
                self.send(sending)
                await asyncio.wait_for(self.writer.drain(), 5)
            else:
                if sending:
                    return False
            return not await asyncio.wait_for(self.reader.read(), 20)
        return True


def at(limits: Limits, work: Work, test: Callable[[Small], Awaitable[None]]) -> None:
    """Run a test at a server that answers with `work`."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        connections = Connections(limits, work)

        def protocol() -> Any:  # one by its methods alone: it inherits from none of asyncio's
            return HttpProtocol(connections, loop)

        server = await loop.create_server(protocol, "127.0.0.1", 0)
        looking = asyncio.create_task(connections.enforce_deadlines())
        try:
            await asyncio.wait_for(test(Small(connections, server.sockets[0].getsockname()[1])), 60)
        finally:
            looking.cancel()
            server.close()
            hurry = asyncio.Event()
            hurry.set()
            await connections.drain(0, hurry)
            await asyncio.sleep(0)

    asyncio.run(main())


async def a_while() -> None:
    """As many turns of the loop as it would take to move everything, if nothing held it up."""
    for _ in range(1000):
        await asyncio.sleep(0)


async def answer_at_once(exchange: Exchange) -> None:
    exchange.respond(200, [], b"ok")


async def read_all(exchange: Exchange) -> None:
    try:
        body = await read_body(exchange)
    except BodyTooLarge:
        exchange.respond(413, [], b"")
    else:
        exchange.respond(200, [], b"%d" % len(body))


class TestChunks:
    LIMITS = Limits(head_bytes=1 * KIB, chunk_overhead_bytes=1 * KIB)

    def test_a_body_of_many_small_chunks_is_read(self) -> None:
        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(CHUNKED + b"1\r\nx\r\n" * 5000 + b"0\r\n\r\n")
                assert (await client.answer()).endswith(b"\r\n\r\n5000")

        at(self.LIMITS, read_all, test)

    @pytest.mark.parametrize("before", [b"", b"1\r\nx\r\n", b"1\r\nx\r\n" * 100])
    @pytest.mark.parametrize("waste", [b"1;%b\r\n", b"0\r\nA: %b\r\n"])
    def test_chunk_extensions_and_trailers_beyond_the_bound_are_refused(
        self, before: bytes, waste: bytes
    ) -> None:
        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(CHUNKED + before + waste % (b"e" * 8000))
                answer = await client.head()
                assert answer.startswith(b"HTTP/1.1 400 ")

        at(self.LIMITS, read_all, test)


class TestPipelining:
    def test_pipelining_client_that_does_not_read_gets_no_further_answers(self) -> None:
        count, size = 64, 1 * MIB
        answered = 0

        async def work(exchange: Exchange) -> None:
            nonlocal answered
            answered += 1
            exchange.respond(200, [], b"x" * size)

        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(GET * count)
                await comes_true(lambda: answered > 0, "the first is answered")
                await a_while()
                assert answered < count // 2
                for _ in range(count):
                    assert len(await client.answer()) > size
                assert answered == count

        at(Limits(unread_bytes=64 * KIB), work, test)

    def test_pipelined_bytes_behind_a_request_that_is_being_answered_are_bounded(self) -> None:
        goes_on = asyncio.Event()

        async def work(exchange: Exchange) -> None:
            await goes_on.wait()
            exchange.respond(200, [], b"ok")

        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(GET + GET)
                client.send(b"x" * MORE_THAN_BUFFERS_HOLD)
                await a_while()
                assert client.unsent
                goes_on.set()
                assert (await client.answer()).startswith(b"HTTP/1.1 200 ")

        at(Limits(), work, test)


class TestBodies:
    def test_body_is_buffered_only_a_little_before_it_is_read(self) -> None:
        goes_on = asyncio.Event()

        async def work(exchange: Exchange) -> None:
            await goes_on.wait()
            await read_all(exchange)

        async def test(small: Small) -> None:
            size = MORE_THAN_BUFFERS_HOLD
            async with small.client() as client:
                client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
                client.send(b"x" * size)
                await a_while()
                assert client.unsent
                goes_on.set()
                assert (await client.answer()).endswith(b"\r\n\r\n%d" % size)

        at(Limits(body_bytes=MORE_THAN_BUFFERS_HOLD), work, test)

    def test_chunked_body_that_is_too_large_is_not_kept(self) -> None:
        numbers: list[int] = []

        async def work(exchange: Exchange) -> None:
            with suppress(BodyTooLarge):
                await read_body(exchange)
            numbers.append(sum(map(len, exchange.parts)))
            exchange.respond(413, [], b"")

        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(CHUNKED + b"400\r\n" + b"x" * 1024 + b"\r\n" + b"1\r\nx\r\n")
                assert (await client.head()).startswith(b"HTTP/1.1 413 ")

        at(Limits(body_bytes=1024), work, test)
        assert numbers == [0]

    @pytest.mark.parametrize(("size", "stays"), [(1000, True), (1001, False)])
    def test_unread_body_is_drained_only_a_little_after_the_answer(
        self, size: int, stays: bool
    ) -> None:
        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
                assert (b"connection: close" in await client.answer()) == (not stays)
                client.send(b"x" * size)
                if stays:
                    client.send(GET)
                    assert (await client.answer()).endswith(b"ok")
                else:
                    assert await client.is_cut_off()

        at(Limits(skipped_body_bytes=1000), answer_at_once, test)

    def test_body_that_never_ends_is_given_up(self) -> None:
        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
                await client.answer()
                await small.is_rid_of_it()

        at(Limits(head_seconds=0.2), answer_at_once, test)


class TestLingering:
    def test_a_client_that_sends_on_after_a_refusal_sees_it(self) -> None:
        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(b"\0\r\n\r\n" + b"x" * 50_000)
                assert (await client.head()).startswith(b"HTTP/1.1 400 ")

        at(Limits(linger_bytes=100_000), answer_at_once, test)

    def test_a_client_that_never_stops_after_a_refusal_is_cut_off(self) -> None:
        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(b"\0\r\n\r\n")
                assert (await client.head()).startswith(b"HTTP/1.1 400 ")
                assert await client.is_cut_off(sending=b"x" * 64 * KIB)

        at(Limits(linger_bytes=100_000), answer_at_once, test)

    def test_a_client_that_stays_after_a_refusal_is_given_up(self) -> None:
        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(b"\0\r\n\r\n")
                assert (await client.head()).startswith(b"HTTP/1.1 400 ")
                await small.is_rid_of_it()

        at(Limits(linger_seconds=0.2), answer_at_once, test)


class TestConnections:
    def test_connections_are_bounded_and_one_that_ends_makes_room(self) -> None:
        async def test(small: Small) -> None:
            async with small.client() as first:
                first.send(GET)
                await first.answer()
                async with small.client() as second:
                    assert await second.is_cut_off()
            await small.is_rid_of_it()
            async with small.client() as third:
                third.send(GET)
                assert (await third.answer()).endswith(b"ok")

        at(Limits(connections=1), answer_at_once, test)

    @pytest.mark.parametrize("reads", [GET, GET.replace(b"GET", b"POST")])
    def test_connection_whose_handler_sends_no_answer_is_cut_off(self, reads: bytes) -> None:
        async def work(exchange: Exchange) -> None:
            pass

        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(reads)
                assert await client.is_cut_off()

        at(Limits(), work, test)

    def test_connection_that_does_not_read_an_answer_for_long_is_cut_off(self) -> None:
        async def work(exchange: Exchange) -> None:
            await respond_in_pieces(exchange, 200, [], b"x" * MORE_THAN_BUFFERS_HOLD)

        async def test(small: Small) -> None:
            async with small.client() as client:
                client.pause_reading()
                client.send(GET)
                await comes_true(lambda: len(small.connections) == 1, "it is connected")
                await small.is_rid_of_it()

        at(Limits(unread_seconds=0.2, unread_bytes=64 * KIB), work, test)

    def test_streamed_pieces_are_sent_no_faster_than_the_client_reads(self) -> None:
        sent = 0

        async def work(exchange: Exchange) -> None:
            nonlocal sent
            exchange.start(200, [], MORE_THAN_BUFFERS_HOLD)
            for _ in range(MORE_THAN_BUFFERS_HOLD // MIB):
                await send(exchange, b"x" * MIB)
                sent += 1
            exchange.end()

        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(GET)
                await client.head()
                await a_while()
                assert sent < MORE_THAN_BUFFERS_HOLD // MIB // 2
                assert len(await client.reader.readexactly(MORE_THAN_BUFFERS_HOLD)) > 0
                assert sent == MORE_THAN_BUFFERS_HOLD // MIB

        at(Limits(unread_bytes=64 * KIB), work, test)

    def test_work_for_a_client_that_left_in_the_middle_of_its_body_ends(self) -> None:
        ended = asyncio.Event()

        async def work(exchange: Exchange) -> None:
            try:
                await read_body(exchange)
            finally:
                ended.set()

        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx")
                await comes_true(lambda: len(small.connections) == 1, "it is connected")
            await asyncio.wait_for(ended.wait(), 20)

        at(Limits(), work, test)


def asked_by(exchange: Exchange) -> str:
    """Return the user, like an application that authenticates."""
    owner = exchange.head.path.removeprefix("/")
    exchange.set_owner(owner)
    return owner


def get_as(owner: str) -> bytes:
    return GET.replace(b"/", b"/" + owner.encode(), 1)


class Unread:
    """A connection that holds something."""

    def __init__(self, owner: str, unread: int) -> None:
        self.owner = owner
        self.unread = unread
        self.is_cut_off = False

    def abort_soon(self) -> None:
        self.is_cut_off = True


class TestUnreadAnswersOfAll:
    LIMITS = Limits(unread_bytes_in_all=2 * MIB)

    @staticmethod
    async def send_pieces(exchange: Exchange) -> None:
        asked_by(exchange)
        exchange.start(200, [], MORE_THAN_BUFFERS_HOLD)
        for _ in range(MORE_THAN_BUFFERS_HOLD // (256 * KIB)):
            await send(exchange, b"x" * 256 * KIB)
        exchange.end()

    def test_unread_answers_are_bounded_and_the_largest_is_cut_off(self) -> None:
        async def test(small: Small) -> None:
            async with AsyncExitStack() as stack:
                modest = await stack.enter_async_context(small.client())
                modest.send(get_as("modest"))
                await modest.head()
                await comes_true(lambda: small.unread > 0, "it is not read")
                for _ in range(20):
                    greedy = await stack.enter_async_context(small.client())
                    greedy.send(get_as("greedy"))
                await comes_true(lambda: len(small.connections) < 10, "others are cut off")
                assert small.unread <= 2 * MIB
                assert len(await modest.reader.readexactly(MORE_THAN_BUFFERS_HOLD)) > 0

        at(self.LIMITS, self.send_pieces, test)

    def test_unread_answers_of_the_owner_with_most_are_cut_off_oldest_first(self) -> None:
        connections = [Unread(owner, 10) for owner in ("a", "b", "a", "c", "a", "a", "b", "a")]
        holdings: UnreadOutput[Unread] = UnreadOutput(79)
        for connection in connections:
            holdings.note(connection, connection.unread)
        assert [connection.is_cut_off for connection in connections] == [True, False] * 2 + [
            True
        ] + [False] * 3
        assert holdings.total == 50

    def test_unread_answer_counts_until_its_last_piece_is_sent(self) -> None:
        async def work(exchange: Exchange) -> None:
            await respond_in_pieces(exchange, 200, [], b"x" * MORE_THAN_BUFFERS_HOLD)

        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(GET)
                await comes_true(lambda: len(small.connections) == 1, "it is connected")
                await small.is_rid_of_it()

        at(Limits(unread_bytes_in_all=MORE_THAN_BUFFERS_HOLD // 2), work, test)

    def test_unfinished_requests_count_as_unread_memory(self) -> None:
        async def test(small: Small) -> None:
            async with AsyncExitStack() as stack:
                for _ in range(20):
                    client = await stack.enter_async_context(small.client())
                    client.send(GET[:-2] + b"A: " + b"x" * 50 * KIB)
                await comes_true(lambda: small.unread > 0, "heads are waited for")
                await comes_true(lambda: len(small.connections) < 20, "some are cut off")
                assert small.unread <= 512 * KIB

        at(Limits(unread_bytes_in_all=512 * KIB), answer_at_once, test)

    def test_answer_that_was_read_is_not_counted_any_more(self) -> None:
        async def test(small: Small) -> None:
            async with small.client() as client:
                client.send(GET)
                await client.head()
                await comes_true(lambda: small.unread > 0, "it is not read")
                await client.reader.readexactly(MORE_THAN_BUFFERS_HOLD)
                assert small.unread == 0

        at(self.LIMITS, self.send_pieces, test)


class TestBodiesOfAll:
    SIZE = 10 * KIB
    LIMITS = Limits(
        body_bytes_in_all=30 * KIB,
        body_bytes_of_an_owner=20 * KIB,
        waiting_body_bytes_of_an_owner=10 * KIB,
    )

    def head(self, owner: str) -> bytes:
        line = b"POST /%b HTTP/1.1\r\n" % owner.encode()
        return line + b"Host: a\r\nContent-Length: %d\r\n\r\n" % self.SIZE

    @staticmethod
    async def read(exchange: Exchange) -> None:
        asked_by(exchange)
        try:
            await read_all(exchange)
        except TooManyBodies:
            exchange.respond(429, [], b"")

    async def unfinished(self, small: Small, stack: AsyncExitStack, owner: str) -> Client:
        """A client that does not send the last byte of its body."""
        client = await stack.enter_async_context(small.client())
        before = small.connections.body_memory.total
        client.send(self.head(owner) + b"x" * (self.SIZE - 1))
        await comes_true(lambda: small.connections.body_memory.total > before, "it is reserved")
        return client

    def test_body_memory_without_room_makes_a_body_wait_for_another(self) -> None:
        async def test(small: Small) -> None:
            async with AsyncExitStack() as stack:
                first, _ = [await self.unfinished(small, stack, "one") for _ in range(2)]
                third = await stack.enter_async_context(small.client())
                third.send(self.head("one") + b"x" * self.SIZE)
                await a_while()
                first.send(b"x")
                assert (await first.answer()).endswith(b"\r\n\r\n%d" % self.SIZE)
                assert (await third.answer()).endswith(b"\r\n\r\n%d" % self.SIZE)

        at(self.LIMITS, self.read, test)

    def test_body_memory_has_room_for_one_body_of_each_owner(self) -> None:
        async def test(small: Small) -> None:
            async with AsyncExitStack() as stack:
                for owner in ("one", "one", "two", "three"):
                    await self.unfinished(small, stack, owner)
                client = await stack.enter_async_context(small.client())
                client.send(self.head("four") + b"x" * self.SIZE)
                assert (await client.answer()).endswith(b"\r\n\r\n%d" % self.SIZE)

        at(self.LIMITS, self.read, test)

    def test_body_memory_refuses_bodies_when_too_many_wait(self) -> None:
        async def test(small: Small) -> None:
            async with AsyncExitStack() as stack:
                for _ in range(2):
                    await self.unfinished(small, stack, "one")
                clients = [await stack.enter_async_context(small.client()) for _ in range(2)]
                for client in clients:
                    client.send(self.head("one") + b"x" * self.SIZE)
                    await a_while()
                assert (await clients[1].answer()).startswith(b"HTTP/1.1 429 ")

        at(self.LIMITS, self.read, test)

    def test_body_memory_is_freed_by_a_client_that_leaves(self) -> None:
        async def test(small: Small) -> None:
            async with AsyncExitStack() as stack:
                for _ in range(2):
                    await self.unfinished(small, stack, "one")
                async with small.client() as waiting:
                    waiting.send(self.head("one") + b"x" * self.SIZE)
                    await a_while()
            await small.is_rid_of_it()
            await comes_true(lambda: not small.connections.body_memory.total, "nothing is reserved")

        at(self.LIMITS, self.read, test)
