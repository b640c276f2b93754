"""What the agents of simulated nodes check of pods, and what they do with their containers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.simulation import Pods, asking, behaviour, container
from support.waiting import eventually
from support.web_sockets import BINARY, HELLO, KEY, TOKEN, WebSocket

ON_0: dict[str, Any] = {"nodeName": "simulated-0"}
PORT = container(ports=[{"containerPort": 80, "hostPort": 8080}])


@pytest.mark.parametrize(
    ("fields", "reason", "message"),
    [
        (
            {"containers": [asking(cpu="17")]},
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 17000, used: 1000, capacity: 16000",
        ),
        (
            {"containers": [asking(memory="65Gi")]},
            "OutOfmemory",
            "Node didn't have enough resource: memory, requested: 69793218560, used: 0,"
            " capacity: 68719476736",
        ),
        (
            {"nodeSelector": {"disk": "fast"}},
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (
            {"containers": [PORT]},
            "NodePorts",
            "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod"
            " ports",
        ),
        (
            {"os": {"name": "windows"}},
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS",
        ),
    ],
)
def test_a_node_rejects_pods_that_name_it_and_do_not_fit(
    any_pods: Pods, fields: dict[str, Any], reason: str, message: str
) -> None:
    pods = any_pods
    taken = {**PORT, **asking(cpu="1")}
    pods.create("first", taken, **ON_0)
    pods.await_ready("first")
    other = {name: value for name, value in fields.items() if name != "containers"}
    pods.create("second", *fields.get("containers", ()), **other, **ON_0)
    status = pods.await_phase("Failed", "second")
    assert (status["reason"], status["message"]) == (reason, f"Pod was rejected: {message}")
    assert pods.await_event(reason, "second")["message"] == message


@pytest.fixture
def tainted(pods: Pods) -> Iterator[str]:
    """A node whose taint drives pods away."""
    name = pods.nodes.names()[-1]
    taint = {"key": "gone", "effect": "NoExecute"}
    assert pods.nodes.patch(name, {"spec": {"taints": [taint]}}).status == 200
    yield name
    assert pods.nodes.patch(name, {"spec": {"taints": None}}).status == 200


def test_a_node_judges_pods_that_others_bind_to_it(pods: Pods, tainted: str) -> None:
    pods.create("p", schedulerName="other")
    pods.create("q", schedulerName="other", tolerations=[{"operator": "Exists"}])
    for pod in ("p", "q"):
        body = {"metadata": {"name": pod}, "target": {"kind": "Node", "name": tainted}}
        answer = pods.space.client.post(pods.collection.item(pod, "binding"), body)
        assert answer.status == 201, answer.text
    pods.await_event("TaintToleration")
    pods.await_ready("q")


def test_conditions_say_which_generation_they_are_of(pods_1_36: Pods) -> None:
    pods = pods_1_36
    pods.create(**ON_0)
    pods.await_ready()
    status = pods.status()
    kinds = {item["type"]: item["observedGeneration"] for item in status["conditions"]}
    assert set(kinds.values()) == {1} == {status["observedGeneration"]}
    assert kinds.keys() >= {"PodScheduled", "Ready", "PodReadyToStartContainers"}


def test_a_long_run_ends_the_back_off_of_a_container(pods: Pods) -> None:
    def has_restarted(times: int) -> bool:
        return bool(pods.status()["containerStatuses"][0]["restartCount"] == times)

    settings = behaviour(exit_code="1", exit_after="601s")
    pods.create(annotations=settings)
    pods.await_ready()
    for times in (1, 2, 3):
        pods.server.advance(601)
        eventually(lambda: has_restarted(times), "it starts again at once")  # noqa: B023
    fast = {"metadata": {"annotations": behaviour(exit_after="0s")}}
    assert pods.collection.patch("p", fast).status == 200
    status = pods.await_waiting("CrashLoopBackOff")
    assert "back-off 10s restarting" in status["state"]["waiting"]["message"]


def test_a_client_talks_to_an_ephemeral_container(pods_1_36: Pods) -> None:
    pods = pods_1_36
    pods.create()
    pods.await_ready()
    debugger = {"name": "debugger", "image": "busybox", "command": ["sh"], "stdin": True}
    path = pods.collection.item("p", "ephemeralcontainers")
    added = {"spec": {"ephemeralContainers": [debugger]}}
    assert pods.space.client.patch(path, added).status == 200

    def state() -> dict[str, Any]:
        statuses = pods.status().get("ephemeralContainerStatuses") or [{"state": {}}]
        found: dict[str, Any] = statuses[0]["state"]
        return found

    eventually(lambda: "running" in state(), "it runs")
    query = f"{pods.collection.item('p', 'attach')}?container=debugger&stdin=true&stdout=true"
    offer = "Sec-WebSocket-Protocol: v5.channel.k8s.io"
    with WebSocket(pods.server, query, offer, hello=(*HELLO, KEY, TOKEN)) as client:
        assert client.next() == (BINARY, b"\x01")  # it is connected
        client.send(BINARY, b"\x00echo hello $HOSTNAME; exit 3\n")
        while (text := client.next()[1]) != b"\x01hello p\n":
            assert text[:1] == b"\x01", text
        assert b"Success" in client.next()[1]
    eventually(lambda: "terminated" in state(), "it has ended")
    assert state()["terminated"]["exitCode"] == 3
    assert pods.is_ready()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo log; echo -n OK > /dev/termination-log; exit 1", "OK"),
        ("echo log; echo end; exit 1", "log\nend\n"),
        ("echo log", None),
    ],
)
def test_a_container_leaves_a_message(pods: Pods, script: str, message: str | None) -> None:
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    pods.create("p", container(command=["sh", "-c", script], **policy), restartPolicy="Never")
    eventually(lambda: "terminated" in pods.state(), "it has ended")
    assert pods.state()["terminated"].get("message") == message


def test_a_mount_waits_for_the_variables_of_its_path(pods: Pods) -> None:
    field = {"fieldRef": {"fieldPath": "metadata.annotations['part']"}}
    mounts = [
        {"name": "v", "mountPath": "/part", "subPathExpr": "$(PART)/x"},
        {"name": "v", "mountPath": "/whole"},
    ]
    pods.create(
        "p",
        container(
            command=["sh", "-c", "echo hi > /part/file; cat /whole/a/x/file; sleep 999"],
            env=[{"name": "PART", "valueFrom": field}],
            volumeMounts=mounts,
        ),
        terminationGracePeriodSeconds=0,
        volumes=[{"name": "v", "emptyDir": {}}],
    )
    status = pods.await_waiting("CreateContainerConfigError")
    assert status["state"]["waiting"]["message"] == "missing value for PART"
    assert pods.collection.patch("p", {"metadata": {"annotations": {"part": "a"}}}).status == 200
    pods.await_ready()
    assert pods.log() == "hi\n"


def test_a_container_has_its_user_its_services_and_a_file_system_that_it_may_not_write(
    pods: Pods,
) -> None:
    service = {"ports": [{"port": 8765}], "clusterIP": "10.0.0.77"}
    pods.space.collection("services").create("my-db", spec=service)
    security = {"runAsUser": 1002, "runAsGroup": 7, "readOnlyRootFilesystem": True}
    script = "id; echo $MY_DB_PORT_8765_TCP; echo x > /dev/null; echo x > /file"
    pods.create(
        "p",
        container(command=["/bin/sh", "-c", script], securityContext=security),
        restartPolicy="Never",
    )
    pods.await_phase("Failed")
    assert pods.log().splitlines() == [
        "uid=1002 gid=7 groups=7",
        "tcp://10.0.0.77:8765",
        "/bin/sh: can't create /file: Read-only file system",
    ]
