"""Logs and proxies through the agent of a node, over HTTPS with a client certificate."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.namespaces import Collection, Space
from support.neighbour import Neighbour, Reply
from support.process import ServerProcess
from support.running import run_node, run_pod

from fairlead.process.certificates.authority import Pki, ensure_pki


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return ensure_pki(tmp_path_factory.mktemp("agents"), ["127.0.0.1"])


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory, pki: Pki) -> Iterator[ServerProcess]:
    """A server that knows the agents' CA and has a certificate for them."""
    flags = (
        *("--proxy-allowed-networks", "127.0.0.0/8"),
        *("--kubelet-certificate-authority", str(pki.ca.certificate)),
        *("--kubelet-client-certificate", str(pki.admin.certificate)),
        *("--kubelet-client-key", str(pki.admin.key)),
    )
    running = ServerProcess(tmp_path_factory.mktemp("trusting"), flags=flags).start()
    yield running
    running.stop()


@pytest.fixture
def space(trusting: ServerProcess) -> Iterator[Space]:
    client = trusting.client()
    space = Space(trusting, client)
    space.ready_for_pods()
    yield space
    client.close()


@pytest.fixture
def agent(pki: Pki) -> Iterator[Neighbour]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.serving.certificate, pki.serving.key)
    context.load_verify_locations(pki.ca.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    running = Neighbour(context)
    yield running
    running.close()


@pytest.fixture
def pods(space: Space, agent: Neighbour) -> Collection:
    run_pod(space, "p", node=run_node(space, agent.port))
    return space.collection("pods")


def test_logs_come_from_the_node(pods: Collection, agent: Neighbour) -> None:
    agent.answer = lambda item: Reply(headers={"Content-Type": "x/y"}, body=b"line\n")
    answer = pods.client.get(
        pods.item("p", "log"), tailLines=3, timestamps="true", container="c", limitBytes=9
    )
    assert (answer.status, answer.raw) == (200, b"line\n")
    assert answer.headers["Content-Type"] == "text/plain"
    namespace = pods.path.split("/")[4]
    assert agent.requests[0].path == (
        f"/containerLogs/{namespace}/p/c?timestamps=true&tailLines=3&limitBytes=9"
    )
    assert agent.requests[0].headers["Authorization"] is None


def test_logs_of_an_agent_that_nobody_knows_are_read_where_that_is_asked_for(
    space: Space, pki: Pki, tmp_path: Path
) -> None:
    stranger = ensure_pki(tmp_path, ["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(stranger.serving.certificate, stranger.serving.key)
    context.load_verify_locations(pki.ca.certificate)
    context.verify_mode = ssl.CERT_REQUIRED  # we prove ourselves all the same
    agent = Neighbour(context)
    agent.answer = lambda item: Reply(body=b"line\n")
    run_pod(space, "p", node=run_node(space, agent.port))
    log = space.collection("pods").item("p", "log")
    refused = space.client.get(log)
    assert refused.status == 500
    assert "x509: certificate signed by unknown authority" in refused.message
    answer = space.client.get(log, insecureSkipTLSVerifyBackend="true")
    assert (answer.status, answer.raw) == (200, b"line\n")
    agent.close()


def test_logs_are_followed(pods: Collection, agent: Neighbour) -> None:
    more = threading.Event()
    agent.answer = lambda item: Reply(pieces=[(None, b"one\n"), (more, b"two\n")])
    connection = pods.client.connect()
    path = f"{pods.item('p', 'log')}?follow=1"
    connection.request("GET", path, headers=pods.client.head_of())
    response = connection.getresponse()
    assert response.readline() == b"one\n"
    more.set()
    assert response.read() == b"two\n"
    connection.close()


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [(400, 400, "BadRequest"), (404, 404, "NotFound"), (500, 500, "InternalError")],
)
def test_what_the_agent_refuses_is_said(
    pods: Collection, agent: Neighbour, code: int, status: int, reason: str
) -> None:
    agent.answer = lambda item: Reply(code, body=b'container "c" is waiting')
    answer = pods.client.get(pods.item("p", "log"))
    assert (answer.status, answer.body["reason"]) == (status, reason)
    assert 'container "c" is waiting' in answer.message


def test_a_node_is_reached_through_its_agent(
    space: Space, pods: Collection, agent: Neighbour
) -> None:
    nodes = space.everywhere("nodes")
    name = f"node-{space.name}"
    for form in (name, f"{name}:{agent.port}", f"http:{name}:{agent.port}"):
        assert nodes.client.get(f"{nodes.item(form, 'proxy')}/stats").raw == b"hello"
    assert [request.path for request in agent.requests] == ["/stats"] * 3


def test_an_agent_of_another_ca_is_not_trusted(space: Space, tmp_path: Path) -> None:
    other = ensure_pki(tmp_path, ["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(other.serving.certificate, other.serving.key)
    stranger = Neighbour(context)
    try:
        run_pod(space, "p", node=run_node(space, stranger.port))
        pods = space.collection("pods")
        answer = pods.client.get(pods.item("p", "log"))
        assert answer.status == 500
        assert "x509: certificate signed by unknown authority" in answer.message
        assert stranger.requests == []
    finally:
        stranger.close()
