"""exec, attach, port forwarding and upgrades through proxies, to a server in the cluster."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.extension import Caller, RawExtension, fields
from support.namespaces import Space
from support.nearby import nearby, space_for_pods
from support.process import ServerProcess
from support.running import run_node, run_pod
from support.upgrading import SPDY, SWITCH, changed, echo, exactly
from support.wire import Wire


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    yield from nearby(tmp_path_factory)


@pytest.fixture
def space(near: ServerProcess) -> Iterator[Space]:
    yield from space_for_pods(near)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[RawExtension]:
    running = RawExtension(tmp_path)
    running.talk = echo
    yield running
    running.close()
    assert running.failures == []


@pytest.fixture
def pod(space: Space, agent: RawExtension) -> str:
    """The path of a pod whose node has the agent."""
    run_pod(space, "p", node=run_node(space, agent.port))
    return space.collection("pods").item("p")


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        (
            "exec?command=ls&command=a%20b%26c&stdin=true&stdout=1&tty=true&container=c",
            "/exec/{namespace}/p/c?input=1&output=1&tty=1&command=ls&command=a+b%26c",
        ),
        ("attach?stderr=true", "/attach/{namespace}/p/c?error=1"),
        ("portforward?ports=80&ports=443", "/portForward/{namespace}/p?port=80%2C443"),
        ("portforward?ports=80,443&ports=0", "/portForward/{namespace}/p?port=80%2C443%2C0"),
        ("portforward", "/portForward/{namespace}/p"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_streams_are_those_of_the_agent(
    space: Space, agent: RawExtension, pod: str, method: str, requested: str, message: str
) -> None:
    version = "X-Stream-Protocol-Version: v4.channel.x"
    with Wire(space.server).ask(f"{method} {pod}/{requested}", *SPDY, version) as wire:
        assert changed(wire) == b""
        wire.send(b"\0\1\2stdin")
        assert exactly(wire.sock, 8) == b"\0\1\2stdin"
    [head] = agent.heads
    assert (
        head.split(b"\r\n")[0]
        == f"{method} {message} HTTP/1.1".format(namespace=space.name).encode()
    )
    assert fields(head, "x-stream-protocol-version") == ["v4.channel.x"]
    assert fields(head, "authorization") == []


@pytest.mark.parametrize(
    ("ports", "why"),
    [
        ("70000", '"70000": value out of range'),
        ("80,99999999999999999999", '"99999999999999999999": value out of range'),
        ("80,,443", '"": invalid syntax'),
        ("", '"": invalid syntax'),
        ("-1", '"-1": invalid syntax'),
        ("http", '"http": invalid syntax'),
    ],
)
def test_a_port_that_is_none_is_refused(space: Space, pod: str, ports: str, why: str) -> None:
    answer = space.client.post(f"{pod}/portforward", {}, ports=ports)
    assert (answer.status, answer.message) == (
        400,
        f"cannot convert to []int32: strconv.ParseUint: parsing {why}",
    )


def test_what_an_agent_refuses_is_its_word(space: Space, agent: RawExtension, pod: str) -> None:
    agent.talk = lambda caller, head: caller.answer(b"no such container", 404)
    with Wire(space.server).ask(f"POST {pod}/exec?command=ls", *SPDY) as wire:
        assert wire.answer() == (404, b"no such container")


def test_an_agent_that_does_not_change_protocols_is_an_error(
    space: Space, agent: RawExtension, pod: str
) -> None:
    agent.talk = lambda caller, head: caller.answer(b"well", 200)
    with Wire(space.server).ask(f"POST {pod}/exec?command=ls", *SPDY) as wire:
        status, body = wire.answer()
    assert status == 500
    assert b"invalid upgrade response: status code 200" in body


def test_an_agent_that_is_not_there_is_an_error(
    space: Space, agent: RawExtension, pod: str
) -> None:
    agent.close()
    with Wire(space.server).ask(f"POST {pod}/exec?command=ls", *SPDY) as wire:
        status, body = wire.answer()
    assert status == 500
    assert b"error dialing backend: dial tcp 127.0.0.1:" in body


@pytest.mark.parametrize("headers", [(), ("Upgrade: SPDY/3.1",), ("Connection: Upgrade",)])
def test_a_stream_needs_an_upgrade(space: Space, pod: str, headers: tuple[str, ...]) -> None:
    with Wire(space.server).ask(f"POST {pod}/exec?command=ls", *headers) as wire:
        status, body = wire.answer()
    assert status == 400
    assert b"Upgrade request required" in body


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[RawExtension]:
    """Something in a pod that speaks no TLS."""
    running = RawExtension(tmp_path, tls=False)
    yield running
    running.close()
    assert running.failures == []


def test_proxies_pass_upgrades_on(space: Space, plain: RawExtension) -> None:
    plain.talk = echo
    run_pod(space, "p")
    path = space.collection("pods").item(f"p:{plain.port}", "proxy")
    with Wire(space.server).ask(f"GET {path}/socket?a=1", *SPDY) as wire:
        assert changed(wire) == b""
        wire.send(b"hello")
        assert exactly(wire.sock, 5) == b"hello"
    assert plain.heads[0].startswith(b"GET /socket?a=1 HTTP/1.1")


@pytest.mark.parametrize("farewell", ["tls", "tcp"])
def test_one_direction_can_end_before_the_other(
    space: Space, plain: RawExtension, farewell: str
) -> None:
    def talk(caller: Caller, head: bytes) -> None:
        caller.say(SWITCH)
        data = b""
        while more := caller.sock.recv(65536):
            data += more
        caller.say(b"heard " + data)
        caller.sock.close()

    plain.talk = talk
    run_pod(space, "p")
    path = space.collection("pods").item(f"p:{plain.port}", "proxy")
    with Wire(space.server).ask(f"GET {path}/socket", *SPDY) as wire:
        assert changed(wire) == b""
        wire.send(b"everything")
        end_sending(wire, farewell)
        assert exactly(wire.sock, 16) == b"heard everything"


def test_the_other_direction_can_end_first(space: Space, plain: RawExtension) -> None:
    chunks: list[bytes] = []
    over = threading.Event()

    def talk(caller: Caller, head: bytes) -> None:
        caller.say(SWITCH + b"bye")
        caller.sock.shutdown(socket.SHUT_WR)
        chunks.append(caller.take(100))
        over.set()

    plain.talk = talk
    run_pod(space, "p")
    path = space.collection("pods").item(f"p:{plain.port}", "proxy")
    with Wire(space.server).ask(f"GET {path}/socket", *SPDY) as wire:
        assert changed(wire) + wire.rest() == b"bye"
        wire.send(b"still here")
    assert over.wait(20)
    assert chunks == [b"still here"]


def end_sending(wire: Wire, farewell: str) -> None:
    if farewell == "tcp":
        with socket.socket(fileno=os.dup(wire.sock.fileno())) as same:
            same.shutdown(socket.SHUT_WR)
        return
    wire.sock.setblocking(False)
    assert isinstance(wire.sock, ssl.SSLSocket)
    with suppress(ssl.SSLWantReadError):  # the other side has not said farewell
        wire.sock.unwrap()
    wire.sock.setblocking(True)
