"""`fairlead scale`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.client import Object
from support.commands import Commands
from support.namespaces import random_word
from support.waiting import eventually
from support.workloads import replicated


@pytest.fixture
def web(fairlead: Commands) -> Commands:
    """A namespace with the Deployments `web` and `db`."""
    for name in ("web", "db"):
        _deployments(fairlead, name)
    return fairlead


def _deployments(fairlead: Commands, name: str) -> None:
    collection = fairlead.space.collection("deployments", "apps")
    collection.create(name, labels={"tier": name}, spec=replicated(1))


def replicas(fairlead: Commands, name: str = "web") -> int:
    result: int = fairlead.space.collection("deployments", "apps").read(name)["spec"]["replicas"]
    return result


def test_it_says_what_was_scaled(web: Commands) -> None:
    assert web("scale", "deployment", "web", "--replicas=3") == "deployment.apps/web scaled\n"
    assert (replicas(web), replicas(web, "db")) == (3, 1)


def test_several_are_scaled_though_one_is_missing(web: Commands) -> None:
    ran = web.run("scale", "deploy/web", "deploy/nope", "deploy/db", "--replicas", "2")
    assert ran.code == 1
    assert ran.out == "deployment.apps/web scaled\ndeployment.apps/db scaled\n"
    assert ran.errors == 'Error from server (NotFound): deployments.apps "nope" not found\n'


@pytest.mark.parametrize(
    ("flags", "scaled"), [(("-l", "tier=db"), ["db"]), (("--all",), ["db", "web"])]
)
def test_they_can_be_chosen_by_labels_or_all(
    web: Commands, flags: tuple[str, ...], scaled: list[str]
) -> None:
    out = web("scale", "deployment", *flags, "--replicas=2", "-o", "name")
    assert out.splitlines() == [f"deployment.apps/{name}" for name in scaled]


def test_they_can_be_named_by_a_file(web: Commands, tmp_path: Path) -> None:
    file = tmp_path / "web.json"
    file.write_text(json.dumps(_named("apps/v1", "Deployment", "web")))
    web("scale", "-f", str(file), "--replicas=4")
    assert replicas(web) == 4


def _named(api: str, kind: str, name: str) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}}


def test_nothing_is_done_if_there_are_not_as_many_as_was_thought(web: Commands) -> None:
    ran = web.run("scale", "deploy", "web", "--replicas=3", "--current-replicas=9")
    assert (ran.code, ran.errors) == (1, "error: not scaled: replicas is 1, not 9\n")
    assert replicas(web) == 1
    web("scale", "deploy", "web", "--replicas=3", "--current-replicas=1")
    assert replicas(web) == 3


def test_nothing_is_done_if_it_has_changed(web: Commands) -> None:
    ran = web.run("scale", "deploy", "web", "--replicas=3", "--resource-version=1")
    assert ran.code == 1
    assert ran.errors.startswith("error: not scaled: resource version is ")
    several = web.run("scale", "deploy", "--all", "--replicas=3", "--resource-version=1")
    assert (
        several.errors
        == "error: --resource-version needs a single object, but several are selected\n"
    )


@pytest.mark.parametrize(("where", "note"), [("client", "dry run"), ("server", "server dry run")])
def test_a_dry_run_changes_nothing(web: Commands, where: str, note: str) -> None:
    out = web("scale", "deploy", "web", "--replicas=7", f"--dry-run={where}")
    assert out == f"deployment.apps/web scaled ({note})\n"
    assert replicas(web) == 1


def test_it_waits_until_there_are_as_many(web: Commands) -> None:
    web("scale", "deploy", "web", "--replicas=3", "--timeout=60s")
    status = web.space.collection("deployments", "apps").read("web")["status"]
    assert status["replicas"] == 3


def test_what_it_prints_is_what_is_there_then(web: Commands) -> None:
    numbers = json.loads(web("scale", "deploy", "web", "--replicas=3", "-o", "json"))
    assert numbers["spec"]["replicas"] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("deploy", "web"), "say how many: --replicas N"),
        (("deploy", "web", "--replicas=-1"), "--replicas must be 0 or more"),
        (("deploy", "web", "--replicas=x"), 'invalid argument "x" for "--replicas" flag'),
        (("--replicas=1",), "nothing is named."),
        (
            ("deploy", "--replicas=1"),
            "name the objects, or give --all or a selector",
        ),
        (("deploy", "-l", "a=b", "--replicas=1"), "no objects passed to scale"),
        (("deploy", "web", "--replicas=1", "--dry-run=x"), "--dry-run=x is unknown"),
        (
            ("deploy", "web", "--replicas=1", "--timeout=3x"),
            'invalid argument "3x" for "--timeout" flag',
        ),
        (("deploy", "web", "--replicas=1", "-o=x"), "-o x is unknown"),
    ],
)
def test_what_it_does_not_understand(
    fairlead_kubernetes: Commands, words: tuple[str, ...], message: str
) -> None:
    _deployments(fairlead_kubernetes, "web")
    ran = fairlead_kubernetes.run("scale", *words)
    assert ran.code == 1
    assert ran.errors.startswith(f"error: {message}")


def test_a_kind_that_cannot_be_scaled(fairlead: Commands) -> None:
    fairlead.space.config_maps.create("a")
    ran = fairlead.run("scale", "configmap", "a", "--replicas=1")
    assert ran.code == 1
    assert ran.errors == (
        "Error from server (NotFound): the server could not find the requested resource\n"
    )


def test_custom_kinds_are_scaled_by_their_subresource(fairlead: Commands) -> None:
    plural = f"{random_word()}s"
    group = f"{random_word()}.example.com"
    _define(fairlead, plural, group)
    collection = fairlead.space.collection(plural, group)
    eventually(lambda: collection.list().status == 200, "the custom resource is served")
    collection.create("g", apiVersion=f"{group}/v1", kind="Gadget", spec={"replicas": 1})
    name = f"{plural}.{group}"
    assert fairlead("scale", name, "g", "--replicas=5") == f"gadget.{group}/g scaled\n"
    assert collection.read("g")["spec"]["replicas"] == 5
    # Nobody acts on it, so its status never says so many.
    ran = fairlead.run("scale", name, "g", "--replicas=6", "--timeout=200ms")
    assert (ran.code, ran.errors) == (
        1,
        "error: g did not reach that number within --timeout\n",
    )


def _define(fairlead: Commands, plural: str, group: str) -> None:
    number = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": number, "status": number}}
    paths = {f"{part}ReplicasPath": f".{part}.replicas" for part in ("spec", "status")}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": paths},
    }
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": "Gadget", "singular": "gadget"},
        "versions": [version],
    }
    definitions = fairlead.space.everywhere("customresourcedefinitions", "apiextensions.@")
    definitions.create(f"{plural}.{group}", spec=spec)
