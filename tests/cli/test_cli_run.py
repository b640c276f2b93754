"""`fairlead run` and `expose`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from support.commands import Commands
from support.kubectl import Kubectl, compared
from support.pseudo_terminal import TerminalSession
from support.simulation import Pods, container


@pytest.fixture
def commands(any_pods: Pods) -> Commands:
    return Commands(any_pods.space)


_EVERYTHING = (
    *("run", "x", "--image=a", "--port=80", "--env=A=b=c", "--labels=a=b,c=d", "--restart=Never"),
    *("--image-pull-policy=Never", "--annotations=n=o", "--privileged", "--dry-run=client"),
    *("-o", "yaml", "--command", "--", "sh", "-c", "true"),
)


def test_flags_become_fields(commands: Commands) -> None:
    pod = yaml.safe_load(commands(*_EVERYTHING))
    labels, annotations = {"a": "b", "c": "d"}, {"n": "o"}
    namespace = commands.space.name
    named = {"name": "x", "namespace": namespace}
    assert pod["metadata"] == {**named, "labels": labels, "annotations": annotations}
    assert pod["spec"] == {
        "containers": [
            {
                "name": "x",
                "image": "a",
                "command": ["sh", "-c", "true"],
                "env": [{"name": "A", "value": "b=c"}],
                "ports": [{"containerPort": 80}],
                "imagePullPolicy": "Never",
                "securityContext": {"privileged": True},
            }
        ],
        "restartPolicy": "Never",
    }


@compared
def test_a_pod_is_that_of_kubectl(pods: Pods, tmp_path: Path) -> None:
    theirs = yaml.safe_load(Kubectl(pods.server, pods.space.name, tmp_path)(*_EVERYTHING))
    ours = yaml.safe_load(Commands(pods.space)(*_EVERYTHING))
    assert theirs["spec"]["containers"][0].pop("resources") == {}
    assert theirs["spec"].pop("dnsPolicy") == "ClusterFirst"
    assert ours["spec"] == theirs["spec"]
    assert ours["metadata"]["labels"] == theirs["metadata"]["labels"]


@pytest.mark.both_dialects
def test_a_pod_runs(any_pods: Pods, commands: Commands) -> None:
    assert commands("run", "web", "--image=nginx", "--port=80", "--expose") == (
        "pod/web created\nservice/web created\n"
    )
    any_pods.await_ready("web")
    service = any_pods.space.collection("services").read("web")
    assert service["spec"]["selector"] == {"run": "web"}
    assert service["spec"]["ports"][0]["targetPort"] == 80
    overrides = '{"spec": {"terminationGracePeriodSeconds": 3}}'
    commands("run", "other", "--image=nginx", f"--overrides={overrides}")
    assert any_pods.read("other")["spec"]["terminationGracePeriodSeconds"] == 3


@pytest.mark.both_dialects
def test_an_attached_pod_ends_with_its_exit_code_and_is_removed(
    any_pods: Pods, commands: Commands
) -> None:
    words = ("--image=busybox", "--restart=Never", "--rm", "-i", "-q")
    ran = commands.run("run", "once", *words, "--", "sh", text="echo hello\nexit 3\n")
    assert ran == (3, "hello\n", "")
    any_pods.await_gone("once")
    ran = commands.run("run", "once", *words, "--", "sh", "-c", "echo logged; exit 4")
    assert ran == (4, "logged\n", "")


def test_a_shell_in_a_new_pod(any_pods: Pods, commands: Commands) -> None:
    words = ("run", "sh", "--image=busybox", "--restart=Never", "--rm", "-it", "--", "sh")
    with TerminalSession(commands, *words) as terminal:
        terminal.until("Attached")
        terminal.type("echo $((40 + 2))\r")
        terminal.until("42")
        terminal.type("exit\r")
        terminal.until('pod "sh" deleted')
        assert terminal.wait() == 0
    any_pods.await_gone("sh")


def test_an_image_that_cannot_be_pulled_is_told(any_pods: Pods, commands: Commands) -> None:
    any_pods.script(selector={"pods": ["bad"]}, pullFailure="no such image")
    words = ("--image=bad", "--rm", "--attach", "--restart=Never", "--pod-running-timeout=2s")
    ran = commands.run("run", "bad", *words)
    assert ran.code == 1
    assert "no such image" in ran.errors
    assert ran.errors.endswith("error: the container bad of the pod bad does not run in time\n")
    any_pods.await_gone("bad")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("run", "error: give the pod one NAME"),
        ("run x", "error: the image is missing"),
        ("run x y --image=i", "error: give the pod one NAME"),
        ("run x --image=i --restart=Sometimes", "error: --restart takes Always, OnFailure, Never"),
        ("run x --image=i --rm", "error: --rm needs --attach"),
        ("run x --image=i -t", "error: -t needs -i"),
        ("run x --image=i -i --dry-run=client", "error: a dry run creates nothing"),
        ("run x --image=i --expose", "error: --expose needs --port"),
        ("run x --image=i --command", "error: --command needs a command"),
        ("run x --image=i --env=A", "error: --env takes NAME=VALUE, not 'A'"),
        ("run x --image=i --port=0", "error: --port takes a number"),
        ("run x --image=i --labels=a", "error: --labels takes KEY=VALUE, not a"),
        ("run x --image=i --overrides={", "error: --overrides is not JSON"),
        ('run x --image=i --overrides={"kind":"Y"}', "error: --overrides cannot change"),
        ("run x --image=i --override-type=y --overrides={}", "error: --override-type takes"),
        ("run X! --image=i", 'The Pod "X!" is invalid'),
        ("run x --image=i --as=eve", "Error from server (Forbidden)"),
        ("expose", "error: name what is exposed"),
        ("expose pod", "error: name what is exposed"),
        ("expose pod none", 'Error from server (NotFound): pods "none" not found'),
        ("expose sa default", "error: a ServiceAccount cannot be exposed"),
    ],
)
def test_what_cannot_be_made(commands: Commands, words: str, error: str) -> None:
    ran = commands.run(*words.split())
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(error)


# Expose


@pytest.fixture
def exposable(any_pods: Pods) -> Commands:
    """A pod with two ports, one without labels, and deployments."""
    ports = [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}]
    any_pods.create("web", container(ports=ports), labels={"app": "web"})
    any_pods.create("bare", container())
    deployments = any_pods.space.collection("deployments", "apps")
    for name, extra in (
        ("d", {}),
        ("e", {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}),
    ):
        spec = {
            "selector": {"matchLabels": {"app": name}, **extra},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container(ports=[{"containerPort": 8080}])]},
            },
        }
        deployments.create(name, spec=spec)
    return Commands(any_pods.space)


def test_a_service_for_a_deployment(any_pods: Pods, exposable: Commands) -> None:
    assert exposable("expose", "deployment", "d") == "service/d exposed\n"
    service = any_pods.space.collection("services").read("d")
    assert service["spec"]["selector"] == {"app": "d"}
    assert service["spec"]["ports"] == [{"port": 8080, "protocol": "TCP", "targetPort": 8080}]
    flags = ("--name=d2", "--port=80", "--target-port=http", "--type=NodePort", "-l", "x=y")
    assert exposable("expose", "svc/d", *flags, "-o", "name") == "service/d2\n"
    service = any_pods.space.collection("services").read("d2")
    assert service["metadata"]["labels"] == {"x": "y"}
    assert service["spec"]["type"] == "NodePort"
    assert service["spec"]["ports"][0]["targetPort"] == "http"


_EXPOSED = (
    "pod web --name=a",
    "pod web --name=a --port=81,82 --protocol=UDP",
    "pod web --name=a --port=53",
    "deployment d --name=a --cluster-ip=None --session-affinity=ClientIP",
    "deployment d --name=a --selector=q=r --external-ip=1.2.3.4",
    "deployment d --name=a --type=LoadBalancer --load-balancer-ip=1.2.3.4 --labels=a=b",
)


@compared
@pytest.mark.parametrize("words", _EXPOSED)
def test_a_service_is_that_of_kubectl(words: str, exposable: Commands, tmp_path: Path) -> None:
    line = ("expose", *words.split(), "--dry-run=client", "-o", "yaml")
    ours = yaml.safe_load(exposable(*line))
    space = exposable.space
    theirs = yaml.safe_load(Kubectl(space.server, space.name, tmp_path)(*line))
    assert ours["spec"] == theirs["spec"]
    assert ours["metadata"].get("labels") == theirs["metadata"].get("labels")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("pod bare", "error: the Pod bare has no labels to select by"),
        ("pod bare --selector=a=b", "error: a port is missing"),
        ("deployment e", "error: the Deployment e selects by expressions"),
        ("deployment d --port=x", "error: --port takes numbers"),
        ("deployment d --type=Y", "error: --type takes ClusterIP"),
        ("deployment d --selector=y", "error: --selector takes KEY=VALUE, not y"),
    ],
)
def test_what_no_service_can_be_made_for(words: str, error: str, exposable: Commands) -> None:
    ran = exposable.run("expose", *words.split())
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(error)
