"""A network between the members of an etcd cluster that can isolate one of them."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from support.etcd import Etcd, EtcdCluster, free_ports

_SENDER = re.compile(rb"x-server-from: *([0-9a-f]+)", re.IGNORECASE)


class Links:
    """Proxies the connections between members, which identify themselves by their ID. An isolated
    member neither reaches the others nor is reached by them."""

    def __init__(self, ways: dict[int, int]) -> None:
        """`ways` maps the published ports of members to the ports at which they listen."""
        self._ways = ways
        self._cut: tuple[int, bytes] | None = None  # the port and ID of the isolated member
        self._open: set[tuple[int, bytes, asyncio.StreamWriter]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._servers = [self._run(self._listen(*way)) for way in ways.items()]

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self, port: int, behind: int) -> asyncio.Server:
        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._pass_on(behind, reader, writer)

        return await asyncio.start_server(take, "127.0.0.1", port)

    async def _pass_on(
        self, behind: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            match = _SENDER.search(head)
            sender = match[1] if match else b""
            if self._is_cut(behind, sender):
                return
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", behind)
            inner_writer.write(head)
            known = (behind, sender, writer)
            self._open.add(known)
            ways = (_pump(reader, inner_writer), _pump(inner_reader, writer))
            await asyncio.wait(
                [asyncio.create_task(way) for way in ways], return_when=asyncio.FIRST_COMPLETED
            )
            self._open.discard(known)
            inner_writer.close()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _is_cut(self, behind: int, sender: bytes) -> bool:
        return self._cut is not None and (behind == self._cut[0] or sender == self._cut[1])

    def cut(self, behind: int, number: str) -> None:
        """Isolate the member that listens at a port and has this ID."""

        async def cut() -> None:
            self._cut = behind, number.encode()
            for port, sender, writer in list(self._open):
                if self._is_cut(port, sender) or not sender:
                    writer.transport.abort()

        self._run(cut())

    def mend(self) -> None:
        async def mend() -> None:
            self._cut = None

        self._run(mend())

    def close(self) -> None:
        async def close() -> None:
            for server in self._servers:
                server.close()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self._run(close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass


class LinkedCluster(EtcdCluster):
    """A cluster in which one member can be isolated from the others; clients still reach it."""

    def __init__(self, directory: Path, size: int = 3) -> None:
        self._listening = free_ports(size)
        super().__init__(directory, size, listening=self._listening)
        self._links = Links(dict(zip(self.peer_ports, self._listening, strict=True)))

    def cut_off(self, member: Etcd) -> None:
        done = subprocess.run(
            ["etcdctl", "--endpoints", member.url, "member", "list"],
            env={**os.environ, "ETCDCTL_API": "3"},
            capture_output=True,
            text=True,
            check=True,
        )
        numbers = {line.split(", ")[2]: line.split(", ")[0] for line in done.stdout.splitlines()}
        self._links.cut(self._listening[self.members.index(member)], numbers[member.name])

    def mend(self) -> None:
        self._links.mend()

    def close(self) -> None:
        super().close()
        self._links.close()
