"""`fairlead top` and `cluster-info`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.commands import Commands
from support.kubectl import Kubectl, compared
from support.simulation import Pods, behaviour, container
from support.waiting import eventually


@pytest.fixture
def commands(any_pods: Pods) -> Commands:
    """In the namespace of two pods whose usage is known."""
    small = behaviour(cpu_usage="100m", memory_usage="300Mi")
    large = behaviour(cpu_usage="1", memory_usage="100Mi")
    any_pods.create("small", container("a"), container("b"), annotations=small)
    any_pods.create("large", annotations=large, labels={"size": "large"})
    any_pods.await_ready("small", "large")
    commands = Commands(any_pods.space)
    eventually(lambda: commands.run("top", "pods", "--no-headers").out.count("\n") == 2, "measured")
    return commands


def _rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.mark.both_dialects
def test_what_pods_use(commands: Commands) -> None:
    head, *rows = _rows(commands("top", "pods"))
    assert head == ["NAME", "CPU(cores)", "MEMORY(bytes)"]
    assert rows == [["large", "1000m", "100Mi"], ["small", "200m", "600Mi"]]
    assert _rows(commands("top", "po", "--sort-by=memory"))[1][0] == "small"
    assert _rows(commands("top", "pod", "--sort-by=cpu"))[1][0] == "large"
    assert _rows(commands("top", "pods", "-l", "size=large", "--no-headers")) == [rows[0]]
    assert _rows(commands("top", "pods", "small", "--no-headers")) == [rows[1]]


def test_containers_namespaces_and_a_sum(commands: Commands) -> None:
    head, *rows = _rows(commands("top", "pods", "--containers", "--sum"))
    assert head == ["POD", "NAME", "CPU(cores)", "MEMORY(bytes)"]
    assert rows[1] == ["small", "a", "100m", "300Mi"]
    assert rows[-2:] == [["________"] * 2, ["1200m", "700Mi"]]
    everywhere = _rows(commands("top", "pods", "-A", "--no-headers"))
    assert [commands.space.name, "large", "1000m", "100Mi"] in everywhere


def test_what_nodes_use(any_pods: Pods, commands: Commands) -> None:
    head, *rows = _rows(commands("top", "nodes"))
    assert head == ["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"]
    assert [row[0] for row in rows] == ["simulated-0", "simulated-1", "simulated-2"]
    patterns = ("simulated-.*", r"\d+m", r"\d+%", r"\d+Mi", r"\d+%")
    for row in rows:
        assert all(re.fullmatch(*pair) for pair in zip(patterns, row, strict=True)), row
    assert len(_rows(commands("top", "node", "simulated-1", "--show-capacity"))) == 2


@compared
def test_the_tables_are_those_of_kubectl(commands: Commands, tmp_path: Path) -> None:
    kubectl = Kubectl(commands.space.server, commands.space.name, tmp_path)
    for words in ("", "--containers --sum", "--sort-by=cpu", "-A --no-headers -l size=large"):
        line = ("top", "pods", *words.split())
        theirs = "".join(f"{text.rstrip()}\n" for text in kubectl(*line).splitlines())
        assert commands(*line) == theirs, words


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("pods a b", "error: give at most one name"),
        ("pods a -l b=c", "error: a name and a selector (-l) contradict each other"),
        ("pods --sort-by=name", "error: --sort-by takes cpu or memory"),
        ("pods a -A", "error: a name cannot be used with -A"),
        ("pods none", 'Error from server (NotFound): pods "none" not found'),
        ("nodes none", "Error from server (NotFound)"),
        ("pods --as=eve", "Error from server (Forbidden)"),
    ],
)
def test_what_cannot_be_shown(commands: Commands, words: str, error: str) -> None:
    ran = commands.run("top", *words.split())
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(error)


def test_a_server_without_metrics_and_a_namespace_without_pods(
    fairlead_kubernetes: Commands, pods: Pods
) -> None:
    ran = fairlead_kubernetes.run("top", "pods")
    assert (ran.code, ran.errors[:38]) == (1, "error: the server has no metrics API: ")
    ran = Commands(pods.space).run("top", "pods")
    assert ran == (0, "", f"No resources found in {pods.space.name} namespace.\n")


# Cluster-info


@pytest.mark.both_dialects
def test_where_the_server_and_its_services_are(any_pods: Pods) -> None:
    commands = Commands(any_pods.space)
    address = any_pods.server.address
    first = commands("cluster-info").splitlines()[0]
    assert first == f"The control plane is at {address}"


def test_a_dump(any_pods: Pods, tmp_path: Path) -> None:
    any_pods.create("p", container("main"))
    any_pods.await_ready("p")
    commands, target = Commands(any_pods.space), tmp_path / "dump"
    assert commands("cluster-info", "dump", "--output-directory", str(target)) == (
        f"The cluster is dumped to {target}\n"
    )
    nodes = json.loads((target / "nodes.json").read_text())["items"]
    assert [node["metadata"]["name"] for node in nodes] == [f"simulated-{n}" for n in range(3)]
    own = target / commands.space.name
    pods = json.loads((own / "pods.json").read_text())["items"]
    assert [pod["metadata"]["name"] for pod in pods] == ["p"]
    log = (own / "p" / "logs.txt").read_text()
    title = f"logs for container main of pod {commands.space.name}/p"
    assert log.startswith(f"==== START {title} ====\n")
    assert log.endswith(f"==== END {title} ====\n")
    shown = commands("cluster-info", "dump", "--namespaces", commands.space.name, "-o", "yaml")
    assert "==== START" in shown


def test_what_may_not_be_dumped_is_left_out_and_told(any_pods: Pods) -> None:
    ran = Commands(any_pods.space).run("cluster-info", "dump", "--as=eve")
    assert ran.code == 0
    assert ran.errors.startswith("left out: Error from server (Forbidden): nodes is forbidden")
    assert Commands(any_pods.space).run("cluster-info", "x").code == 1
