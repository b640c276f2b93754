"""The proxy that cuts servers off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from support.chaos.proxy import Mode, Proxy

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(100):
        writer.write(piece)
    writer.close()


@asynccontextmanager
async def proxied() -> AsyncIterator[Proxy]:
    behind = await asyncio.start_server(echo, "127.0.0.1", 0)
    proxy = await Proxy(behind.sockets[0].getsockname()[1]).start()
    try:
        yield proxy
    finally:
        await proxy.close()
        behind.close()


async def echoed(ends: Ends, text: bytes) -> bytes:
    reader, writer = ends
    writer.write(text)
    return await reader.readexactly(len(text))


def connect(proxy: Proxy) -> asyncio.Future[Ends]:
    return asyncio.ensure_future(asyncio.open_connection("127.0.0.1", proxy.port))


def test_what_is_cut_ends_and_can_be_opened_again() -> None:
    async def scene() -> None:
        async with proxied() as proxy:
            ends = await connect(proxy)
            assert await echoed(ends, b"one") == b"one"
            proxy.cut()
            with pytest.raises((OSError, EOFError)):
                await echoed(ends, b"two")
            ends[1].transport.abort()
            again = await connect(proxy)
            assert await echoed(again, b"two") == b"two"
            again[1].transport.abort()

    asyncio.run(scene())


def test_what_is_stalled_goes_on_afterwards_with_nothing_lost() -> None:
    async def scene() -> None:
        async with proxied() as proxy:
            old = await connect(proxy)
            assert await echoed(old, b"one") == b"one"
            proxy.be(Mode.STALL)
            new = await connect(proxy)
            answers = [asyncio.create_task(echoed(ends, b"two")) for ends in (old, new)]
            done, _ = await asyncio.wait(answers, timeout=0.1)
            assert not done
            proxy.be(Mode.PASS)
            assert await asyncio.gather(*answers) == [b"two", b"two"]
            for ends in (old, new):
                ends[1].transport.abort()

    asyncio.run(scene())


def test_what_is_refused_has_no_connection() -> None:
    async def scene() -> None:
        async with proxied() as proxy:
            old = await connect(proxy)
            assert await echoed(old, b"one") == b"one"
            proxy.be(Mode.REFUSE)
            new = await connect(proxy)
            for ends in (old, new):
                with pytest.raises((OSError, EOFError)):
                    await echoed(ends, b"two")
                ends[1].transport.abort()

    asyncio.run(scene())
