"""What a tenant of one namespace runs in containers does not hold up the server, nor the others."""

from __future__ import annotations

import asyncio
from time import thread_time

import pytest
from support.pace import in_time

from fairlead.controllers.simulation import ports
from fairlead.controllers.simulation.ports import Owner, Ports
from fairlead.controllers.simulation.runtime.computing import ComputingTime
from fairlead.controllers.simulation.runtime.files import MAX_BYTES, Files, Mount, Volume
from fairlead.controllers.simulation.runtime.instances import run_live
from fairlead.controllers.simulation.runtime.lifetimes import is_live
from fairlead.controllers.simulation.runtime.memory import MAX_HELD_OF_NAMESPACE, Held, Memory
from fairlead.controllers.simulation.runtime.process import Process, Read, start_first
from fairlead.controllers.simulation.runtime.programs import find_program
from fairlead.controllers.simulation.runtime.terminal import Pipes
from fairlead.wire.outgoing.request import Route
from fairlead.wire.outgoing.response import CallError

MAX_SECONDS = 0.5  # of computing in one step; what is bounded takes a tenth of it, the rest minutes
MAX_TOTAL = 0.6  # seconds after which a program is not looked at any more
LONG = 60_000
BIG = b"a" * (MAX_BYTES - 1_000)
LINES = b"\n" * (MAX_BYTES - 1_000)


def process_of(*words: str, files: Files | None = None) -> Process:
    return Process(list(words), files or Files([]), {}, "host", find_program)


def longest_step(process: Process) -> float:
    """The seconds that the longest step of a process takes."""
    program, longest, total, sent = start_first(process), 0.0, 0.0, None
    while total < MAX_TOTAL:
        began = thread_time()
        try:
            effect = next(program) if sent is None else program.send(sent)
        except StopIteration:
            effect = None
        seconds = thread_time() - began
        longest, total = max(longest, seconds), total + seconds
        if effect is None:
            break
        sent = b"a b\n" if isinstance(effect, Read) and sent == b"" else b""
    return longest


@pytest.mark.parametrize(
    "words",
    [
        ["find", "/tmp", "-name", "*a" * 30 + "b"],
        ["sed", "s" + "," * LONG + "x"],
        ["sed", "s/a/" + "b" * LONG + "/g", "/tmp/big"],
        ["sed", "s/a*/" + "&" * LONG + "/", "/tmp/big"],
        ["sed", "s/x/y/", "/tmp/lines"],
        ["awk", "{print " + ",".join(["$0"] * 9_000) + "}", "/tmp/big"],
        ["awk", "{print" + " " * LONG],
        ["cut", "-c", ",".join(["9"] * 9_000), "/tmp/big"],
        ["cut", "-f1", *["/tmp/big"] * 500],
        ["grep", "x", "/tmp/lines"],
        ["wc", "-w", "/tmp/lines", "/tmp/lines"],
        ["uniq", "-c", "/tmp/lines"],
        ["tr", "-s", "", "/tmp/lines"],
        ["tee", "-a", *["/tmp/big"] * 9_000],
        ["ls", *["/var/empty"] * 9_000],
        ["sh", "-c", "echo " + "/tmp/*zz " * 3_000],
        ["sh", "-c", "unset " + "a " * 100_000],
        ["sh", "-c", "a;" * 120_000],
        ["sh", "-c", "echo " + "$((" * 100 + "1" * 200_000 + "))" * 100],
        ["sh", "-c", "echo " + "`a`" * 80_000],
        ["sh", "-c", "cat <<E\n" + "\n" * 200_000 + "E\n"],
        ["test", *["!"] * 9_000],
        ["timeout", *["1", "timeout"] * 9_000, "true"],
        ["curl", *["-s"] * LONG],
        ["rm", *["-" + "f" * 200] * 9_000],
        ["chmod", "-R", "777", *["/"] * 1_000],
    ],
    ids=lambda words: " ".join(words)[:30],
)
def test_a_step_of_a_program_is_short(words: list[str]) -> None:
    files = Files([Mount("/var/empty", Volume())])
    files.write("/tmp/" + "a" * 240, b"")
    files.write("/tmp/lines" if "/tmp/lines" in words else "/tmp/big", LINES)
    if "/tmp/big" in words:
        files.write("/tmp/big", BIG)
    assert in_time(longest_step(process_of(*words, files=files)), MAX_SECONDS)


