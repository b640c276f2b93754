"""Commands in containers and forwarded ports, with the client library."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import pytest
from support.commands import Commands
from support.following import Following
from support.simulation import Pods, container
from support.stream_server import ServerSocket, StreamServer, stream_server
from support.talking import access_to, talk
from support.web_sockets import PING, PONG

from fairlead.client import (
    ApiError,
    Client,
    ForwardingError,
    Outcome,
    PortConnection,
    PortForward,
    Streams,
    SyncClient,
    Unreachable,
)
from fairlead.client.access.model import Access
from fairlead.client.errors import NotFound
from fairlead.client.processes import STDOUT
from fairlead.wire.outgoing.client_config import ClientConfig

Result = TypeVar("Result")
_V5, _V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
_SUCCESS = json.dumps({"status": "Success"}).encode()
_TUNNEL = "SPDY/3.1+portforward.k8s.io"


@pytest.fixture
def running(any_pods: Pods) -> Pods:
    """With a pod named p, which runs, answers on port 80 and echoes on 7."""
    any_pods.script(ports=[{"port": 7, "echo": {}}])
    any_pods.create("p", container(ports=[{"containerPort": 80}]))
    any_pods.await_ready("p")
    return any_pods


def _with(server: StreamServer, work: Callable[[Client], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        async with Client(server.access()) as client:
            return await work(client)

    return asyncio.run(run())


@pytest.mark.both_dialects
def test_a_command_with_its_input_and_output(running: Pods) -> None:
    words = ["sh", "-c", "cat; echo err >&2; exit 3"]
    text = b"x" * 200_000
    done = talk(running.space, lambda client: client.execute("p", words, stdin=text))
    assert done == Outcome(3, text, b"err\n")
    with SyncClient(access_to(running.space)) as client:
        assert client.execute("p", ["echo", "x"]) == Outcome(0, b"x\n", b"")
        with pytest.raises(NotFound):
            client.execute("none", ["true"])


# Servers of any release


def test_the_request_is_that_of_the_api() -> None:
    def script(server: ServerSocket) -> None:
        server.accept(_V5)
        server.send(3, _SUCCESS)
        server.close()

    with stream_server(script) as server:
        _with(server, lambda client: client.execute("p", ["a b", "c"], container="d", stdin=b""))
        parts = urlsplit(server.paths[0])
    assert parts.path == "/api/v1/namespaces/space/pods/p/exec"
    assert parse_qs(parts.query) == {
        "command": ["a b", "c"],
        "container": ["d"],
        "stdin": ["true"],
        "stdout": ["true"],
        "stderr": ["true"],
    }


def test_a_server_of_an_older_release_gets_no_end_of_the_input() -> None:
    received = []

    def script(server: ServerSocket) -> None:
        server.accept(_V4)
        received.append(server.next())
        server.frame(PING, b"there?")
        server.send(1, b"out")
        server.send(2, b"err")
        received.append(server.next())
        server.send(3, _SUCCESS)
        server.close()

    with stream_server(script) as server:
        done = _with(server, lambda client: client.execute("p", ["x"], stdin=b"in"))
    assert done == Outcome(0, b"out", b"err")
    assert received == [(2, b"\x00in"), (PONG, b"there?")]


def test_the_size_of_a_terminal_is_told() -> None:
    received = []

    def script(server: ServerSocket) -> None:
        server.accept(_V5)
        received.append(server.next()[1])
        server.send(3, _SUCCESS)

    async def work(client: Client) -> None:
        streams = Streams(stdin=True, stderr=False, tty=True)
        async with client.attach("p", streams=streams) as process:
            await process.resize(80, 25)
            await process.wait()

    with stream_server(script) as server:
        _with(server, work)
    assert received[0][:1] == b"\x04"
    assert json.loads(received[0][1:]) == {"Width": 80, "Height": 25}


def test_a_failure_of_the_node_is_an_error() -> None:
    status = {"status": "Failure", "reason": "InternalError", "message": "no runtime", "code": 500}

    def script(server: ServerSocket) -> None:
        server.accept(_V5)
        server.send(3, json.dumps(status).encode())
        server.close()

    with stream_server(script) as server, pytest.raises(ApiError, match="no runtime"):
        _with(server, lambda client: client.execute("p", ["x"]))


def _drop(server: ServerSocket) -> None:
    server.accept(_V5)
    server.send(1, b"half")


def _end_without_result(server: ServerSocket) -> None:
    _drop(server)
    server.close()


def _send_garbage(server: ServerSocket) -> None:
    server.accept(_V5)
    server.caller.say(b"\xff" * 100)


def _answer_nothing(server: ServerSocket) -> None:
    pass


def _accept_another_key(server: ServerSocket) -> None:
    server.accept(_V5, key=b"other")


def _switch_not(server: ServerSocket) -> None:
    server.caller.answer(b"{}")


@pytest.mark.parametrize(
    "script",
    [_drop, _end_without_result, _send_garbage, _answer_nothing, _accept_another_key, _switch_not],
)
def test_a_command_that_is_cut_off_is_no_success_and_never_repeated(
    script: Callable[[ServerSocket], None],
) -> None:
    with stream_server(script) as server:
        with pytest.raises(Unreachable):
            _with(server, lambda client: client.execute("p", ["x"]))
        assert len(server.paths) == 1


# Ports


async def _ask(forward: PortForward, port: int) -> bytes:
    connection = await forward.connect(port)
    await connection.write(b"GET / HTTP/1.0\r\n\r\n")
    answer = b""
    while data := await connection.read():
        answer += data
    await connection.close()
    return answer


@pytest.mark.both_dialects
def test_connections_to_ports(running: Pods) -> None:
    async def work(client: Client) -> None:
        async with client.port_forward("p", 80) as forward:
            answers = await asyncio.gather(*(_ask(forward, 80) for _ in range(5)))
            assert all(b"port 80 of pod" in answer for answer in answers)
            with pytest.raises(ForwardingError, match="connection refused"):
                await _ask(forward, 81)
            assert b"port 80 of pod" in await _ask(forward, 80)

    talk(running.space, work)


def test_the_end_of_one_direction_leaves_the_other_open(running: Pods) -> None:
    async def work(client: Client) -> None:
        async with client.port_forward("p", 7) as forward:
            port = await forward.listen(7)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"text")
            writer.write_eof()
            assert await reader.read() == b"text"
            writer.close()
            await writer.wait_closed()

    talk(running.space, work)


async def _write_on(connection: PortConnection) -> None:
    for _ in range(2_000):
        await connection.write(bytes(100_000))


def test_who_reads_nothing_does_not_fill_the_memory(running: Pods) -> None:
    async def work(client: Client) -> None:
        async with client.port_forward("p", 7) as forward:
            connection = await forward.connect(7)
            writing = asyncio.create_task(_write_on(connection))
            done, _ = await asyncio.wait([writing], timeout=1)
            assert not done
            writing.cancel()
            await connection.close()
            assert b"port 80 of pod" in await _ask(forward, 80)

    talk(running.space, work)


def test_an_older_server_gets_a_web_socket_for_each_connection() -> None:
    def script(server: ServerSocket) -> None:
        server.accept(_V4)
        port = int(parse_qs(urlsplit(server.path).query)["ports"][0])
        for channel in (0, 1):
            server.send(channel, port.to_bytes(2, "little"))
        opcode, data = server.next()
        if opcode == 2:
            server.send(0, b"port %d: %b" % (port, data[1:]))
            server.close()

    async def work(client: Client) -> None:
        async with client.port_forward("p", 80) as forward:
            for port in (80, 81):
                connection = await forward.connect(port)
                await connection.write(b"hello")
                assert await connection.read() == b"port %d: hello" % port
                assert await connection.read() == b""
                await connection.close()

    with stream_server(script) as server:
        _with(server, work)
        ports = [parse_qs(urlsplit(path).query)["ports"] for path in server.paths]
    assert ports == [["80"], ["80"], ["81"]]


def test_an_error_of_an_older_server() -> None:
    def script(server: ServerSocket) -> None:
        server.accept(_V4)
        for channel in (0, 1):
            server.send(channel, b"\x50\x00")
        server.send(1, b"no such port")
        server.close()

    async def work(client: Client) -> None:
        async with client.port_forward("p", 80) as forward:
            connection = await forward.connect(80)
            with pytest.raises(ForwardingError, match="no such port"):
                await connection.read()
            await connection.close()

    with stream_server(script) as server:
        _with(server, work)


def test_a_tunnel_that_is_cut_off_ends_all_connections() -> None:
    def script(server: ServerSocket) -> None:
        server.accept(_TUNNEL)
        server.next()
        server.caller.sock.shutdown(socket.SHUT_RDWR)

    async def work(client: Client) -> None:
        async with client.port_forward("p", 80) as forward:
            connection = await forward.connect(80)
            with pytest.raises(ForwardingError, match="lost"):
                await connection.read()
            await asyncio.wait_for(forward.lost(), 30)
            with pytest.raises(ForwardingError, match="lost"):
                await forward.connect(80)

    with stream_server(script) as server:
        _with(server, work)


# Servers that open no WebSockets


@pytest.fixture
def spdy_only(running: Pods) -> Iterator[Access]:
    """Access through a proxy that takes no GET, and so no WebSocket."""
    rejecting = ("--reject-methods=GET", "--reject-paths=^$")
    with Following(Commands(running.space), "proxy", "--port=0", *rejecting) as following:
        port = following.line().rpartition(":")[2].strip()
        access = access_to(running.space)
        yield access._replace(place=ClientConfig(server=f"http://127.0.0.1:{port}"))
        following.interrupt()


def test_commands_are_run_over_spdy_where_no_websocket_is_opened(spdy_only: Access) -> None:
    space = spdy_only.namespace
    text = b"x" * 200_000
    terminal = Streams(stdin=True, stderr=False, tty=True)
    with SyncClient(spdy_only) as client:
        words = ["sh", "-c", "cat; echo err >&2; exit 3"]
        assert client.execute("p", words, space, stdin=text) == Outcome(3, text, b"err\n")
        with client.exec("p", ["sh", "-c", "echo a"], space, streams=terminal) as process:
            process.resize(80, 20)
            assert process.read() == (STDOUT, b"a\r\n")
            assert process.wait() == 0
        with pytest.raises(NotFound):
            client.execute("none", ["true"], space)


def test_ports_are_forwarded_over_spdy_where_no_websocket_is_opened(spdy_only: Access) -> None:
    with (
        SyncClient(spdy_only) as client,
        client.port_forward("p", 7, spdy_only.namespace) as forward,
    ):
        for text in (b"one", b"two"):
            connection = forward.connect(7)
            connection.write(text)
            connection.end()
            assert connection.read() == text
            assert connection.read() == b""
