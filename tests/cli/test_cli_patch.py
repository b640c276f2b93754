"""`fairlead patch`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import Commands

PATCH = "spec: {replicas: 2}"


@pytest.fixture
def patched(fairlead: Commands) -> Commands:
    fairlead("create", "cm", "a", "--from-literal=x=1")
    return fairlead


def data(fairlead: Commands) -> dict[str, str]:
    content: dict[str, str] = fairlead.space.config_maps.read("a")["data"]
    return content


def test_each_type_of_patch(patched: Commands) -> None:
    assert patched("patch", "cm", "a", "-p", '{"data": {"x": "2"}}') == "configmap/a patched\n"
    assert patched("patch", "cm", "a", "-p", "data: {z: '1'}", "--type=merge") == (
        "configmap/a patched\n"
    )
    operations = [{"op": "remove", "path": "/data/x"}]
    patched("patch", "cm", "a", "--type=json", "-p", json.dumps(operations))
    assert data(patched) == {"z": "1"}


def test_a_patch_that_changes_nothing(patched: Commands) -> None:
    output = patched("patch", "cm", "a", "-p", '{"data": {"x": "1"}}')
    assert output == "configmap/a patched (no change)\n"


def test_a_patch_of_a_file(patched: Commands, tmp_path: Path) -> None:
    (tmp_path / "patch.yaml").write_text("data:\n  x: '5'\n")
    patched("patch", "cm", "a", f"--patch-file={tmp_path / 'patch.yaml'}")
    assert data(patched) == {"x": "5"}


@pytest.mark.parametrize("kind", ["json", "merge", "strategic"])
def test_dry_runs_show_what_would_be(patched: Commands, kind: str) -> None:
    patch = '[{"op": "add", "path": "/data/x", "value": "9"}]'
    text = patch if kind == "json" else '{"data": {"x": "9"}}'
    words = ("patch", "cm", "a", "-p", text, f"--type={kind}", "-o", "json")
    for where in ("client", "server"):
        assert json.loads(patched(*words, f"--dry-run={where}"))["data"] == {"x": "9"}
    assert data(patched) == {"x": "1"}


def test_a_subresource(patched: Commands) -> None:
    patched("create", "deployment", "web", "--image=a", "--replicas=0")
    patched(
        "patch", "deploy", "web", "--subresource=scale", "--type=merge", "-p", "spec: {replicas: 2}"
    )
    assert patched.space.collection("deployments", "apps").read("web")["spec"]["replicas"] == 2


MISTAKES = {
    ("-p", "["): 'error: unable to parse "[": yaml: ',
    ("-p", "[]"): "Error from server (BadRequest): json: cannot unmarshal array into Go value",
    (): "error: a patch is needed: --patch or --patch-file",
    ("--type=foo", "-p", "{}"): ('error: --type must be one of [json merge strategic], not "foo"'),
    (
        "-p",
        "{}",
        "--patch-file=x",
    ): "error: --patch and --patch-file are two patches: give one of them",
    ("--patch-file=/nope",): (
        "error: unable to read patch file: open /nope: no such file or directory"
    ),
    ("-p", '{"data": 1}'): "The request is invalid: patch: Invalid value: ",
    ("-p", "{}", "--type=json", "--dry-run=client"): "error: ",
}


@pytest.mark.parametrize("flags", MISTAKES, ids=" ".join)
def test_mistakes_are_told(fairlead_kubernetes: Commands, flags: tuple[str, ...]) -> None:
    fairlead_kubernetes("create", "cm", "a", "--from-literal=x=1")
    ran = fairlead_kubernetes.run("patch", "cm", "a", *flags)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(MISTAKES[flags])


def test_what_goes_away_by_a_patch_has_changed(fairlead: Commands) -> None:
    fairlead("create", "cm", "a")
    held, free = (f'{{"metadata":{{"finalizers":{item}}}}}' for item in ('["a.com/b"]', "null"))
    fairlead("patch", "cm", "a", "--type=merge", "-p", held)
    fairlead("delete", "cm", "a", "--wait=false")
    assert fairlead("patch", "cm", "a", "--type=merge", "-p", free) == "configmap/a patched\n"


def test_a_patch_that_a_kind_does_not_take_is_told_with_the_kind(
    fairlead_kubernetes: Commands,
) -> None:
    crds = "apiextensions.@/v1"
    group = f"{fairlead_kubernetes.space.name}.example.com"
    served = {"name": "v1", "served": True, "storage": True}
    definition = {
        "apiVersion": fairlead_kubernetes.space.dialect.group_name(crds),
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{**served, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }
    value = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "a"}}
    both = "\n".join(map(json.dumps, (definition, value)))
    fairlead_kubernetes("apply", "-f", "-", text=both)
    ran = fairlead_kubernetes.run("patch", f"things.{group}", "a", "-p", "{}")
    fairlead_kubernetes("delete", "-f", "-", text=json.dumps(definition))
    assert ran.errors.startswith(
        "error: application/strategic-merge-patch+json is not supported by"
        f" {group}/v1, Kind=Thing: "
    )


def test_only_some_subresources_can_be_patched(fairlead_kubernetes: Commands) -> None:
    ran = fairlead_kubernetes.run("patch", "deploy", "a", "-p", "{}", "--subresource=x")
    assert ran.errors == "error: --subresource=x is not possible here, only status, scale\n"
