"""exec, attach, cp and logs of containers on simulated nodes, by kubectl and over WebSockets."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.kubectl import KUBECTL, Kubectl
from support.simulation import Pods, container
from support.web_sockets import BINARY, CLOSE, HELLO, KEY, TEXT, TOKEN, WebSocket
from support.wire import Wire

with_kubectl = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl")


def test_a_job_that_sleeps_runs_as_long_and_logs_what_it_prints(any_pods: Pods) -> None:
    script = "echo $NAME started; sleep 1; echo done; exit 3"
    field = {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    any_pods.create(
        "p", container(command=["sh", "-c", script], env=[field]), restartPolicy="Never"
    )
    any_pods.await_phase("Failed")
    (status,) = any_pods.read()["status"]["containerStatuses"]
    end = status["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) == (3, "Error")
    assert any_pods.log() == "p started\ndone\n"


def test_a_script_in_the_syntax_of_another_shell_counts_as_an_unknown_program(
    any_pods: Pods,
) -> None:
    scripts = (
        "set -e; [[ $HOSTNAME =~ -([0-9]+)$ ]] || exit 1",
        "set -e; [[ a == b && a == c ]]",
        "set -e; names=(a b); echo ${names[1]}",
    )
    initial = [
        container(f"i{number}", command=["bash", "-c", script])
        for number, script in enumerate(scripts)
    ]
    main = container(command=["bash", "-c", "names=(a b); server ${names[1]}"])
    any_pods.create("p", main, initContainers=initial)
    any_pods.await_ready()
    assert "syntax error" in any_pods.log("p")


@pytest.mark.parametrize(
    "fields",
    [
        {"command": ["sleep", "infinity"]},
        {"image": "registry.k8s.io/pause:3.10"},
        {"image": "nginx", "ports": [{"containerPort": 80}]},
        {"image": "postgres", "readinessProbe": {"tcpSocket": {"port": 5432}}},
    ],
)
def test_a_command_that_does_not_end_runs_in_a_pod_that_should_finish(
    any_pods: Pods, fields: dict[str, Any]
) -> None:
    any_pods.create("p", container(**fields), restartPolicy="Never")
    any_pods.await_ready()
    assert any_pods.read()["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("fields", "volumes", "reason", "event", "text"),
    [
        (
            {"envFrom": [{"configMapRef": {"name": "late"}}]},
            [],
            "CreateContainerConfigError",
            "Failed",
            'Error: configmap "late" not found',
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            [{"name": "v", "configMap": {"name": "late"}}],
            "ContainerCreating",
            "FailedMount",
            'MountVolume.SetUp failed for volume "v" : configmap "late" not found',
        ),
    ],
)
def test_a_missing_object_keeps_a_container_from_starting(
    any_pods: Pods,
    fields: dict[str, Any],
    volumes: list[Any],
    reason: str,
    event: str,
    text: str,
) -> None:
    any_pods.create("p", container(**fields), volumes=volumes)
    any_pods.await_event(event, text=text)
    (status,) = any_pods.read()["status"]["containerStatuses"]
    assert status["state"]["waiting"]["reason"] == reason
    any_pods.space.config_maps.create("late", data={"a": "1"})
    any_pods.await_ready()


@pytest.fixture
def running(pods_1_36: Pods) -> Pods:
    """A pod with the ConfigMap `config` mounted at /config."""
    pods_1_36.space.config_maps.create("config", data={"key": "from the map"})
    volumes = [{"name": "config", "configMap": {"name": "config"}}]
    mounts = [{"name": "config", "mountPath": "/config"}]
    pods_1_36.create("p", container(volumeMounts=mounts), volumes=volumes)
    pods_1_36.await_ready()
    return pods_1_36


def executing(pods: Pods, query: str, protocol: str = "v5.channel.k8s.io") -> WebSocket:
    path = f"{pods.collection.item('p', 'exec')}?{query}"
    offer = f"Sec-WebSocket-Protocol: {protocol}"
    return WebSocket(pods.server, path, offer, hello=(*HELLO, KEY, TOKEN))


def test_a_command_over_a_websocket(running: Pods) -> None:
    script = "command=sh&command=-c&command=cat+/config/key;cat;echo+no+>%262;exit+3"
    with executing(running, f"{script}&stdin=true&stdout=true&stderr=true") as client:
        assert client.next() == (BINARY, b"\x01")  # it is connected
        assert client.next() == (BINARY, b"\x01from the map")
        client.send(BINARY, b"\x00typed")
        assert client.next() == (BINARY, b"\x01typed")
        client.send(BINARY, b"\xff\x00")  # no more input
        assert client.next() == (BINARY, b"\x02no\n")
        opcode, payload = client.next()
        status = json.loads(payload[1:])
        assert (opcode, payload[0], status["reason"]) == (BINARY, 3, "NonZeroExitCode")
        assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]
        assert client.next()[0] == CLOSE


@pytest.mark.parametrize(
    ("protocol", "result"),
    [("v4.base64.channel.k8s.io", b"Success"), ("base64.channel.k8s.io", b"")],
)
def test_a_command_over_messages_of_text(running: Pods, protocol: str, result: bytes) -> None:
    query = "command=sh&command=-c&command=echo+yes;echo+no+>%262&stdout=true"
    with executing(running, query, f"v9.channel.k8s.io, {protocol}, v5.channel.k8s.io") as client:
        assert f"sec-websocket-protocol: {protocol}\r\n" in client.head
        assert client.next() == (TEXT, b"1")
        assert client.next() == (TEXT, b"1" + b64encode(b"yes\n"))
        frame = client.next()  # stderr was not asked for
        assert result in b64decode(frame[1][1:]) if result else frame[0] == CLOSE


def test_input_in_messages_of_text(running: Pods) -> None:
    query = "command=cat&stdin=true&stdout=true"
    with executing(running, query, "base64.channel.k8s.io") as client:
        assert client.next() == (TEXT, b"1")
        for text in (b64encode(b"typed"), b"!!!!", b64encode(b"again")):
            client.send(TEXT, b"0" + text)
        printed = b""
        while len(printed) < len(b"typedagain"):  # in one message or two
            opcode, payload = client.next()
            assert (opcode, payload[:1]) == (TEXT, b"1")
            printed += b64decode(payload[1:])
        assert printed == b"typedagain"


def test_a_terminal_echoes_what_is_typed(running: Pods) -> None:
    with executing(running, "command=sh&stdin=true&stdout=true&tty=true") as client:
        text = b""
        client.send(BINARY, b"\x00echo ab\x7fc\rexit\r")
        while b'"Success"' not in text:
            text += client.next()[1][1:]
    assert b"echo ab\b \bc\r\n" in text
    assert b"\nac\r\n" in text


def test_the_token_of_a_pod_is_accepted(running: Pods) -> None:
    path = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    with executing(running, f"command=cat&command={path}&stdout=true") as client:
        assert client.next() == (BINARY, b"\x01")
        token = client.next()[1][1:].decode()
    review = {"spec": {"token": token}}
    answer = running.space.client.post("/apis/authentication.k8s.io/v1/tokenreviews", review)
    user = answer.body["status"]["user"]
    assert user["username"] == f"system:serviceaccount:{running.space.name}:default"
    assert user["extra"]["authentication.kubernetes.io/pod-name"] == ["p"]


def test_a_container_that_does_not_run(running: Pods) -> None:
    running.create("q", container(command=["false"]), restartPolicy="Never")
    running.await_phase("Failed", "q")
    lines = "".join(f"{line}\r\n" for line in ("Host: x", *HELLO, KEY, TOKEN))
    path = f"{running.collection.item('q', 'exec')}?command=true&stdout=true"
    with closing(Wire(running.server)) as wire:
        wire.send(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        status, body = wire.answer()
    assert (status, json.loads(body)["message"]) == (404, 'container not found ("c")')


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        (("Connection: Upgrade", "Upgrade: other"), 'unexpected protocol "other"'),
        (HELLO, "bad handshake"),
        ((*HELLO, KEY, "Sec-WebSocket-Protocol: v9"), "unable to negotiate protocol"),
        (
            ("Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v9"),
            "unable to negotiate protocol",
        ),
    ],
)
def test_a_wrong_upgrade_is_refused(running: Pods, headers: tuple[str, ...], text: str) -> None:
    lines = "".join(f"{line}\r\n" for line in ("Host: x", *headers, TOKEN))
    path = f"{running.collection.item('p', 'exec')}?command=true&stdout=true"
    with closing(Wire(running.server)) as wire:
        wire.send(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        status, body = wire.answer()
    assert (status, json.loads(body)["reason"]) == (400, "BadRequest")
    assert text in json.loads(body)["message"]


def test_ctrl_c_ends_what_a_terminal_runs_but_not_its_shell(running: Pods) -> None:
    with executing(running, "command=sh&stdin=true&stdout=true&tty=true") as client:
        text = b""
        client.send(BINARY, b"\x00sleep 3600\r")
        while b"sleep 3600\r\n" not in text:
            text += client.next()[1][1:]
        client.send(BINARY, b"\x00\x03echo $?\rexit\r")
        while b'"Success"' not in text:
            text += client.next()[1][1:]
    assert b"^C\r\n/ # echo $?\r\n" in text
    assert b"\n130\r\n" in text


@with_kubectl
def test_a_followed_log_gets_lines_as_they_are_printed(pods_1_36: Pods, tmp_path: Path) -> None:
    script = "echo first; sleep 60; echo second; sleep 60; echo third"
    pods_1_36.create("p", container(command=["sh", "-c", script]), restartPolicy="Never")
    pods_1_36.await_ready()
    kubectl = Kubectl(pods_1_36.server, pods_1_36.space.name, tmp_path)
    with kubectl.start("logs", "-f", "p", "--timestamps") as followed:
        assert followed.stdout is not None
        assert followed.stdout.readline().endswith(" first\n")
        pods_1_36.server.advance(61)
        assert followed.stdout.readline().endswith(" second\n")
        pods_1_36.server.advance(61)
        assert followed.stdout.readline().endswith(" third\n")
        assert followed.stdout.read() == ""


def test_a_client_that_is_attached_gets_what_a_container_prints(pods_1_36: Pods) -> None:
    script = "echo early; sleep 60; echo out; echo err >&2; sleep 60"
    pods_1_36.create("p", container(command=["sh", "-c", script]), restartPolicy="Never")
    pods_1_36.await_ready()
    pods_1_36.server.advance(30)
    path = f"{pods_1_36.collection.item('p', 'attach')}?stdout=true&stderr=true"
    offer = "Sec-WebSocket-Protocol: v5.channel.k8s.io"
    with WebSocket(pods_1_36.server, path, offer, hello=(*HELLO, KEY, TOKEN)) as client:
        assert client.next() == (BINARY, b"\x01")  # it is connected
        pods_1_36.server.advance(31)
        assert client.next() == (BINARY, b"\x01out\n")
        assert client.next() == (BINARY, b"\x02err\n")
        pods_1_36.server.advance(60)
        opcode, payload = client.next()
        assert (opcode, json.loads(payload[1:])["status"]) == (BINARY, "Success")


@with_kubectl
def test_kubectl_runs_commands_and_copies_files(running: Pods, tmp_path: Path) -> None:
    kubectl = Kubectl(running.server, running.space.name, tmp_path)
    assert kubectl("exec", "p", "--", "cat", "/config/key") == "from the map"
    assert kubectl("exec", "-i", "p", "--", "cat", text="typed") == "typed"
    assert "exit code 3" in kubectl.fails("exec", "p", "--", "sh", "-c", "exit 3")
    assert "127" in kubectl.fails("exec", "p", "--", "nothing")
    (tmp_path / "sent").write_bytes(bytes(range(256)) * 1000)
    kubectl("cp", str(tmp_path / "sent"), "p:/tmp/kept")
    kubectl("cp", "p:/tmp/kept", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == (tmp_path / "sent").read_bytes()
    assert "/none" in kubectl.fails("cp", str(tmp_path / "sent"), "p:/none/kept")
    # As `kubectl cp --retries` goes on.
    rest = kubectl("exec", "p", "--", "sh", "-c", "cat /tmp/kept | tail -c+250001 | wc -c")
    assert rest == "6000\n"


@with_kubectl
@pytest.mark.parametrize("command", [["--", "sh"], []])
def test_a_shell_that_a_client_is_attached_to_ends_with_it(
    pods_1_36: Pods, tmp_path: Path, command: list[str]
) -> None:
    kubectl = Kubectl(pods_1_36.server, pods_1_36.space.name, tmp_path)
    run = ("run", "p", "--image=busybox", "--restart=Never", "-i", *command)
    assert "Error" in kubectl.fails(*run, text="echo hello $HOSTNAME\nexit 5\n")
    assert pods_1_36.await_phase("Failed")
    (status,) = pods_1_36.read()["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 5
    assert pods_1_36.log() == "hello p\n"


def test_a_log_over_a_websocket(pods: Pods) -> None:
    pods.create("p", container(command=["sh", "-c", "echo logged; sleep 60"]))
    pods.await_ready()
    path = pods.collection.item("p", "log")
    with WebSocket(
        pods.server, path, "Sec-WebSocket-Protocol: binary.k8s.io", hello=(*HELLO, KEY, TOKEN)
    ) as client:
        assert client.next() == (BINARY, b"logged\n")
        assert client.next()[0] == CLOSE


def test_a_command_of_a_client_ends_with_its_container(running: Pods) -> None:
    with executing(running, "command=sleep&command=1000&stdout=true") as client:
        assert client.next() == (BINARY, b"\x01")  # it is connected
        path = running.collection.item("p")
        assert running.space.client.delete(path, gracePeriodSeconds=0).status == 200
        status = json.loads(client.next()[1][1:])
        assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "137"}]
