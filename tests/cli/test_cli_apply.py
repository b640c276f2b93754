"""`fairlead apply`."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from support.client import Object
from support.commands import Commands, Ran
from support.manifests import config_map, text
from support.namespaces import random_word

from fairlead.cli.manifests import Manifest
from fairlead.cli.resolution import Resolver
from fairlead.client import ResourceType, UnknownKind


def apply(fairlead: Commands, *values: Object, flags: tuple[str, ...] = ()) -> str:
    return fairlead("apply", "-f", "-", *flags, text=text(*values))


def try_apply(fairlead: Commands, *values: Object, flags: tuple[str, ...] = ()) -> Ran:
    return fairlead.run("apply", "-f", "-", *flags, text=text(*values))


def managers(value: Object) -> set[tuple[str, str]]:
    entries = value["metadata"].get("managedFields", ())
    return {(entry["manager"], entry["operation"]) for entry in entries}


def annotation(fairlead: Commands) -> str:
    return fairlead.space.dialect.label("kubectl.@/last-applied-configuration")


CLIENT_SIDE = ("--client-side",)
FOO: Any = SimpleNamespace(type=ResourceType("a", "v1", "foos", "Foo", True))


def test_objects_are_applied_on_the_server_by_default(fairlead: Commands) -> None:
    assert apply(fairlead, config_map("a", x="1")) == "configmap/a serverside-applied\n"
    assert apply(fairlead, config_map("a", y="2")) == "configmap/a serverside-applied\n"
    created = fairlead.space.config_maps.read("a")
    assert created["data"] == {"y": "2"}
    assert managers(created) == {("fairlead", "Apply")}


def test_conflicts_are_listed_with_both_values(fairlead: Commands) -> None:
    apply(fairlead, config_map("a", x="1"), flags=("--field-manager=other",))
    ran = try_apply(fairlead, config_map("a", x="2"))
    assert (ran.code, ran.out) == (1, "")
    message, name, head, row, *advice = ran.errors.splitlines()
    assert message == 'error: Apply failed with 1 conflict: conflict with "other": .data.x'
    assert name == "configmap/a:"
    assert head.split() == ["MANAGER", "OPERATION", "SINCE", "FIELD", "THEIRS", "YOURS"]
    owner, operation, since, field, theirs, yours = row.split()
    assert (owner, operation, field, theirs, yours) == ("other", "Apply", ".data.x", '"1"', '"2"')
    assert since.endswith("Z")
    assert advice[0].startswith("Nothing was changed: other managers own the fields above")
    assert fairlead.space.config_maps.read("a")["data"] == {"x": "1"}


def test_conflicts_are_listed_before_they_are_forced(fairlead: Commands) -> None:
    fairlead("create", "cm", "a", "--from-literal=x=1")
    ran = try_apply(fairlead, config_map("a", x="2"), flags=("--force-conflicts",))
    assert (ran.code, ran.out) == (0, "configmap/a serverside-applied\n")
    assert ran.errors.startswith("Warning: these fields of others are taken over\n")
    assert ran.errors.splitlines()[-1].split()[:2] == ["fairlead-create", "Update"]
    assert fairlead.space.config_maps.read("a")["data"] == {"x": "2"}


def test_conflicts_within_lists_show_their_values(fairlead: Commands) -> None:
    def pod(image: str) -> Object:
        spec = {"containers": [{"name": "c", "image": image}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}

    apply(fairlead, pod("one"), flags=("--field-manager=other",))
    ran = try_apply(fairlead, pod("two"))
    row = ran.errors.splitlines()[3].split()
    assert row[3:] == ['.spec.containers[name="c"].image', '"one"', '"two"']


def test_values_of_secrets_are_not_shown(fairlead: Commands) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    apply(fairlead, {**secret, "data": {"k": "aGlkZGVu"}}, flags=("--field-manager=other",))
    ran = try_apply(fairlead, {**secret, "data": {"k": "b3RoZXI="}})
    assert ran.code == 1
    assert ".data.k" in ran.errors
    assert "aGlkZGVu" not in ran.errors
    assert "b3RoZXI" not in ran.errors


def test_client_side_apply_tells_what_it_did(fairlead: Commands) -> None:
    assert apply(fairlead, config_map("a", x="1", y="1"), flags=CLIENT_SIDE) == (
        "configmap/a created\n"
    )
    fairlead("patch", "cm", "a", "-p", '{"data": {"z": "others"}}')
    again = apply(fairlead, config_map("a", x="1", y="1"), flags=CLIENT_SIDE)
    assert again == "configmap/a unchanged\n"
    assert apply(fairlead, config_map("a", x="2"), flags=CLIENT_SIDE) == "configmap/a configured\n"
    created = fairlead.space.config_maps.read("a")
    assert created["data"] == {"x": "2", "z": "others"}
    kept = json.loads(created["metadata"]["annotations"][annotation(fairlead)])
    assert kept["data"] == {"x": "2"}


def test_client_side_apply_warns_where_nothing_was_applied_before(fairlead: Commands) -> None:
    fairlead("create", "cm", "a", "--from-literal=x=1")
    ran = try_apply(fairlead, config_map("a", x="1"), flags=CLIENT_SIDE)
    assert (ran.code, ran.out) == (0, "configmap/a configured\n")
    assert ran.errors.startswith(f"Warning: configmaps/a has no annotation {annotation(fairlead)}")


def deployment(image: str, *, strategy: str = "RollingUpdate", **env: str) -> Object:
    container = {
        "name": "main",
        "image": image,
        "env": [{"name": name, "value": value} for name, value in env.items()],
    }
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 0,
            "strategy": {"type": strategy},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def test_client_side_apply_merges_lists_by_their_keys(fairlead: Commands) -> None:
    apply(fairlead, deployment("one", A="1", B="2"), flags=CLIENT_SIDE)
    injected = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "x"}]}}}}
    fairlead("patch", "deploy", "web", "-p", json.dumps(injected))
    wanted = deployment("two", strategy="Recreate", B="3", C="4")
    assert apply(fairlead, wanted, flags=CLIENT_SIDE) == "deployment.apps/web configured\n"
    spec = fairlead.space.collection("deployments", "apps").read("web")["spec"]
    assert spec["strategy"] == {"type": "Recreate"}
    by_name = {container["name"]: container for container in spec["template"]["spec"]["containers"]}
    assert set(by_name) == {"main", "side"}
    assert by_name["main"]["image"] == "two"
    assert by_name["main"]["env"] == [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]
    assert apply(fairlead, wanted, flags=CLIENT_SIDE) == "deployment.apps/web unchanged\n"


def test_fields_of_client_side_apply_go_over(fairlead: Commands) -> None:
    apply(fairlead, config_map("a", x="1", y="1"), flags=CLIENT_SIDE)
    ran = try_apply(fairlead, config_map("a", x="2"))
    assert (ran.code, ran.errors) == (0, "")
    created = fairlead.space.config_maps.read("a")
    assert created["data"] == {"x": "2"}
    assert managers(created) == {("fairlead", "Apply"), ("fairlead-last-applied", "Apply")}
    kept = json.loads(created["metadata"]["annotations"][annotation(fairlead)])
    assert kept["data"] == {"x": "2"}
    back = apply(fairlead, config_map("a", z="3"), flags=CLIENT_SIDE)
    assert back == "configmap/a configured\n"
    assert fairlead.space.config_maps.read("a")["data"] == {"z": "3"}


def test_fields_that_others_changed_conflict_also_then(fairlead: Commands) -> None:
    apply(fairlead, config_map("a", x="1", y="1"), flags=CLIENT_SIDE)
    fairlead("patch", "cm", "a", "-p", '{"data": {"x": "theirs"}}')
    ran = try_apply(fairlead, config_map("a", x="2", y="2"))
    assert ran.code == 1
    assert 'conflict with "fairlead-patch"' in ran.errors
    assert ".data.y" not in ran.errors


def test_another_manager_opts_out_of_going_over(fairlead: Commands) -> None:
    apply(fairlead, config_map("a", x="1"), flags=CLIENT_SIDE)
    ran = try_apply(fairlead, config_map("a", x="2"), flags=("--field-manager=me",))
    assert ran.code == 1
    assert 'conflict with "fairlead-client-side-apply"' in ran.errors


@pytest.mark.parametrize("side", [(), CLIENT_SIDE], ids=["server", "client"])
def test_what_is_no_longer_in_the_files_is_pruned(
    fairlead: Commands, side: tuple[str, ...]
) -> None:
    ours = {"app": "web"}
    first, second = config_map("one", labels=ours, x="1"), config_map("two", labels=ours, x="1")
    apply(fairlead, first, second, config_map("other", x="1"), flags=side)
    fairlead("create", "cm", "made-by-hand", "--from-literal=x=1")
    fairlead("label", "cm", "made-by-hand", "app=web")
    prune = ("--prune", "-l", "app=web", *side)
    content = apply(fairlead, first, flags=(*prune, "--dry-run=server"))
    assert "configmap/two pruned (server dry run)\n" in content
    content = apply(fairlead, first, flags=(*prune, "--wait"))
    assert content.splitlines()[1:] == ["configmap/two pruned"]
    left = set(fairlead.space.config_maps.names())
    assert {"one", "other", "made-by-hand"} <= left
    assert "two" not in left


def test_only_allowed_kinds_are_pruned(fairlead: Commands) -> None:
    ours = {"app": "web"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "labels": ours}}
    first, second = config_map("one", labels=ours, x="1"), config_map("two", labels=ours, x="1")
    apply(fairlead, first, second, {**secret, "data": {"a": ""}})
    flags = ("--prune", "-l", "app=web", "--prune-allowlist=core/v1/ConfigMap")
    assert apply(fairlead, first, flags=flags).splitlines()[1:] == ["configmap/two pruned"]
    assert fairlead.space.secrets.get("s").status == 200


@pytest.mark.both_dialects
def test_definitions_and_namespaces_of_the_same_files_are_waited_for(fairlead: Commands) -> None:
    group, space = f"{random_word()}.example.com", f"new-{random_word()}"
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
            }
        },
    }
    definition = {
        "apiVersion": fairlead.space.dialect.group_name("apiextensions.@/v1"),
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"foos.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": "Foo", "plural": "foos"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
    foo = {"apiVersion": f"{group}/v1", "kind": "Foo", "spec": {"a": "1"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    pod["spec"] = {"containers": [{"name": "c", "image": "x"}]}
    results = [{**foo, "metadata": {"name": "before"}}, pod, definition, namespace]
    output = fairlead("apply", "-n", space, "-f", "-", text=text(*results))
    names = [line.split()[0].partition("/")[2] for line in output.splitlines()]
    assert names == [f"foos.{group}", space, "before", "p"]
    again = text({**foo, "metadata": {"name": "after"}})
    assert "created" in fairlead("apply", "-n", space, "-f", "-", *CLIENT_SIDE, text=again)
    fairlead("delete", "crd", f"foos.{group}")
    fairlead("delete", "ns", space, "--wait=false")


def test_a_kind_that_is_not_served_yet_is_asked_for_again() -> None:
    answers = iter([UnknownKind("a/v1", "Foo"), UnknownKind("a/v1", "Foo"), FOO])
    forgotten = []

    async def resource_of(value: Object) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    discovery = SimpleNamespace(forget=lambda: forgotten.append(1))
    client = SimpleNamespace(resource_of=resource_of, discovery=discovery)
    at: Any = SimpleNamespace(
        client=client, namespace="here", options=SimpleNamespace(namespace="")
    )
    places = Resolver(at)
    spec = {"group": "a", "names": {"kind": "Foo"}}
    places.remember({"kind": "CustomResourceDefinition", "spec": spec})
    foo = {"apiVersion": "a/v1", "kind": "Foo", "metadata": {"name": "x"}}
    result = asyncio.run(places.of(Manifest(foo, "")))
    assert (result.resource, result.namespace, len(forgotten)) == (FOO, "here", 2)


def test_a_text_too_long_for_the_annotation_is_not_kept(fairlead: Commands) -> None:
    apply(fairlead, config_map("a", x="1"), flags=CLIENT_SIDE)
    ran = try_apply(fairlead, config_map("a", x="1" * 300_000))
    assert (ran.code, ran.errors) == (0, "")
    assert "annotations" not in fairlead.space.config_maps.read("a")["metadata"]


def test_what_was_applied_can_be_shown(fairlead: Commands) -> None:
    single, two = config_map("a", x="1"), config_map("b", x="1")
    listed = yaml.safe_load(apply(fairlead, single, two, flags=("-o", "yaml")))
    assert listed["kind"] == "List"
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a", "b"]
    alone = json.loads(apply(fairlead, single, flags=("-o", "json")))
    assert alone["kind"] == "ConfigMap"
    assert apply(fairlead, single, two, flags=("-o", "name")) == "configmap/a\nconfigmap/b\n"


def test_dry_runs_change_nothing(fairlead: Commands) -> None:
    content = apply(fairlead, config_map("a", x="1"), flags=("--dry-run=server",))
    assert content == "configmap/a serverside-applied (server dry run)\n"
    content = apply(fairlead, config_map("a", x="1"), flags=("--dry-run=client", *CLIENT_SIDE))
    assert content == "configmap/a created (dry run)\n"
    assert fairlead.space.config_maps.get("a").status == 404


def test_one_that_fails_does_not_keep_others_back(fairlead: Commands) -> None:
    bad = {**config_map("a"), "colour": "red"}
    ran = try_apply(fairlead, bad, config_map("b", x="1"))
    assert (ran.code, ran.out) == (1, "configmap/b serverside-applied\n")
    assert "colour" in ran.errors


def test_client_side_failures_name_the_file(fairlead: Commands) -> None:
    bad = {**config_map("a"), "colour": "red"}
    ran = try_apply(fairlead, bad, flags=CLIENT_SIDE)
    assert ran.code == 1
    assert ran.errors.startswith(
        'Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1"'
    )


def _secret(type: str) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "type": type}


def test_what_cannot_be_changed_is_made_again_by_force(fairlead: Commands) -> None:
    apply(fairlead, _secret("a/b"), flags=CLIENT_SIDE)
    refused = try_apply(fairlead, _secret("c/d"), flags=CLIENT_SIDE)
    assert (refused.code, "field is immutable" in refused.errors) == (1, True)
    content = apply(fairlead, _secret("c/d"), flags=(*CLIENT_SIDE, "--force"))
    assert content == "secret/a configured\n"
    assert fairlead("get", "secret", "a", "-o", "jsonpath={.type}") == "c/d"


@pytest.mark.both_dialects
def test_what_is_refused_when_made_again_leaves_the_old_one(fairlead: Commands) -> None:
    apply(fairlead, _secret("a/b"), flags=CLIENT_SIDE)
    tls = _secret(fairlead.space.dialect.label("@/tls"))  # without what such a one must have
    ran = try_apply(fairlead, tls, flags=(*CLIENT_SIDE, "--force"))
    assert (ran.code, "tls.crt" in ran.errors) == (1, True)
    assert fairlead("get", "secret", "a", "-o", "jsonpath={.type}") == "a/b"


MISTAKES: dict[tuple[str, ...], str] = {
    ("--force-conflicts", "--client-side"): "--force-conflicts has no meaning with --client-side",
    ("--force",): "--force needs --client-side",
    ("--force", "--client-side", "--dry-run=server"): "--force deletes objects",
    ("--dry-run=client", "--server-side"): "only the server can tell what it would do",
    ("--prune",): "--prune deletes objects that are no longer in the files.",
    (
        "--prune",
        "--all",
        "-l",
        "a=b",
    ): "--all and --selector contradict each other: give one of them",
    (
        "--prune",
        "--all",
        "--prune-allowlist=x",
    ): "x does not name a kind as group/version/kind",
    ("-l", "a=b"): "no objects passed to apply",
    (
        "-l",
        "a=(",
    ): "unable to parse requirement: ",
}


@pytest.mark.parametrize("flags", MISTAKES, ids=" ".join)
def test_flags_that_do_not_go_together(
    fairlead_kubernetes: Commands, flags: tuple[str, ...]
) -> None:
    ran = try_apply(fairlead_kubernetes, config_map("a", x="1"), flags=flags)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(f"error: {MISTAKES[flags]}")


def test_objects_without_a_name_cannot_be_applied(fairlead: Commands) -> None:
    unnamed: dict[str, Any] = {**config_map("a"), "metadata": {"generateName": "a-"}}
    ran = try_apply(fairlead, unnamed)
    assert ran.errors == "error: a-: apply needs a name, not generateName\n"
    ran = try_apply(fairlead, {**config_map("a"), "metadata": {}})
    assert ran.errors == "error: the resource name is empty\n"
