"""Containers that serve on ports and call each other: through addresses, names and services."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from support.simulation import Pods, container
from support.waiting import eventually

AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.63.0"


def agnhost(*words: str, **fields: Any) -> dict[str, Any]:
    return container(**{"image": AGNHOST, "args": list(words), **fields})


@pytest.fixture
def client(pods: Pods) -> Pods:
    """A server `web` behind a service, and a pod that calls it."""
    pods.create("web", agnhost("netexec", "--http-port=8080"), labels={"app": "web"})
    pods.create("client", agnhost("pause"))
    ports = [
        {"name": "http", "port": 80, "targetPort": 8080},
        {"name": "udp", "port": 90, "targetPort": 8081, "protocol": "UDP"},
    ]
    pods.space.collection("services").create(
        "front", spec={"selector": {"app": "web"}, "ports": ports}
    )
    pods.await_ready("web", "client")
    eventually(
        lambda: pods.run("curl", "-s", "front/healthz", name="client").code == 0, "it serves"
    )
    return pods


def test_a_service_is_called_by_its_name(client: Pods) -> None:
    place = f"front.{client.space.name}.svc.cluster.local"
    for name in ("front", f"front.{client.space.name}", place):
        assert client.run("curl", "-s", f"{name}/hostname", name="client").stdout == "web"
    assert client.run("sh", "-c", "echo hostname | nc -u front 90", name="client").stdout == "web"


def test_a_server_sees_the_address_of_the_pod_that_calls(client: Pods) -> None:
    told = client.run("curl", "-s", "front/clientip", name="client").stdout
    assert told.rpartition(":")[0] == client.status("client")["podIP"]


def test_calls_fail_as_those_of_a_network(client: Pods) -> None:
    address = client.status("web")["podIP"]
    assert client.run("curl", "-s", "nowhere", name="client").code == 6
    refused = client.run("/agnhost", "connect", f"{address}:81", name="client")
    assert refused.stderr == "REFUSED: connection refused\n"
    assert "DNS: " in client.run("/agnhost", "connect", "nowhere:80", name="client").stderr


def test_a_server_calls_others_and_runs_commands(client: Pods) -> None:
    dial = "front/dial?host=front&port=80&request=hostname&tries=2"
    told = client.run("curl", "-s", dial, name="client").stdout
    assert json.loads(told) == {"responses": ["web", "web"]}
    told = client.run("curl", "-s", "front/shell?cmd=echo%20hello", name="client").stdout
    assert json.loads(told) == {"output": "hello\n"}


def test_a_server_logs_its_requests(client: Pods) -> None:
    client.run("curl", "-s", "front/echo?msg=greeting", name="client")
    assert "GET /echo?msg=greeting" in client.log("web")


def test_a_server_that_is_told_to_exit_ends_its_container(client: Pods) -> None:
    client.run("curl", "-s", "front/exit?code=3", name="client")

    def ended() -> bool:
        (status,) = client.status("web")["containerStatuses"]
        return bool(status["lastState"].get("terminated", {}).get("exitCode") == 3)

    eventually(ended, "the server has ended")


def test_hooks_call_other_pods(client: Pods) -> None:
    address = client.status("web")["podIP"]
    call = {"host": address, "port": 8080, "path": "/echo?msg=started"}
    words = ["sh", "-c", f"curl http://{address}:8080/echo?msg=stopping"]
    hooks = {"postStart": {"httpGet": call}, "preStop": {"exec": {"command": words}}}
    client.create("hooked", agnhost("pause", lifecycle=hooks))
    client.await_ready("hooked")
    assert "msg=started" in client.log("web")
    client.collection.delete("hooked")
    client.await_gone("hooked")
    assert "msg=stopping" in client.log("web")


def test_probes_ask_the_server_of_a_container(pods: Pods) -> None:
    wrong = {"httpGet": {"path": "/none", "port": 80}, "periodSeconds": 1}
    right = {"httpGet": {"path": "/localhost.crt", "port": 80}, "periodSeconds": 1}
    pods.create("wrong", agnhost("test-webserver", readinessProbe=wrong))
    pods.create("right", agnhost("test-webserver", readinessProbe=right))
    pods.await_ready("right")
    text = "Readiness probe failed: HTTP probe failed with statuscode: 404"
    pods.await_event("Unhealthy", "wrong", text)
    assert not pods.is_ready("wrong")
    pods.run("mv", "/localhost.crt", "/tmp/", name="right")
    eventually(lambda: not pods.is_ready("right"), "the file is gone")


def test_names_that_a_name_server_knows(client: Pods) -> None:
    service = client.space.collection("services").read("front")["spec"]["clusterIP"]
    found = client.run("dig", "+short", "+search", "front", name="client").stdout
    assert found == f"{service}\n"
    assert client.run("cat", "/etc/hosts", name="client").stdout.endswith("\tclient\n")
    settings = client.run("cat", "/etc/resolv.conf", name="client").stdout
    assert settings.startswith(f"search {client.space.name}.svc.cluster.local svc.cluster.local")


def test_calls_that_each_cause_a_hundred_others_end(client: Pods) -> None:
    asked = "hostname"
    for _ in range(5):
        asked = f"dial?host=front&port=80&tries=100&request={quote(asked, safe='')}"
    told = client.run("curl", "-s", f"front/{asked}", name="client")
    assert "i/o timeout" in told.stdout
    once = client.run("curl", "-s", "front/dial?host=front&port=80&request=hostname", name="client")
    assert json.loads(once.stdout) == {"responses": ["web"]}


def test_a_command_that_calls_its_own_pod_or_those_that_call_it_is_refused(pods: Pods) -> None:
    loop = "while :; do curl -s http://localhost:80/; curl -s http://{}/; sleep 1; done"
    for name, other in (("first", "second"), ("second", "first")):
        text = loop.format(f"{other}-service:80")
        pods.create(name, container(command=["sh", "-c", text]), labels={"app": name})
        pods.space.collection("services").create(
            f"{name}-service", spec={"selector": {"app": name}, "ports": [{"port": 80}]}
        )
    pods.await_ready("first", "second")
    answer = pods.run("curl", "-s", "http://localhost:80/", name="first")
    assert answer.code == 7
    assert pods.space.client.get(pods.space.collection("pods").item("first", "log")).status == 200
