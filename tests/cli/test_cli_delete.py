"""`fairlead delete`."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.client import PATIENCE
from support.commands import Commands
from support.kubectl import Kubectl, compared, said_by_server
from support.manifests import config_map, text

HOLD = "example.com/hold"


def hold(fairlead: Commands, name: str) -> None:
    fairlead("create", "cm", name)
    fairlead("patch", "cm", name, "-p", json.dumps({"metadata": {"finalizers": [HOLD]}}))


def let_go(fairlead: Commands, name: str) -> None:
    fairlead("patch", "cm", name, "-p", '{"metadata": {"finalizers": null}}')


def create(fairlead: Commands, *names: str, **labels: str) -> None:
    created = [config_map(name, labels=labels, x="1") for name in names]
    fairlead("create", "-f", "-", text=text(*created))


def test_objects_by_name(fairlead: Commands) -> None:
    create(fairlead, "a", "b", "c")
    assert fairlead("delete", "cm", "a") == 'configmap "a" deleted\n'
    assert fairlead("delete", "cm/b", "cm/c") == 'configmap "b" deleted\nconfigmap "c" deleted\n'


def test_objects_by_labels_and_all_of_them(fairlead: Commands) -> None:
    create(fairlead, "a", "b", app="web")
    create(fairlead, "c")
    output = fairlead("delete", "cm", "-l", "app=web")
    assert output == 'configmap "a" deleted\nconfigmap "b" deleted\n'
    assert fairlead("delete", "cm", "-l", "app=web") == "No resources found\n"
    assert 'configmap "c" deleted\n' in fairlead("delete", "cm", "--all")


def test_objects_of_files(fairlead: Commands) -> None:
    create(fairlead, "a")
    content = text(config_map("a"), config_map("b"))
    ran = fairlead.run("delete", "-f", "-", text=content)
    assert (ran.code, ran.out) == (1, 'configmap "a" deleted\n')
    assert ran.errors == (
        'Error from server (NotFound): error when deleting "STDIN": configmaps "b" not found\n'
    )
    assert fairlead("delete", "-f", "-", "--ignore-not-found", text=content) == ""


def test_one_that_is_not_there_does_not_keep_others_back(fairlead: Commands) -> None:
    create(fairlead, "a")
    ran = fairlead.run("delete", "cm", "nope", "a")
    assert (ran.code, ran.out) == (1, 'configmap "a" deleted\n')
    assert ran.errors == 'Error from server (NotFound): configmaps "nope" not found\n'


def test_dry_runs_and_names(fairlead: Commands) -> None:
    create(fairlead, "a")
    assert fairlead("delete", "cm", "a", "--dry-run=client") == 'configmap "a" deleted (dry run)\n'
    output = fairlead("delete", "cm", "a", "--dry-run=server")
    assert output == 'configmap "a" deleted (server dry run)\n'
    assert fairlead("delete", "cm", "a", "-o", "name") == "configmap/a\n"


def test_waiting_ends_when_it_takes_too_long(fairlead: Commands) -> None:
    hold(fairlead, "a")
    ran = fairlead.run("delete", "cm", "a", "--timeout=50ms")
    assert (ran.code, ran.out) == (1, 'configmap "a" deleted\n')
    assert ran.errors == "error: configmaps/a is not gone in time\n"
    assert fairlead("delete", "cm", "a", "--wait=false") == 'configmap "a" deleted\n'
    let_go(fairlead, "a")


@contextmanager
def process(fairlead: Commands, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "fairlead", *words]
    flags = ["--kubeconfig", str(fairlead.config), "-n", fairlead.space.name]
    with subprocess.Popen(
        [*command, *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def test_it_waits_until_all_are_gone_in_plain_lines(fairlead: Commands) -> None:
    hold(fairlead, "a")
    hold(fairlead, "b")
    with process(fairlead, "delete", "cm", "a", "b") as running:
        assert running.stdout is not None
        assert [running.stdout.readline() for _ in "ab"] == [
            'configmap "a" deleted\n',
            'configmap "b" deleted\n',
        ]
        let_go(fairlead, "a")
        assert running.poll() is None
        let_go(fairlead, "b")
        assert running.wait(PATIENCE) == 0
        assert running.stdout.read() == ""


def test_an_object_made_anew_is_not_waited_for(fairlead: Commands) -> None:
    hold(fairlead, "a")
    with process(fairlead, "delete", "cm", "a") as running:
        assert running.stdout is not None
        running.stdout.readline()
        let_go(fairlead, "a")
        create(fairlead, "a")
        assert running.wait(PATIENCE) == 0


class Terminal:
    """A command on a terminal."""

    def __init__(self, fairlead: Commands, *words: str, **variables: str) -> None:
        flags = ["--kubeconfig", str(fairlead.config), "-n", fairlead.space.name]
        ours, theirs = pty.openpty()
        self.shown = ""
        self._ours = ours
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", *words, *flags],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120", **variables},
            start_new_session=True,
            preexec_fn=lambda: _own_terminal(theirs),
        )
        os.close(theirs)

    def read_until(self, wanted: str) -> None:
        ends = time.monotonic() + PATIENCE
        while wanted not in self.shown:
            assert time.monotonic() < ends, self.shown
            if select.select([self._ours], [], [], 0.1)[0]:
                try:
                    self.shown += os.read(self._ours, 65536).decode()
                except OSError:
                    assert wanted in self.shown, self.shown

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        code = self.process.wait(PATIENCE)
        os.close(self._ours)
        return code


def _own_terminal(handle: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(handle, termios.TIOCSCTTY, 0)


def test_a_terminal_shows_what_holds_an_object(fairlead_kubernetes: Commands) -> None:
    hold(fairlead_kubernetes, "a")
    terminal = Terminal(fairlead_kubernetes, "delete", "cm", "a")
    terminal.read_until(HOLD)
    assert "STILL THERE" in terminal.shown
    assert "\x1b[36mconfigmap/a" in terminal.shown
    let_go(fairlead_kubernetes, "a")
    assert terminal.end() == 0


def test_a_terminal_shows_what_waits_for_its_children(fairlead_kubernetes: Commands) -> None:
    fairlead = fairlead_kubernetes
    fairlead("create", "cm", "owner")
    uid = fairlead.space.config_maps.read("owner")["metadata"]["uid"]
    child = config_map("child")
    child["metadata"] |= {
        "finalizers": [HOLD],
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "owner",
                "uid": uid,
                "blockOwnerDeletion": True,
            }
        ],
    }
    fairlead("create", "-f", "-", text=text(child))
    terminal = Terminal(fairlead, "delete", "cm", "owner", "--cascade=foreground", NO_COLOR="1")
    terminal.read_until("what it owns: configmap/child")
    assert "\x1b[36m" not in terminal.shown
    terminal.type("\x03")
    terminal.read_until("the server continues to delete (1 left).")
    assert terminal.end() == 130
    let_go(fairlead, "child")


def test_what_holds_objects_is_told_in_words() -> None:
    from fairlead.cli.delete.removal import blocker_text

    waiting = {"metadata": {"finalizers": ["foregroundDeletion", "a/b"]}}
    assert blocker_text("Pod", waiting, []) == "finalizer a/b; what it owns"
    children = [f"pod/{name}" for name in "abcde"]
    assert blocker_text("ReplicaSet", waiting, children) == (
        "finalizer a/b; what it owns: pod/a, pod/b, pod/c and 2 more"
    )
    ending = {"metadata": {"deletionGracePeriodSeconds": 30}}
    assert blocker_text("Pod", ending, []) == "it has 30s to end"
    left = {"type": "NamespaceContentRemaining", "status": "True", "message": "pods. has 3"}
    other = {"type": "NamespaceDeletionDiscoveryFailure", "status": "False", "message": "no"}
    emptied = {"spec": {"finalizers": ["x"]}, "status": {"conditions": [left, other]}}
    assert blocker_text("Namespace", emptied, []) == "pods. has 3"
    assert blocker_text("Namespace", {"spec": {"finalizers": ["x"]}}, []) == "finalizer x"


def test_who_may_not_look_does_not_wait(fairlead: Commands) -> None:
    hold(fairlead, "a")
    fairlead("create", "role", "deleter", "--verb=delete", "--resource=configmaps")
    fairlead("create", "rolebinding", "deleter", "--role=deleter", "--user=alice")
    assert fairlead("delete", "cm", "a", "--as", "alice") == 'configmap "a" deleted\n'
    ran = fairlead.run("delete", "secret", "a", "--as", "alice")
    assert ran.code == 1
    assert ran.errors.startswith('Error from server (Forbidden): secrets "a" is forbidden: User')
    let_go(fairlead, "a")


def test_objects_deleted_by_force(fairlead: Commands) -> None:
    create(fairlead, "a")
    ran = fairlead.run("delete", "cm", "a", "--force")
    assert (ran.code, ran.out) == (0, 'configmap "a" force deleted\n')
    assert ran.errors.startswith("Warning: --force deletes the object at once")


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ((), {"propagationPolicy": "Background"}),
        (("--cascade=orphan",), {"propagationPolicy": "Orphan"}),
        (("--cascade",), {"propagationPolicy": "Background"}),
        (("--now",), {"propagationPolicy": "Background", "gracePeriodSeconds": 1}),
        (("--grace-period=0",), {"propagationPolicy": "Background", "gracePeriodSeconds": 1}),
        (("--force",), {"propagationPolicy": "Background", "gracePeriodSeconds": 0}),
        (
            ("--cascade=foreground", "--grace-period=7"),
            {"propagationPolicy": "Foreground", "gracePeriodSeconds": 7},
        ),
    ],
)
def test_flags_become_options(flags: tuple[str, ...], options: dict[str, object]) -> None:
    from fairlead.cli.arguments import ArgumentReader
    from fairlead.cli.commands.delete import add_flags
    from fairlead.cli.delete.options import deletion_of
    from fairlead.cli.invocation import Screen

    reader = ArgumentReader()
    add_flags(reader)
    read = reader.read(["pods", "x", *flags])
    created = deletion_of(read, Screen(), read.force).options()
    assert created == {"apiVersion": "v1", "kind": "DeleteOptions", **options}


MISTAKES = (
    "",
    "cm",
    "cm a --all",
    "cm a -l x=y",
    "cm --all -l x=y",
    "cm a -A",
    "cm a --now --grace-period=5",
    "cm a --force --grace-period=5",
    "cm a --cascade=foo",
    "cm a -o yaml",
    "cm a --dry-run=foo",
    "foo a",
    "pods,cm a",
    "--raw /api/v1/namespaces/default/configmaps/nope",
)


@compared
def test_what_kubectl_refuses_is_refused(fairlead_kubernetes: Commands) -> None:
    space = fairlead_kubernetes.space
    kubectl = Kubectl(space.server, space.name, space.server.data)
    for line in MISTAKES:
        ran = fairlead_kubernetes.run("delete", *line.split())
        assert (ran.code, ran.out) == (1, ""), line
        theirs = kubectl.fails("delete", *line.split())
        assert ran.errors
        assert said_by_server(ran.errors) == said_by_server(theirs), line


def test_a_namespace_goes_with_all_that_is_in_it(fairlead: Commands) -> None:
    name = f"{fairlead.space.name}-x"
    fairlead("create", "ns", name)
    fairlead("create", "cm", "a", "-n", name)
    assert fairlead("delete", "ns", name) == f'namespace "{name}" deleted\n'
    assert fairlead.space.everywhere("namespaces").get(name).status == 404


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_interactive_asks_first(fairlead: Commands, answer: str) -> None:
    fairlead("create", "configmap", "asked")
    ran = fairlead.run("delete", "configmap", "asked", "-i", text=f"{answer}\n")
    assert (ran.code, "configmap/asked" in ran.errors) == (0, True)
    assert (ran.out == 'configmap "asked" deleted\n') == (answer == "y")
    assert ("Nothing was deleted." in ran.errors) == (answer != "y")