def test_a_container_with_thousands_of_mounts_finds_its_files_quickly() -> None:
    files = Files([Mount(f"/m/{number}", Volume()) for number in range(5_000)])
    began = thread_time()
    for number in range(1_000):
        files.write(f"/m/{number}/f", b"x")
    assert in_time(thread_time() - began, MAX_SECONDS)
    assert files.read("/m/7/f") == b"x"


def test_one_namespace_cannot_take_the_memory_of_all() -> None:
    greedy, modest = Memory(), Memory()
    held = Held(MAX_HELD_OF_NAMESPACE * 2, greedy)
    assert held.grow(MAX_HELD_OF_NAMESPACE)
    assert not Held(1, greedy).grow(1)
    assert Held(1, modest).grow(1)
    held.grow(-MAX_HELD_OF_NAMESPACE)


class _Unread(Pipes):
    """A client that does not read."""

    def __init__(self) -> None:
        self.errors = b""

    async def write(self, stream: int, data: bytes) -> None:
        if stream == 1:
            await asyncio.Event().wait()
        self.errors += data

    def close(self) -> None: ...


def test_what_clients_do_not_read_counts_as_memory_of_their_namespace() -> None:
    async def attack() -> tuple[int, bytes]:
        memory, clients = Memory(), [_Unread() for _ in range(12)]
        files = Files([], memory)
        files.write("/tmp/f", BIG)
        computing = ComputingTime(0.0, 0.0)
        running = [
            asyncio.create_task(
                run_live(process_of("base64", "/tmp/f", files=files), client, computing, "n")
            )
            for client in clients
        ]
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        size = memory.size
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return size, b"".join(client.errors for client in clients)

    size, errors = asyncio.run(attack())
    assert size <= MAX_HELD_OF_NAMESPACE
    assert b"out of memory" in errors


def test_a_namespace_that_computed_much_waits_and_the_others_do_not() -> None:
    async def pauses() -> tuple[float, float]:
        computing = ComputingTime(pauses=0.0)
        for _ in range(100):
            computing.spend("busy", 0.1)
        return computing.pause("busy"), computing.pause("idle")

    busy, idle = asyncio.run(pauses())
    assert busy > 20
    assert idle <= 0


def test_programs_of_a_namespace_take_turns() -> None:
    order: list[str] = []

    async def compute(computing: ComputingTime, name: str) -> None:
        for _ in range(4):
            await computing.turn("n")
            order.append(name)
            computing.spend("n", 0.005)

    async def all_of_them() -> None:
        computing = ComputingTime(pauses=1.0, pauses_of_namespace=1.0, credit=0.0)
        await asyncio.gather(*(compute(computing, name) for name in "ab"))

    asyncio.run(all_of_them())
    assert "".join(order) == "abababab"


def test_connections_of_a_namespace_leave_room_for_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ports, "MAX_CONNECTIONS", 8)

    async def opened() -> list[int]:
        served = Ports(
            lambda pod, name: pytest.fail("not asked"),
            lambda *_: None,
            lambda *_: asyncio.sleep(0),
            ComputingTime(),
        )
        route, stop = Route("10.0.0.1", 80, "", None), asyncio.Event()

        async def begin() -> ports.Conversation:
            async def silent(_stream: object) -> None:
                await stop.wait()

            return silent

        counts = []
        for namespace in "abc":
            count = 0
            for number in range(8):
                try:
                    await served.converse(
                        Owner(namespace, str(number)), begin, stop.wait, route, asyncio.Protocol
                    )
                except CallError:
                    break
                count += 1
            counts.append(count)
        stop.set()
        return counts

    assert asyncio.run(opened()) == [4, 2, 1]


def test_a_volume_with_the_name_of_a_token_is_shared_all_the_same() -> None:
    name = "kube-api-access-x"
    container = {
        "name": "c",
        "image": "busybox",
        "command": ["true"],
        "volumeMounts": [{"name": name, "mountPath": "/e"}],
    }
    spec = {"containers": [container], "volumes": [{"name": name, "emptyDir": {}}]}
    assert is_live({"spec": spec}, container)
    projected = {**spec, "volumes": [{"name": name, "projected": {}}]}
    assert not is_live({"spec": projected}, container)
