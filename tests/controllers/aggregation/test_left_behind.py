"""Proxied requests leave nothing to the garbage collector, however they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.collected import Collected
from support.extension import HERE, Caller, RawExtension, Registered
from support.upgrading import SPDY, changed, echo, exactly
from support.wire import Wire

MANY = 30


class Watched:
    """A group of a server that tells what its collector finds."""

    def __init__(self, collected: Collected, raw: RawExtension) -> None:
        self.server, self.garbage = collected.server, collected.garbage
        self.raw = raw
        self.group = Registered(self.server, raw.port, insecureSkipTLSVerify=True)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collected]:
    collected = Collected(tmp_path_factory.mktemp("garbage"), HERE)
    yield collected
    collected.server.stop()


@pytest.fixture
def watched(collected: Collected, raw: RawExtension) -> Iterator[Watched]:
    watched = Watched(collected, raw)
    yield watched
    watched.group.remove()


def await_answer(watched: Watched) -> None:
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


def await_leave(watched: Watched) -> None:
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


@pytest.mark.parametrize("end", [await_answer, nonsense, hung_up, await_leave, upgraded])
def test_proxied_requests_leave_nothing_to_the_garbage_collector(
    watched: Watched, end: Callable[[Watched], None]
) -> None:
    for _ in range(3):
        end(watched)
    watched.garbage()
    for _ in range(MANY):
        end(watched)
    watched.group.client.get("/api")
    count, what = watched.garbage()
    assert count < MANY, what
