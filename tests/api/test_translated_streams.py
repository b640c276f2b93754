"""WebSockets of release 1.36 to kubelets that speak SPDY only."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.extension import HERE, Caller, RawExtension, fields
from support.kubectl import Kubectl, compared
from support.namespaces import Space
from support.nearby import space_for_pods
from support.process import ServerProcess
from support.running import run_node, run_pod
from support.spdy import Node
from support.web_sockets import (
    BINARY,
    CLOSE,
    HELLO,
    KEY,
    PING,
    PONG,
    TOKEN,
    WebSocket,
)
from support.wire import Wire

SUCCESS = b'{"metadata":{},"status":"Success"}'


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("near-1.36")
    running = ServerProcess(directory, "kubernetes", ("--release", "1.36", *HERE)).start()
    yield running
    running.stop()


@pytest.fixture
def space(near: ServerProcess) -> Iterator[Space]:
    yield from space_for_pods(near)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[RawExtension]:
    running = RawExtension(tmp_path)
    yield running
    running.close()
    assert running.failures == []


@pytest.fixture
def pod(space: Space, agent: RawExtension) -> str:
    """The path of a pod whose node has the agent."""
    run_pod(space, "p", node=run_node(space, agent.port))
    return space.collection("pods").item("p")


Connect = Callable[[str, str], WebSocket]


@pytest.fixture
def connect(near: ServerProcess) -> Iterator[Connect]:
    """Opens WebSockets with a path and a subprotocol."""
    with ExitStack() as stack:

        def open_socket(path: str, protocol: str) -> WebSocket:
            offer = f"Sec-WebSocket-Protocol: {protocol}"
            opened = stack.enter_context(WebSocket(near, path, offer, hello=(*HELLO, KEY, TOKEN)))
            assert f"\r\nsec-websocket-protocol: {protocol}\r\n".lower() in opened.head
            return opened

        yield open_socket


def hang_up(caller: Caller) -> None:
    caller.sock.shutdown(socket.SHUT_RDWR)


def test_exec_translates_channels_to_streams(
    space: Space, agent: RawExtension, pod: str, connect: Connect
) -> None:
    def shell(caller: Caller, head: bytes) -> None:
        node = Node(caller, head)
        node.accept(4)
        assert list(node.streams) == ["error", "stdin", "stdout", "stderr"]
        node.control(6, struct.pack(">I", 2))
        node.data("stderr", b"ready", ends=True)
        typed = b"".join(node.received("stdin"))
        node.data("stdout", typed.upper())
        node.data("stdout", b"", ends=True)
        node.data("error", SUCCESS, ends=True)

    agent.talk = shell
    query = "command=cat&stdin=true&stdout=true&stderr=true"
    client = connect(f"{pod}/exec?{query}", "v5.channel.k8s.io")
    assert client.next() == (BINARY, b"\x02ready")
    client.send(BINARY, b"\x00hello")
    client.send(PING, b"p")
    client.send(BINARY, b"\x00" + b"x" * 4000)
    client.send(BINARY, b"\xff\x00")  # no more input
    assert client.next() == (PONG, b"p")
    output = b""
    while len(output) < 4005:
        opcode, payload = client.next()
        assert (opcode, payload[0]) == (BINARY, 1)
        output += payload[1:]
    assert output == b"HELLO" + b"X" * 4000
    assert client.next() == (BINARY, b"\x03" + SUCCESS)
    assert client.next() == (CLOSE, b"\x03\xe8")
    [head] = agent.heads
    assert head.startswith(f"POST /exec/{space.name}/p/c?input=1&output=1&error=1".encode())
    assert fields(head, "x-stream-protocol-version") == ["v5.channel.k8s.io", "v4.channel.k8s.io"]


def test_a_terminal_has_sizes_and_one_output(
    space: Space, agent: RawExtension, pod: str, connect: Connect
) -> None:
    def terminal(caller: Caller, head: bytes) -> None:
        node = Node(caller, head)
        node.accept(4)
        assert list(node.streams) == ["error", "stdin", "stdout", "resize"]
        node.data("stdout", next(node.received("resize")))
        hang_up(caller)

    agent.talk = terminal
    query = "stdin=true&stdout=true&tty=true"
    client = connect(f"{pod}/attach?{query}", "v5.channel.k8s.io")
    client.send(BINARY, b'\x04{"Width":80}')
    assert client.next() == (BINARY, b'\x01{"Width":80}')
    opcode, payload = client.next()  # the node hangs up without a status
    status = json.loads(payload[1:])
    assert (opcode, payload[0], status["status"], status["code"]) == (BINARY, 3, "Failure", 500)


def test_port_forwarding_carries_spdy_in_messages(
    space: Space, agent: RawExtension, pod: str, connect: Connect
) -> None:
    def echo(caller: Caller, head: bytes) -> None:
        Node(caller, head)
        caller.say(caller.take(5000)[::-1])
        hang_up(caller)

    agent.talk = echo
    tunnel = "SPDY/3.1+portforward.k8s.io"
    client = connect(f"{pod}/portforward?ports=80", tunnel)
    client.send(BINARY, b"a" * 2500)
    client.send(BINARY, b"b" * 2500)
    received = b""
    while len(received) < 5000:
        received += client.next()[1]
    assert received == b"b" * 2500 + b"a" * 2500
    assert client.next() == (CLOSE, b"\x03\xe8")
    assert fields(agent.heads[0], "x-stream-protocol-version") == ["portforward.k8s.io"]


def test_a_node_that_declares_websockets_gets_them(
    space: Space, agent: RawExtension, pod: str
) -> None:
    nodes = space.everywhere("nodes")
    features = {"status": {"declaredFeatures": ["ExtendWebSocketsToKubelet"]}}
    path = nodes.item(f"node-{space.name}", "status")
    assert space.client.patch(path, features).status == 200
    agent.talk = lambda caller, head: caller.answer(b"{}", 400)
    with Wire(space.server).ask(
        f"GET {pod}/exec?command=ls&stdout=true",
        *(*HELLO, KEY, "Sec-WebSocket-Protocol: v5.channel.k8s.io"),
    ) as wire:
        assert wire.status() == 400
    assert fields(agent.heads[0], "upgrade") == ["websocket"]


@compared
def test_kubectl_runs_a_command(
    space: Space, agent: RawExtension, pod: str, tmp_path: Path
) -> None:
    def shell(caller: Caller, head: bytes) -> None:
        node = Node(caller, head)
        node.accept(3)
        node.data("stdout", b"hello\n", ends=True)
        node.data("stderr", b"", ends=True)
        causes = [{"reason": "ExitCode", "message": "7"}]
        status = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
        node.data("error", json.dumps(status).encode(), ends=True)

    agent.talk = shell
    kubectl = Kubectl(space.server, space.name, tmp_path)
    done = subprocess.run(
        [*kubectl.command, "exec", "p", "--", "greet"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == b"hello\n", done.stderr
    assert done.returncode == 7
    assert fields(agent.heads[0], "upgrade") == ["SPDY/3.1"]
