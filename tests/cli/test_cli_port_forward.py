"""`fairlead port-forward`, to pods on simulated nodes."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.request import urlopen

import pytest
from support.commands import Commands
from support.following import Following
from support.simulation import Pods, container

_WEB = container(ports=[{"containerPort": 80, "name": "http"}])


@pytest.fixture
def commands(any_pods: Pods) -> Commands:
    """In the namespace of a pod named p, which runs and answers on port 80."""
    any_pods.create("p", _WEB, labels={"app": "web"})
    any_pods.await_ready("p")
    return Commands(any_pods.space)


def _port(line: str, remote: int = 80) -> int:
    match = re.fullmatch(rf"Forwarding from (?:127\.0\.0\.1|\[::1\]):(\d+) -> {remote}", line)
    assert match is not None, line
    return int(match[1])


def _page(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
        text: str = answer.read().decode()
        return text


@contextmanager
def _forwarding(
    commands: Commands, *words: str, remote: int = 80
) -> Iterator[tuple[Following, int]]:
    """The command, and its first local port."""
    with Following(commands, "port-forward", *words, "--address", "127.0.0.1") as following:
        yield following, _port(following.line(), remote)


@pytest.mark.both_dialects
def test_a_free_port_is_forwarded_until_that_is_enough(commands: Commands) -> None:
    with _forwarding(commands, "p", ":80") as (following, port):
        for _ in range(3):
            assert _page(port).startswith("port 80 of pod")
            assert following.line() == f"Handling connection for {port}"
        assert following.interrupt() == 130
        assert following.errors.empty()


def test_ports_by_name_and_through_a_service(any_pods: Pods, commands: Commands) -> None:
    ports = [{"name": "web", "port": 8080, "targetPort": "http"}]
    services = any_pods.space.collection("services")
    services.create("s", spec={"selector": {"app": "web"}, "ports": ports})
    for words in (("p", ":http"), ("svc/s", ":8080"), ("svc/s", ":web")):
        with _forwarding(commands, *words) as (_, port):
            assert _page(port).startswith("port 80 of pod")


def test_both_loopback_addresses_have_the_same_port(commands: Commands) -> None:
    with Following(commands, "port-forward", "p", ":80", ":81") as following:
        ports = [_port(following.line()) for _ in range(2)]
        assert ports[0] == ports[1]
        assert _page(ports[0]).startswith("port 80 of pod")
        assert _port(following.line(), 81) != ports[0]


def test_a_refused_connection_leaves_the_others_alone(commands: Commands) -> None:
    with _forwarding(commands, "p", ":81", ":80", remote=81) as (following, refusing):
        port = _port(following.line())
        with socket.create_connection(("127.0.0.1", refusing)) as client:
            client.settimeout(30)
            assert client.recv(100) == b""
        assert "connection refused" in following.error_line()
        assert _page(port).startswith("port 80 of pod")


def test_much_data_in_both_directions(any_pods: Pods) -> None:
    any_pods.script(selector={"pods": ["echo"]}, ports=[{"port": 7, "echo": {}}])
    any_pods.create("echo", container(ports=[{"containerPort": 7}]))
    any_pods.await_ready("echo")
    sent = bytes(range(256)) * 8_000
    with Following(
        Commands(any_pods.space), "port-forward", "echo", ":7", "--address=127.0.0.1"
    ) as following:
        port = _port(following.line(), 7)
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.settimeout(30)
            received = bytearray()
            for start in range(0, len(sent), 64_000):
                piece = sent[start : start + 64_000]
                client.sendall(piece)
                while len(received) < start + len(piece):
                    received += client.recv(65536)
            client.shutdown(socket.SHUT_WR)
            assert client.recv(100) == b""
        assert bytes(received) == sent


def test_a_pod_that_is_deleted_meanwhile_ends_it(any_pods: Pods, commands: Commands) -> None:
    with _forwarding(commands, "p", ":80") as (following, port):
        assert _page(port)
        any_pods.collection.remove("p")
        any_pods.await_gone("p")
        with suppress(OSError):
            _page(port)
        last = ""
        while not last.startswith("error: "):
            last = following.error_line()
        assert last in ("error: the pod p is gone", "error: lost the connection to pod p")
        assert following.process.wait(30) == 1


def test_a_port_that_is_in_use(commands: Commands) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = commands.run("port-forward", "p", f"{port}:80", "--address=127.0.0.1")
    assert ran == (
        1,
        "",
        f"not forwarded: 127.0.0.1:{port}: Address already in use\n"
        "error: none of the local ports can be used\n",
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("p",), "error: name a pod and its ports"),
        (("p", "x"), "error: the pod p has no port named x"),
        (("p", "70000"), "error: '70000': ports are [LOCAL:]PORT"),
        (("p", "1:2:3"), "error: the pod p has no port named 2:3"),
        (("p", "x:80"), "error: 'x:80': ports are [LOCAL:]PORT"),
        (("p", "0"), "error: '0': a port of a pod is a number from 1"),
        (("p", "1:80", "--address=,"), "error: --address takes addresses"),
        (("p", ":80", "--address=1.2.3.4"), "not forwarded: 1.2.3.4:0: "),
        (("none", "80"), 'Error from server (NotFound): pods "none" not found'),
        (("p", ":80", "--as=eve"), "Error from server (Forbidden)"),
    ],
)
def test_what_cannot_be_forwarded(commands: Commands, words: tuple[str, ...], error: str) -> None:
    ran = commands.run("port-forward", *words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(error)


def test_a_pod_that_does_not_run_yet(any_pods: Pods) -> None:
    any_pods.create("late", nodeSelector={"no": "node"})
    ran = Commands(any_pods.space).run("port-forward", "late", "80")
    assert ran == (1, "", "error: the pod late is not running: it is Pending\n")
