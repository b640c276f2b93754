"""`fairlead logs`, of pods on simulated nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import Commands
from support.following import Following
from support.kubectl import Kubectl, compared, said_by_server
from support.simulation import Pods, container


@pytest.fixture
def commands(pods: Pods) -> Commands:
    """In the namespace of some pods."""
    return Commands(pods.space)


def running(
    pods: Pods, name: str = "p", *containers: str, labels: dict[str, str] | None = None
) -> None:
    created = [container(item) for item in containers or ("c",)]
    pods.create(name, *created, labels=labels)
    pods.await_ready(name)


def test_what_a_container_prints(pods: Pods, commands: Commands) -> None:
    running(pods)
    whole = commands("logs", "p")
    assert whole.startswith("c of ")
    assert commands("logs", "pod/p", "c") == whole
    assert commands("logs", "p", "-c", "c", "--tail=0") == ""
    assert commands("logs", "p", "--limit-bytes=4") == whole[:4]
    assert commands("logs", "p", "--since=1h") == whole
    assert commands("logs", "p", "--timestamps").endswith(f"Z {whole}")
    assert commands("logs", "p", "--prefix") == f"[pod/p/c] {whole}"


def test_one_of_several_containers_is_chosen_aloud(pods: Pods, commands: Commands) -> None:
    running(pods, "p", "b", "a")
    ran = commands.run("logs", "p")
    assert ran.errors == "The logs are those of container b; all are b, a\n"
    assert ran.out.startswith("b of ")
    both = commands("logs", "p", "--all-containers", "--prefix").splitlines()
    assert [line.partition("]")[0] for line in both] == ["[pod/p/b", "[pod/p/a"]


def test_pods_of_something_else(pods: Pods, commands: Commands) -> None:
    for name in ("one", "two"):
        running(pods, name, labels={"app": "web"})
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    pods.space.collection("services").create("web", spec=spec)
    ran = commands.run("logs", "svc/web")
    assert ran.errors == "These are 2 pods; the logs are those of pod/one\n"
    assert "one" in ran.out
    assert "two" not in ran.out
    assert commands("logs", "-l", "app=web").count("\n") == 2
    many = commands.run("logs", "-l", "app=web", "-f", "--max-log-requests=1")
    assert many.errors == (
        "error: 2 logs cannot be followed at once, only 1; --max-log-requests allows more\n"
    )


def test_logs_can_be_followed_until_that_is_enough(pods: Pods, commands: Commands) -> None:
    running(pods)
    with Following(commands, "logs", "-f", "p") as following:
        assert following.line().startswith("c of ")
        assert following.interrupt() == 130
        assert following.errors.empty()


ERRORS = (
    "",
    "a b c",
    "p -c x",
    "p --tail=-5",
    "p --since=5s --since-time=2020-01-01T00:00:00Z",
    "p -l a=b",
    "p c -c c",
    "p -c c --all-containers",
    "p --previous",
    "p --limit-bytes=-3",
    "sa/default",
    "a/b/c",
    "nothing/p",
)


@compared
def test_what_kubectl_refuses_is_refused(pods: Pods, commands: Commands, tmp_path: Path) -> None:
    running(pods)
    kubectl = Kubectl(pods.server, pods.space.name, tmp_path)
    for words in ERRORS:
        ran = commands.run("logs", *words.split())
        assert ran.code == 1
        theirs = kubectl.fails("logs", *words.split())
        assert ran.errors
        assert said_by_server(ran.errors) == said_by_server(theirs), words


@pytest.mark.parametrize(
    ("word", "what"), [("none", 'pods "none"'), ("cm/none", 'configmaps "none"')]
)
def test_what_is_not_there_is_told_as_by_every_command(
    commands: Commands, word: str, what: str
) -> None:
    ran = commands.run("logs", word)
    assert ran == (1, "", f"Error from server (NotFound): {what} not found\n")


def test_no_pods_are_no_error(commands: Commands) -> None:
    ran = commands.run("logs", "-l", "app=nobody")
    assert ran == (0, "", f"No pods found in namespace {commands.space.name}.\n")
