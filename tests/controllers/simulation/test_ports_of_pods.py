"""Connections to the ports of containers on simulated nodes: port forwarding and proxies."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path

import pytest
from support.client import PATIENCE
from support.extension import Caller, fields
from support.http_server import Handler, HttpServer
from support.kubectl import KUBECTL, Kubectl
from support.simulation import Pods, container
from support.spdy import Forwarding, frame
from support.upgrading import SPDY, SWITCH, changed, exactly
from support.waiting import eventually
from support.web_sockets import BINARY, CLOSE, HELLO, KEY, TEXT, TOKEN, WebSocket
from support.webhook import Hooked, WebhookServer, allow
from support.wire import Wire

PORTS = [{"containerPort": 80, "name": "web"}, {"containerPort": 53, "protocol": "UDP"}]
GET = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def text_of(pods: Pods) -> str:
    return f"port 80 of pod {pods.space.name}/p, simulated\n"


@pytest.fixture
def running(pods_1_36: Pods) -> Pods:
    """A pod that declares the TCP port 80."""
    pods_1_36.create("p", container(ports=PORTS))
    pods_1_36.await_ready()
    return pods_1_36


@contextmanager
def over_spdy(pods: Pods) -> Iterator[Forwarding]:
    version = "X-Stream-Protocol-Version: portforward.k8s.io"
    with closing(Wire(pods.server)) as wire:
        wire.ask(f"POST {pods.collection.item('p', 'portforward')}", *SPDY, version)
        early = [changed(wire)]
        assert b"portforward.k8s.io" in wire.head
        yield Forwarding(wire.send, lambda: early.pop() if early else wire.sock.recv(65536))


@contextmanager
def over_messages(pods: Pods) -> Iterator[Forwarding]:
    """SPDY in the messages of a WebSocket."""
    with websocket(pods, "", "SPDY/3.1+portforward.k8s.io") as client:
        yield Forwarding(lambda data: client.send(BINARY, data), lambda: client.next()[1])


def test_the_image_of_a_web_server_listens_without_saying_so(running: Pods) -> None:
    running.create("w", container(image="nginx:1.27"), restartPolicy="Never")
    running.await_ready("w")
    client, item = running.space.client, running.collection.item
    assert "port 80 of pod" in client.get(item("w:80", "proxy/")).text
    assert client.get(item("w:8080", "proxy/")).status == 503


def websocket(pods: Pods, query: str, protocol: str) -> WebSocket:
    path = f"{pods.collection.item('p', 'portforward')}?{query}"
    offer = f"Sec-WebSocket-Protocol: {protocol}"
    return WebSocket(pods.server, path, offer, hello=(*HELLO, KEY, TOKEN))


def test_a_declared_port_answers_http_and_any_other_refuses(any_pods: Pods) -> None:
    pods, client = any_pods, any_pods.space.client
    pods.create("p", container(ports=PORTS), labels={"app": "p"})
    pods.await_ready()
    assert client.get(pods.collection.item("p", "proxy/any/path")).text == text_of(pods)
    for port in (53, 81):
        answer = client.get(pods.collection.item(f"p:{port}", "proxy/"))
        assert answer.status == 503, answer.text
        assert "connect: connection refused" in answer.body["message"]
    services = pods.space.collection("services")
    ports = [{"port": 8080, "targetPort": "web"}]
    services.create("s", spec={"selector": {"app": "p"}, "ports": ports})
    proxied = services.item("s:8080", "proxy/")
    eventually(lambda: client.get(proxied).text == text_of(pods), "the service has an endpoint")


def test_the_agent_of_a_node_answers(pods: Pods) -> None:
    client = pods.space.client
    pods.script(usage={"cpu": "250m", "memory": "64Mi"})
    pods.create("p")
    pods.await_ready()
    node = f"/api/v1/nodes/{pods.node_of()}"
    assert client.get(f"{node}/proxy/healthz").text == "ok"
    listed = [pod["metadata"]["uid"] for pod in client.get(f"{node}/proxy/pods").body["items"]]
    assert pods.read()["metadata"]["uid"] in listed
    assert "kubelet_running_pods " in client.get(f"{node}/proxy/metrics").text
    summaries = client.get(f"{node}/proxy/stats/summary").body["pods"]
    used = {(pod["podRef"]["namespace"], pod["podRef"]["name"]): pod for pod in summaries}
    (summary,) = used[pods.space.name, "p"]["containers"]
    assert summary["cpu"]["usageNanoCores"] == 250_000_000
    assert summary["memory"]["workingSetBytes"] == 64 * 2**20
    assert client.get(f"{node}/proxy/nothing").status == 404
    assert client.get(f"{node}:80/proxy/").status == 503


@pytest.mark.parametrize("forwarding", [over_spdy, over_messages])
def test_connections_of_a_session(
    running: Pods, forwarding: Callable[[Pods], AbstractContextManager[Forwarding]]
) -> None:
    with forwarding(running) as client:
        streams = [client.connect(80) for _ in range(20)]
        for stream in streams:
            client.data(stream, GET[:5])
        refused = client.connect(81)
        for stream in reversed(streams):
            client.data(stream, GET[5:])
        for stream in streams:
            assert client.rest(stream).endswith(text_of(running).encode())
        assert client.rest(refused) == b""
        assert "error forwarding port 81 to pod " in client.errors.pop(refused)
        assert not client.errors


def test_a_session_takes_one_connection_after_the_other(running: Pods) -> None:
    with over_spdy(running) as client:
        for _ in range(5):  # 1010 streams, more than may be open at once
            streams = [client.connect(80) for _ in range(101)]
            for stream in streams:
                client.data(stream, b"", ends=True)
            assert {client.rest(stream) for stream in streams} == {b""}


def test_streams_without_a_port_or_a_type_are_refused(running: Pods) -> None:
    with over_spdy(running) as client:
        for headers in ({"streamtype": "data"}, {"port": "80"}, {"streamtype": "x", "port": "80"}):
            assert client.rest(client.open(**headers)) == b""
        for port in ("0", "70000", "-1", "x"):
            assert client.rest(client.open(streamtype="data", port=port)) == b""
        client.data(stream := client.connect(80), GET)
        assert client.rest(stream).endswith(text_of(running).encode())


@pytest.mark.parametrize(
    "garbage",
    [
        frame(1, b"\0\0\0\1" + bytes(6) + b"not compressed"),
        frame(1, b""),
        b"\x80\x03\x00\x01\x00\xff\xff\xff",  # too long
    ],
)
def test_malformed_frames_end_the_session(running: Pods, garbage: bytes) -> None:
    with over_spdy(running) as client, suppress(ConnectionError):
        client.connect(80)
        client.send(garbage)
        while client.receive():
            pass


def test_channels_of_a_websocket(running: Pods) -> None:
    with websocket(running, "ports=80,81", "v5.channel.k8s.io, v4.channel.k8s.io") as client:
        assert "sec-websocket-protocol: v4.channel.k8s.io\r\n" in client.head
        numbers = [client.next()[1] for _ in range(4)]
        assert numbers == [b"\0\x50\0", b"\1\x50\0", b"\2\x51\0", b"\3\x51\0"]
        opcode, payload = client.next()
        assert (opcode, payload[0]) == (BINARY, 3)
        assert b"connect: connection refused" in payload
        client.send(BINARY, b"\0" + GET)
        received = b""
        while (frame := client.next())[0] == BINARY:
            assert frame[1][0] == 0
            received += frame[1][1:]
        assert received.endswith(text_of(running).encode())
        assert frame[0] == CLOSE


def test_channels_of_messages_of_text(running: Pods) -> None:
    with websocket(running, "ports=80", "v4.base64.channel.k8s.io") as client:
        assert [client.next() for _ in range(2)] == [(TEXT, b"0UAA="), (TEXT, b"1UAA=")]
        client.send(TEXT, b"0" + b64encode(GET))
        received = b""
        while (frame := client.next())[0] == TEXT:
            assert frame[1][:1] == b"0"
            received += b64decode(frame[1][1:])
        assert received.endswith(text_of(running).encode())


def test_a_connection_ends_with_the_pod(running: Pods) -> None:
    with over_spdy(running) as client:
        stream = client.connect(80)
        client.data(stream, GET.replace(b"close", b"keep-alive"))
        assert client.read(stream, 15) == b"HTTP/1.1 200 OK"
        running.collection.delete("p", {"gracePeriodSeconds": 0})
        client.rest(stream)
        assert "connection refused" in _error_of_a_connection(client)


def _error_of_a_connection(client: Forwarding) -> str:
    stream = client.connect(80)
    client.rest(stream)
    return client.errors[stream]


def test_scripted_ports(running: Pods) -> None:
    running.script(ports=[{"port": 22, "text": "SSH-2.0-x\r\n"}, {"port": 7, "echo": {}}])
    with over_spdy(running) as client:
        banner, echo = client.connect(22), client.connect(7)
        assert client.rest(banner) == b"SSH-2.0-x\r\n"
        sent = bytes(range(256)) * 4000
        client.data(echo, sent)
        assert client.read(echo, len(sent)) == sent
        client.data(echo, b"last", ends=True)
        assert client.rest(echo) == b"last"
    answer = running.space.client.get(running.collection.item("p:22", "proxy/"))
    assert (answer.status, "malformed HTTP response" in answer.text) == (503, True)


def test_scripted_http_responses(running: Pods) -> None:
    responses = [
        {"path": "/healthz", "method": "GET", "body": "ok"},
        {"path": "/old/*", "status": 302, "headers": {"Location": "/healthz?a=b", "X-A": "1"}},
        {"method": "POST", "status": 201, "headers": {"Content-Type": "application/json"}},
        {"path": "/nothing", "status": 204, "body": "dropped"},
    ]
    running.script(ports=[{"port": 80, "http": responses}])
    client, proxy = running.space.client, running.collection.item("p:80", "proxy")
    assert client.get(f"{proxy}/healthz", x="y").text == "ok"
    found = client.get(f"{proxy}/old/a/b")
    assert (found.status, found.headers["location"]) == (302, f"{proxy}/healthz?a=b")
    assert found.headers["x-a"] == "1"
    created = client.post(f"{proxy}/any", {"a": "b" * 100_000})
    assert (created.status, created.headers["content-type"]) == (201, "application/json")
    assert client.get(f"{proxy}/nothing").status == 204
    assert client.get(f"{proxy}/healthz/x").status == 404


def test_requests_of_one_connection(running: Pods) -> None:
    head = b" / HTTP/1.1\r\nHost: x\r\n"
    counted, chunks = b"Content-Length: 3\r\n\r\nabc", b"3\r\nabc\r\n0\r\n\r\n"
    last = b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
    with over_spdy(running) as client:
        stream = client.connect(80)
        client.data(stream, b"HEAD" + head + b"\r\nPOST" + head + counted + b"PUT" + head + last)
        answers = client.rest(stream).split(b"HTTP/1.1 200 OK\r\n")
        text = text_of(running).encode()
        assert [answer.partition(b"\r\n\r\n")[2] for answer in answers] == [b"", b"", text, text]
        client.data(stream := client.connect(80), b"GET / HTTP/1.1\r\n\r\n")
        assert client.rest(stream).startswith(b"HTTP/1.1 400 ")


def test_a_port_is_forwarded_to_an_address_of_the_test(running: Pods) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        running.script(ports=[{"port": 80, "forward": f"127.0.0.1:{listening.getsockname()[1]}"}])
        with over_spdy(running) as client:
            stream = client.connect(80)
            accepted, _ = listening.accept()
            accepted.settimeout(PATIENCE)
            with accepted:
                client.data(stream, b"to the test", ends=True)
                assert exactly(accepted, 11) == b"to the test"
                assert accepted.recv(1) == b""
                accepted.sendall(b"from the test")
            assert client.rest(stream) == b"from the test"
    with over_spdy(running) as client:  # nobody listens there any more
        assert "connect: connection refused" in _error_of_a_connection(client)


def test_a_websocket_goes_through_the_proxy_to_a_forwarded_port(running: Pods) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        running.script(ports=[{"port": 80, "forward": f"localhost:{listening.getsockname()[1]}"}])
        with closing(Wire(running.server)) as wire:
            wire.ask(f"GET {running.collection.item('p', 'proxy/chat')}", *HELLO, KEY)
            caller = Caller(listening.accept()[0])
            head = caller.head()
            assert head.startswith(b"GET /chat HTTP/1.1\r\n")
            assert not fields(head, "authorization")
            caller.say(SWITCH.replace(b"SPDY/3.1", b"websocket"))
            assert changed(wire) == b""
            wire.send(b"hello")
            caller.say(caller.take(5).upper())
            assert exactly(wire.sock, 5) == b"HELLO"
            caller.sock.close()


def test_a_probe_asks_the_address_that_a_port_is_forwarded_to(running: Pods) -> None:
    class Ready(Handler):
        def do_GET(self) -> None:
            is_asked = (self.path, self.headers["X-A"]) == ("/ready?x=1", "b")
            self.reply(200 if is_asked and is_ready.is_set() else 503, b"")

    is_ready = threading.Event()
    server = HttpServer(Ready)
    running.script(ports=[{"port": 8080, "forward": f"127.0.0.1:{server.server_port}"}])
    headers = [{"name": "X-A", "value": "b"}]
    probe = {"httpGet": {"port": 8080, "path": "/ready?x=1", "httpHeaders": headers}}
    running.create("q", container(readinessProbe={**probe, "periodSeconds": 1}))
    try:
        running.await_event("Unhealthy", "q", "HTTP probe failed with statuscode: 503")
        is_ready.set()
        running.await_ready("q")
    finally:
        server.stop()


def test_a_webhook_of_simulated_pods_is_called_at_the_address_of_the_test(
    running: Pods, tmp_path: Path
) -> None:
    space = running.space
    server = WebhookServer(tmp_path, f"hook.{space.name}.svc")
    hooked = Hooked(space, server)
    running.script(ports=[{"port": 8443, "forward": f"127.0.0.1:{server.port}"}])
    running.create("q", labels={"app": "hook"})
    services = space.collection("services")
    services.create(
        "hook", spec={"selector": {"app": "hook"}, "ports": [{"port": 443, "targetPort": 8443}]}
    )
    endpoints = space.collection("endpoints")
    eventually(lambda: '"addresses"' in endpoints.get("hook").text, "the service has an endpoint")
    service = {"namespace": space.name, "name": "hook", "path": "/allow"}
    try:
        hooked.validate(clientConfig={"service": service, "caBundle": server.bundle})
        server.serve("/allow", allow)
        space.config_maps.create("a")
        assert [review["request"]["name"] for review in server.reviews["/allow"]] == ["a"]
        running.behaviours.remove("b")
        refusal = space.client.post(space.config_maps.path, {"metadata": {"name": "b"}})
        assert (refusal.status, "connect: connection refused" in refusal.text) == (500, True)
    finally:
        hooked.remove()
        server.close()


@pytest.mark.parametrize("address", ["169.254.169.254:80", "[fe80::1]:80", "0.0.0.0:80"])
def test_ports_are_not_forwarded_to_special_addresses(running: Pods, address: str) -> None:
    running.script(ports=[{"port": 80, "forward": address}])
    with over_spdy(running) as client:
        assert "the address is not allowed" in _error_of_a_connection(client)


@pytest.mark.parametrize(
    ("query", "headers", "text"),
    [
        ("", (), "Upgrade request required"),
        ("", ("Connection: Upgrade", "Upgrade: other"), 'unexpected protocol "other"'),
        ("", (*SPDY, "X-Stream-Protocol-Version: v9"), "unable to negotiate protocol"),
        ("", (*HELLO, KEY), 'query parameter "port" is required'),
        ("ports=0", (*HELLO, KEY), "ports must be > 0"),
        ("ports=80", (*HELLO, KEY, "Sec-WebSocket-Protocol: x"), "unable to negotiate protocol"),
        ("ports=80", HELLO, "bad handshake"),
    ],
)
def test_wrong_requests(running: Pods, query: str, headers: tuple[str, ...], text: str) -> None:
    path = f"{running.collection.item('p', 'portforward')}?{query}"
    with closing(Wire(running.server)) as wire:
        status, body = wire.ask(f"GET {path}", *headers).answer()
    assert (status, json.loads(body)["reason"]) == (400, "BadRequest")
    assert text in json.loads(body)["message"]


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl")
def test_kubectl_forwards_a_port(running: Pods, tmp_path: Path) -> None:
    kubectl = Kubectl(running.server, running.space.name, tmp_path)
    with kubectl.start("port-forward", "pod/p", ":web") as process:
        assert process.stdout is not None
        match = re.match(r"Forwarding from 127.0.0.1:(\d+) -> 80", process.stdout.readline())
        assert match is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(match[1]), timeout=20)
        connection.request("GET", "/")
        assert connection.getresponse().read().decode() == text_of(running)
        connection.close()
