"""Requests that are passed on leave nothing to the garbage collector, however they end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.extension import HERE, Caller, RawExtension, Registered
from support.garbage import PRELUDE
from support.process import ServerProcess
from support.upgrading import SPDY, changed, echo, exactly
from support.waiting import eventually
from support.wire import Wire

MANY = 30


class Watched:
    """A group of a server that tells what its collector finds."""

    def __init__(self, server: ServerProcess, report: Path, raw: RawExtension) -> None:
        self.server = server
        self.raw = raw
        self.group = Registered(server, raw.port, insecureSkipTLSVerify=True)
        self._report = report

    def garbage(self) -> tuple[int, str]:
        self._report.unlink(missing_ok=True)
        self.server.signal(signal.SIGUSR1)
        eventually(self._report.exists, "the collector has reported")
        count, _, what = self._report.read_text().partition(" ")
        return int(count), what


@pytest.fixture(scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, Path]]:
    directory = tmp_path_factory.mktemp("garbage")
    report = directory / "report"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRLEAD_GARBAGE", str(report))
        server = ServerProcess(directory, "kubernetes", HERE, PRELUDE).start()
    yield server, report
    server.stop()


@pytest.fixture
def watched(_server: tuple[ServerProcess, Path], raw: RawExtension) -> Iterator[Watched]:
    made = Watched(*_server, raw)
    yield made
    made.group.remove()


def answered(watched: Watched) -> None:
    watched.raw.talk = lambda caller, head: caller.answer(caller.body(head))
    assert watched.group.client.get(f"{watched.group.path}/things").status == 200
    assert watched.group.client.post(f"{watched.group.path}/things", {}).status == 200


def nonsense(watched: Watched) -> None:
    def talk(caller: Caller, head: bytes) -> None:
        caller.say(b"nonsense\r\n\r\n")
        caller.sock.close()

    watched.raw.talk = talk
    assert watched.group.client.get(f"{watched.group.path}/things").status == 503


def hung_up(watched: Watched) -> None:
    watched.raw.talk = lambda caller, head: caller.sock.close()
    assert watched.group.client.get(f"{watched.group.path}/things").status == 503


def left(watched: Watched) -> None:
    watched.raw.talk = lambda caller, head: caller.say(
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"
    )
    with Wire(watched.server).ask(f"GET {watched.group.path}/things") as wire:
        assert wire.sock.recv(9)


def upgraded(watched: Watched) -> None:
    watched.raw.talk = echo
    with Wire(watched.server).ask(f"GET {watched.group.path}/things/a/exec", *SPDY) as wire:
        changed(wire)
        assert exactly(wire.send(b"x").sock, 1) == b"x"


@pytest.mark.parametrize("end", [answered, nonsense, hung_up, left, upgraded])
def test_nothing_of_it_is_left(watched: Watched, end: Callable[[Watched], None]) -> None:
    for _ in range(3):
        end(watched)
    watched.garbage()
    for _ in range(MANY):
        end(watched)
    watched.group.client.get("/api")
    count, what = watched.garbage()
    assert count < MANY, what
