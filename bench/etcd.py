"""Runs etcd for the server, and measures it alone: one member with its data in memory."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import grpc.aio

from bench import objects
from bench.client import Sample, WorkFailedError
from bench.server import cpu_seconds_of, free_port

MEMORY = Path("/dev/shm")
READY_SECONDS = 30.0
TXN = "/etcdserverpb.KV/Txn"
_EQUAL_CREATE_REVISION = b"\x08\x00\x10\x01"  # Compare: result EQUAL, target CREATE
_ZERO = b"\x28\x00"  # its create_revision


class Etcd:
    """A running etcd member; `close` deletes its data."""

    def __init__(self) -> None:
        if shutil.which("etcd") is None:
            raise WorkFailedError("there is no etcd command (Debian: etcd-server)")
        self._data = tempfile.mkdtemp(
            prefix="fairlead-bench-etcd-", dir=MEMORY if MEMORY.is_dir() else None
        )
        self.target = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.target}"
        peer = f"http://127.0.0.1:{free_port()}"
        self._log = Path(self._data) / "log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *("etcd", "--data-dir", f"{self._data}/data", "--logger", "zap"),
                    *("--listen-client-urls", self.url, "--advertise-client-urls", self.url),
                    *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
                    *("--initial-cluster", f"default={peer}", "--log-level", "error"),
                    *("--quota-backend-bytes", str(4 << 30)),
                ],
                stdout=log,
                stderr=log,
            )
        try:
            asyncio.run(self._await_ready())
        except BaseException:
            self.close()
            raise

    async def _await_ready(self) -> None:
        async with grpc.aio.insecure_channel(self.target) as channel:
            try:
                await asyncio.wait_for(channel.channel_ready(), READY_SECONDS)
            except TimeoutError:
                raise WorkFailedError(f"etcd: {self._log.read_text()[-800:]}") from None

    def flags(self, directory: Path) -> list[str]:
        """Return the flags for a server; each directory gets its own prefix."""
        prefix = f"--etcd-prefix=/{directory.name}"
        return ["--storage=etcd", f"--etcd-servers={self.url}", prefix]

    def cpu_seconds(self) -> float:
        return cpu_seconds_of(self._process.pid)

    def alone(self, seconds: float, clients: int) -> Sample:
        """Create keys with values of the size that the server writes, each with a check that the
        key does not exist, with `clients` concurrent requests."""
        return asyncio.run(self._load(seconds, clients))

    async def _load(self, seconds: float, clients: int) -> Sample:
        sample = Sample()
        requests = _creations()
        async with grpc.aio.insecure_channel(self.target) as channel:
            transact = channel.unary_unary(TXN, bytes, bytes)

            async def client() -> None:
                while (began := time.perf_counter()) < deadline:
                    await transact(next(requests))
                    sample.latencies.append(time.perf_counter() - began)
                    sample.number += 1

            deadline = time.perf_counter() + seconds
            await asyncio.gather(*(client() for _ in range(clients)))
        return sample

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._data, ignore_errors=True)


def _creations() -> Iterator[bytes]:
    """Yield transactions that put a key if it does not exist, else get it."""
    value = objects.encode(objects.new("configmaps"))
    space = f"/alone-{time.monotonic_ns()}/configmaps/bench/cm-"
    for number in count():
        key = _field(1, f"{space}{number:08}".encode())
        compare = _EQUAL_CREATE_REVISION + _field(3, key[2:]) + _ZERO
        put = _field(2, key + _field(2, value))
        look = _field(1, key)
        yield _field(1, compare) + _field(2, put) + _field(3, look)


def _field(number: int, content: bytes) -> bytes:
    """Encode a protobuf field of bytes."""
    size = len(content)
    length = b""
    while size > 127:
        length += bytes((size & 127 | 128,))
        size >>= 7
    return bytes((number << 3 | 2,)) + length + bytes((size,)) + content
