"""The synchronous client."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.namespaces import Space
from support.simulation import Pods, container

from fairlead.client import Streams, SyncClient, Unreachable, exists
from fairlead.client.errors import NotFound
from fairlead.client.processes import STDOUT


def load(space: Space) -> SyncClient:
    return SyncClient.load(space.server.data / "admin.kubeconfig")


@pytest.mark.both_dialects
def test_the_verbs_return_when_they_are_done(space: Space) -> None:
    with load(space) as client:
        maps = client.resource("cm")
        assert maps.type.kind == "ConfigMap"
        maps.create({"metadata": {"name": "a"}}, space.name)
        maps.patch("a", {"data": {"k": "v"}}, space.name)
        assert maps.get("a", space.name)["data"] == {"k": "v"}
        assert maps.wait("a", exists, space.name, timeout=5) is not None
        assert "a" in [item["metadata"]["name"] for item in maps.list(space.name)["items"]]
        assert sum(len(page["items"]) for page in maps.pages(space.name, limit=1)) >= 1
        maps.delete("a", space.name)
        with pytest.raises(NotFound):
            maps.get("a", space.name)
        assert client.discovery.dialect() is space.dialect
        assert client.raw("GET", "/livez") == b"ok"


def test_a_watch_is_a_generator_that_can_be_left(kubernetes: Space) -> None:
    kubernetes.secrets.create("a")
    with load(kubernetes) as client:
        secrets = client.resource("secrets")
        for event in secrets.watch(kubernetes.name):
            if event.type == "ADDED":
                kubernetes.secrets.remove("a")
            else:
                break
        assert event.type == "DELETED"
        assert [item.type for item in secrets.watch(kubernetes.name, timeout=0.1)] == []


def test_many_threads_share_one_client(kubernetes: Space) -> None:
    with load(kubernetes) as client, ThreadPoolExecutor(8) as threads:
        maps = client.resource("configmaps")
        names = [f"m{at}" for at in range(40)]
        created = threads.map(
            lambda name: maps.create({"metadata": {"name": name}}, kubernetes.name), names
        )
        assert [item["metadata"]["name"] for item in created] == names


def test_closing_ends_what_is_going_on_in_other_threads(kubernetes: Space) -> None:
    client = load(kubernetes)
    ended: list[type[BaseException]] = []
    begun = threading.Event()

    def follow() -> None:
        kubernetes.secrets.create("a")
        try:
            for _ in client.resource("secrets").watch(kubernetes.name):
                begun.set()
        except Unreachable as error:
            ended.append(type(error))

    thread = threading.Thread(target=follow)
    thread.start()
    assert begun.wait(20)
    client.close()
    thread.join(20)
    assert ended == [Unreachable]
    with pytest.raises(RuntimeError, match="closed"):
        client.resource("pods")
    client.close()
    assert "fairlead-client" not in {item.name for item in threading.enumerate()}


def test_commands_and_ports_without_asyncio(any_pods: Pods) -> None:
    any_pods.create("p", container(ports=[{"containerPort": 80}]))
    any_pods.await_ready("p")
    space = any_pods.space.name
    with load(any_pods.space) as client:
        with client.exec("p", ["cat"], space, streams=Streams(stdin=True)) as process:
            process.write(b"text")
            assert process.read() == (STDOUT, b"text")
            process.end_input()
            assert process.wait() == 0
        with client.attach("p", space) as process:
            assert process is not None
        with client.port_forward("p", 80, space) as forward:
            connection = forward.connect(80)
            connection.write(b"GET / HTTP/1.0\r\n\r\n")
            assert connection.read().startswith(b"HTTP/1")
            connection.close()
            with socket.create_connection(("127.0.0.1", forward.listen(80)), 10) as local:
                local.sendall(b"GET / HTTP/1.0\r\n\r\n")
                assert local.recv(100).startswith(b"HTTP/1")
