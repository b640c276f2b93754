"""`fairlead wait`."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from support.commands import Commands


def wait_target(fairlead: Commands, name: str = "a", **fields: Any) -> None:
    fairlead.space.config_maps.create(name, **fields)


def test_what_is_so_is_told(fairlead: Commands) -> None:
    wait_target(fairlead, data={"state": "done"})
    path = "--for=jsonpath={.data.state}=done"
    assert fairlead("wait", "cm/a", path) == "configmap/a condition met\n"
    assert fairlead("wait", "cm/a", path, "-o", "name") == "configmap/a\n"
    assert fairlead("wait", "cm/a", "--for=jsonpath={.data}") == "configmap/a condition met\n"
    assert fairlead("wait", "cm/none", "--for=delete") == ""


def test_what_becomes_so_is_waited_for(fairlead: Commands) -> None:
    maps = fairlead.space.config_maps
    wait_target(fairlead, "a", labels={"x": "y"})
    wait_target(fairlead, "b", labels={"x": "y"})

    def change() -> None:
        for name in ("b", "a"):
            maps.patch(name, {"data": {"state": "done"}})

    timer = threading.Timer(0.3, change)
    timer.start()
    out = fairlead("wait", "cm", "-l", "x=y", "--for=jsonpath={.data.state}=done")
    timer.join()
    assert out == "configmap/b condition met\nconfigmap/a condition met\n"


def test_a_deletion_is_waited_for_although_another_one_has_the_name(fairlead: Commands) -> None:
    maps = fairlead.space.config_maps
    wait_target(fairlead)

    def change() -> None:
        maps.remove("a")
        maps.create("a")

    timer = threading.Timer(0.3, change)
    timer.start()
    assert fairlead("wait", "cm/a", "--for=delete") == "configmap/a condition met\n"
    timer.join()


def test_a_creation_is_waited_for(fairlead: Commands) -> None:
    timer = threading.Timer(0.3, wait_target, [fairlead])
    timer.start()
    assert fairlead("wait", "cm/a", "--for=create") == "configmap/a condition met\n"
    timer.join()


CONDITIONS = "delete, create, condition=NAME or jsonpath=PATH=VALUE"


def test_conditions(fairlead: Commands) -> None:
    pods = fairlead.space.collection("pods")
    fairlead.space.ready_for_pods()
    pods.create("p", spec={"containers": [{"name": "c", "image": "i"}]})
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert pods.client.patch(pods.item("p", "status"), status).status == 200
    assert fairlead("wait", "pod/p", "--for=condition=ready=false") == "pod/p condition met\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["cm/a", "--for=condition=X", "--timeout=0.2s"],
            "error: not met in time on configmaps/a\n",
        ),
        (
            ["cm", "-l", "x=y", "--for=condition=X", "--timeout=0"],
            "condition not met for configmaps/a\ncondition not met for configmaps/b\n",
        ),
        (["cm/a", "--for=x"], f"error: --for x is unknown: it takes {CONDITIONS}\n"),
        (["cm/a"], f"error: say what to wait for: --for {CONDITIONS}\n"),
        (
            ["cm/c", "--for=condition=X"],
            'Error from server (NotFound): configmaps "c" not found\n',
        ),
        (["cm", "-l", "x=z", "--for=condition=X"], "error: no matching resources found\n"),
        (
            ["cm", "--for=delete"],
            "error: name the objects, or give --all or a selector\n",
        ),
        (
            ["cm/a", "--for=jsonpath={.data}=3"],
            "error: the path of --for leads to a map or a list: name a value in it\n",
        ),
        (["cm/a", "--for=jsonpath={.x"], "error: "),
        (["cm/a", "--for=jsonpath="], "error: --for=jsonpath takes a path"),
    ],
)
def test_what_is_not_so_is_an_error(fairlead: Commands, words: list[str], message: str) -> None:
    for name in ("a", "b"):
        wait_target(fairlead, name, labels={"x": "y"}, data={"k": "v"})
    ran = fairlead.run("wait", *words)
    assert ran.code == 1
    assert ran.errors.startswith(message)
