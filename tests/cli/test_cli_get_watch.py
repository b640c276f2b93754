"""`fairlead get -w`: shows changes, and loses none when a watch ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.commands import Commands
from support.scripted_api import EXPIRED, event, scripted_api, secret, secrets


@contextmanager
def following(config: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "fairlead", "get", "--kubeconfig", str(config), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def words(process: subprocess.Popen[str]) -> list[str]:
    """The next line, when it comes."""
    assert process.stdout is not None
    return process.stdout.readline().split()


def names(process: subprocess.Popen[str], count: int) -> list[str]:
    return [words(process)[0] for _ in range(count)]


def test_changes_follow_the_table(fairlead_kubernetes: Commands) -> None:
    space = fairlead_kubernetes.space
    space.secrets.create("a")
    with following(fairlead_kubernetes.config, "secrets", "-w", "-n", space.name) as process:
        assert words(process) == ["NAME", "TYPE", "DATA", "AGE"]
        assert words(process)[0] == "a"
        space.secrets.create("b")
        assert words(process)[0] == "b"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_one_object_can_be_followed(fairlead_kubernetes: Commands) -> None:
    space = fairlead_kubernetes.space
    for name in ("a", "b"):
        space.secrets.create(name)
    flags = ("secret/a", "-w", "--output-watch-events", "-n", space.name)
    with following(fairlead_kubernetes.config, *flags) as process:
        assert words(process)[:2] == ["EVENT", "NAME"]
        assert words(process)[:2] == ["ADDED", "a"]
        space.secrets.label("b", x="y")
        space.secrets.label("a", x="y")
        assert words(process)[:2] == ["MODIFIED", "a"]
        space.secrets.remove("a")
        assert words(process)[:2] == ["DELETED", "a"]


def test_what_is_there_already_can_be_left_out(tmp_path: Path) -> None:
    watches = [[event("ADDED", secret("b", 11))]]
    with (
        scripted_api([secrets(10, secret("a", 9))], watches) as api,
        following(api.config(tmp_path), "secrets", "--watch-only", "-o", "name") as process,
    ):
        assert names(process, 1) == ["secret/b"]


def test_what_is_not_there_cannot_be_followed(fairlead: Commands) -> None:
    ran = fairlead.run("get", "secret", "none", "-w")
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors == 'Error from server (NotFound): secrets "none" not found\n'


def test_a_watch_that_ends_goes_on_where_it_was(tmp_path: Path) -> None:
    watches = [[event("ADDED", secret("b", 11))], [event("ADDED", secret("c", 12))]]
    with (
        scripted_api([secrets(10, secret("a", 9))], watches) as api,
        following(api.config(tmp_path), "secrets", "-w", "-o", "name") as process,
    ):
        assert names(process, 3) == ["secret/a", "secret/b", "secret/c"]
        assert api.watched_from == ["10", "11"]


def test_bookmarks_move_on_and_are_not_shown(tmp_path: Path) -> None:
    watches = [[event("BOOKMARK", secret("", 50))], [event("ADDED", secret("b", 51))]]
    with (
        scripted_api([secrets(10)], watches) as api,
        following(api.config(tmp_path), "secrets", "-w", "-o", "name") as process,
    ):
        assert names(process, 1) == ["secret/b"]
        assert api.watched_from == ["10", "50"]


def test_after_an_expired_version_only_differences_are_shown(tmp_path: Path) -> None:
    lists = [
        secrets(10, secret("same", 1), secret("other", 2), secret("gone", 3)),
        secrets(20, secret("same", 1), secret("other", 15), secret("new", 16)),
    ]
    watches = [[event("ERROR", EXPIRED)], [event("ADDED", secret("last", 21))]]
    flags = ("secrets", "-w", "--output-watch-events", "--no-headers")
    with (
        scripted_api(lists, watches) as api,
        following(api.config(tmp_path), *flags) as process,
    ):
        seen = [words(process)[:2] for _ in range(7)]
        assert seen[3:] == [
            ["MODIFIED", "other"],
            ["ADDED", "new"],
            ["DELETED", "gone"],
            ["ADDED", "last"],
        ]
        assert api.watched_from == ["10", "20"]


def test_a_watch_ends_at_the_timeout_of_requests(fairlead: Commands) -> None:
    fairlead("create", "configmap", "a")
    ran = fairlead.run("get", "configmap", "a", "-w", "--no-headers", "--request-timeout=500ms")
    assert (ran.code, ran.out.split()[0], ran.errors) == (0, "a", "")
