"""Fleets of servers to put under load, and the faults that can happen to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple
from urllib.parse import urlsplit

from support.chaos.proxy import Mode, Proxy
from support.etcd import Etcd, EtcdCluster
from support.process import ServerProcess


class Fault(NamedTuple):
    """Causes a failure, repairs it, and returns a description. Faults of different domains may
    happen at the same time."""

    domain: str
    strike: Callable[[Random], Awaitable[str]]


LONGEST_END = 90.0  # seconds until a server that was asked to stop has ended
LONGEST_HANG = 15
# Short history: a watcher that was away for some seconds must list again.
FLAGS = ("--history-retention=4s",)


class Fleet(ABC):
    """Servers on one store."""

    servers: Sequence[ServerProcess]

    @abstractmethod
    async def start(self) -> None: ...

    @abstractmethod
    def faults(self) -> dict[str, Fault]:
        """Return the faults by name; after each, everything runs again."""

    async def close(self) -> None:
        for server in self.servers:
            await asyncio.to_thread(server.kill)


async def kill_and_start(server: ServerProcess, dice: Random) -> str:
    server.signal(signal.SIGKILL)
    await asyncio.to_thread(server.kill)
    await asyncio.sleep(dice.random())
    await asyncio.to_thread(server.start)
    return f"killed {server.directory.name}, started again as {server.pid}"


async def restart(server: ServerProcess) -> str:
    """Restart gracefully, like an upgrade."""
    began = time.monotonic()
    server.signal(signal.SIGTERM)
    code = await asyncio.to_thread(server.wait, LONGEST_END)
    took = time.monotonic() - began
    await asyncio.to_thread(server.start)
    ended = f"ended {server.directory.name} with {code} in {took:.1f} s"
    return f"{ended}, started again as {server.pid}"


def kill(pid: int | None) -> str:
    """Kill a process; does nothing if it has ended already."""
    with contextlib.suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
    return f"killed {pid}"


async def pause(pid: int | None, dice: Random, maximum: float = 3.0) -> str:
    seconds = dice.uniform(0.1, maximum)
    with contextlib.suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, signal.SIGCONT)
    return f"stopped {pid} for {seconds:.1f} s"


def share_identity(first: ServerProcess, other: ServerProcess) -> None:
    """Give servers of one store the same CA and the same key of service accounts."""
    (other.data / "pki").mkdir(parents=True, mode=0o700)
    for name in ("ca.crt", "ca.key", "service-account.key"):
        shutil.copy(first.data / "pki" / name, other.data / "pki" / name)


class Single(Fleet):
    """One process with the embedded store."""

    def __init__(self, directory: Path, flags: tuple[str, ...] = FLAGS, prelude: str = "") -> None:
        self.server = ServerProcess(directory, flags=flags, prelude=prelude)
        self.servers = [self.server]

    async def start(self) -> None:
        await asyncio.to_thread(self.server.start)

    def faults(self) -> dict[str, Fault]:
        return {
            "kill the server": Fault("server", lambda dice: kill_and_start(self.server, dice)),
            "stop the server": Fault("server", lambda dice: pause(self.server.pid, dice)),
            "restart the server": Fault("server", lambda _: restart(self.server)),
        }


class Workers(Fleet):
    """One server of several processes, one of which owns the log."""

    def __init__(
        self,
        directory: Path,
        flags: tuple[str, ...] = FLAGS,
        prelude: str = "",
        *,
        workers: int = 3,
    ) -> None:
        flags = ("--workers", str(workers), *flags)
        self.server = ServerProcess(directory, flags=flags, prelude=prelude)
        self.servers = [self.server]

    async def start(self) -> None:
        await asyncio.to_thread(self.server.start)

    def workers(self) -> list[int]:
        """Return the pids of the workers, none while the server does not run."""
        try:
            listed = Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children").read_text()
        except OSError:
            return []
        return [int(pid) for pid in listed.split()]

    def owner(self) -> int | None:
        """Return the worker that has the log open."""
        return next((pid for pid in self.workers() if self._owns(pid)), None)

    def _owns(self, pid: int) -> bool:
        try:
            links = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            return False
        return any(link.startswith(f"{self.server.data}/fairlead.db") for link in links)

    def _follower(self, dice: Random) -> int | None:
        owner = self.owner()
        return dice.choice([pid for pid in self.workers() if pid != owner] or [None])

    def faults(self) -> dict[str, Fault]:
        return {
            "kill a worker": Fault("worker", self._kill_follower),
            "stop a worker": Fault("worker", self._stop_follower),
            "kill the owner": Fault("owner", self._kill_owner),
            "stop the owner": Fault("owner", self._stop_owner),
            "hang the owner": Fault("owner", self._hang_owner),
            "kill the server": Fault("server", lambda dice: kill_and_start(self.server, dice)),
            "restart the server": Fault("server", lambda _: restart(self.server)),
        }

    async def _kill_follower(self, dice: Random) -> str:
        return kill(self._follower(dice))

    async def _stop_follower(self, dice: Random) -> str:
        return await pause(self._follower(dice), dice)

    async def _kill_owner(self, dice: Random) -> str:
        return kill(self.owner())

    async def _stop_owner(self, dice: Random) -> str:
        return await pause(self.owner(), dice)

    async def _hang_owner(self, _: Random) -> str:
        """Stop it until its parent has killed it, or for long if it was still starting."""
        pid = self.owner()
        if pid is None:
            return "there was no owner"
        os.kill(pid, signal.SIGSTOP)
        for _second in range(LONGEST_HANG):
            await asyncio.sleep(1)
            if pid not in self.workers():
                break
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        return f"{pid} hung until it was replaced or resumed"


class OnEtcd(Fleet):
    """Several servers on an etcd cluster, each with its own proxies to every member."""

    def __init__(
        self,
        directory: Path,
        flags: tuple[str, ...] = FLAGS,
        prelude: str = "",
        *,
        servers: int = 2,
        members: int = 3,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._directory = directory
        self._flags = flags
        self._prelude = prelude
        self._count = servers
        self._environment = environment or {}
        self.etcd = EtcdCluster(directory, members)
        self.proxies: list[list[Proxy]] = []
        self.servers = []

    async def start(self) -> None:
        await asyncio.to_thread(self.etcd.start)
        for number in range(self._count):
            ports = [urlsplit(member.url).port or 0 for member in self.etcd.members]
            proxies = [await Proxy(port).start() for port in ports]
            self.proxies.append(proxies)
            urls = ",".join(f"http://127.0.0.1:{proxy.port}" for proxy in proxies)
            directory = self._directory / f"server-{number}"
            directory.mkdir()
            flags = ("--storage", "etcd", "--etcd-servers", urls, *self._flags)
            server = ServerProcess(directory, flags=flags, prelude=self._prelude)
            server.environment = self._environment
            if self.servers:
                share_identity(self.servers[0], server)
            self.servers = [*self.servers, server]
            await asyncio.to_thread(server.start)

    async def close(self) -> None:
        await super().close()
        for proxies in self.proxies:
            for proxy in proxies:
                await proxy.close()
        await asyncio.to_thread(self.etcd.close)

    def faults(self) -> dict[str, Fault]:
        return {
            "kill a member": Fault("members", lambda dice: self._kill_members(dice, 1)),
            "kill most members": Fault("members", lambda dice: self._kill_members(dice, 2)),
            "stop a member": Fault("members", self._stop_member),
            "cut connections": Fault("ways", self._cut),
            "stall connections": Fault("ways", lambda dice: self._change(Mode.STALL, dice)),
            "refuse connections": Fault("ways", lambda dice: self._change(Mode.REFUSE, dice)),
            "kill a server": Fault("servers", self._kill_server),
            "stop a server": Fault("servers", self._stop_server),
            "restart a server": Fault("servers", self._restart_server),
        }

    async def _restart_server(self, dice: Random) -> str:
        return await restart(dice.choice(self.servers))

    async def _kill_server(self, dice: Random) -> str:
        return await kill_and_start(dice.choice(self.servers), dice)

    async def _stop_server(self, dice: Random) -> str:
        return await pause(dice.choice(self.servers).pid, dice)

    async def _kill_members(self, dice: Random, count: int) -> str:
        chosen: list[Etcd] = dice.sample(self.etcd.members, count)
        for member in chosen:
            await asyncio.to_thread(member.kill)
        await asyncio.sleep(dice.uniform(0.1, 3))
        for member in chosen:
            await asyncio.to_thread(member.start, wait=False)
        for member in chosen:
            await asyncio.to_thread(member.await_health)
        return f"killed {', '.join(member.name for member in chosen)}, started again"

    async def _stop_member(self, dice: Random) -> str:
        member = dice.choice(self.etcd.members)
        assert member.process is not None
        return f"{member.name}: {await pause(member.process.pid, dice, 5)}"

    def _some(self, dice: Random) -> tuple[int, list[Proxy]]:
        """Return the proxies of a server to one member or to all."""
        number = dice.randrange(len(self.proxies))
        proxies = self.proxies[number]
        return number, proxies if dice.random() < 0.5 else [dice.choice(proxies)]

    async def _cut(self, dice: Random) -> str:
        number, proxies = self._some(dice)
        for proxy in proxies:
            proxy.cut()
        return f"cut {len(proxies)} ways of server {number}"

    async def _change(self, mode: Mode, dice: Random) -> str:
        number, proxies = self._some(dice)
        seconds = dice.uniform(0.2, 5)
        for proxy in proxies:
            proxy.be(mode)
        await asyncio.sleep(seconds)
        for proxy in proxies:
            proxy.be(Mode.PASS)
        return f"{mode.value} {len(proxies)} ways of server {number} for {seconds:.1f} s"
