"""`fairlead auth reconcile`."""

from __future__ import annotations

import pytest
from support.client import Object
from support.commands import Commands
from support.manifests import config_map, text


@pytest.fixture
def version(fairlead: Commands) -> str:
    return fairlead.space.dialect.group_name("rbac.authorization.@/v1")


def role(version: str, *verbs: str) -> Object:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": [*verbs]}
    return {"apiVersion": version, "kind": "Role", "metadata": {"name": "r"}, "rules": [rule]}


def binding(version: str, user: str, bound: str = "r") -> Object:
    group = version.partition("/")[0]
    return {
        "apiVersion": version,
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": bound},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


def reconcile(fairlead: Commands, *values: Object, flags: tuple[str, ...] = ()) -> str:
    return fairlead("auth", "reconcile", "-f", "-", *flags, text=text(*values))


def read(fairlead: Commands, plural: str, name: str) -> Object:
    return fairlead.space.collection(plural, "rbac.authorization.@").read(name)


def subjects(fairlead: Commands) -> list[str]:
    return [subject["name"] for subject in read(fairlead, "rolebindings", "b")["subjects"]]


def test_missing_objects_are_created(fairlead: Commands, version: str) -> None:
    output = reconcile(fairlead, role(version, "get"), binding(version, "ann"))
    assert output.count("reconciliation required create") == 2
    assert read(fairlead, "roles", "r")["rules"][0]["verbs"] == ["get"]
    assert subjects(fairlead) == ["ann"]


def test_missing_permissions_are_added_and_others_kept(fairlead: Commands, version: str) -> None:
    reconcile(fairlead, role(version, "get", "list"))
    output = reconcile(fairlead, role(version, "get", "watch"))
    assert (
        'missing rules added:\n\t\t{APIGroups:[""], Resources:["pods"], Verbs:["watch"]}' in output
    )
    rules = read(fairlead, "roles", "r")["rules"]
    assert [rule["verbs"] for rule in rules] == [["get", "list"], ["watch"]]
    assert "required" not in reconcile(fairlead, role(version, "watch", "list"))


def test_extra_permissions_are_removed_if_asked(fairlead: Commands, version: str) -> None:
    reconcile(fairlead, role(version, "get", "list"))
    flags = ("--remove-extra-permissions",)
    output = reconcile(fairlead, role(version, "get"), flags=flags)
    assert "extra rules removed:" in output
    assert [rule["verbs"] for rule in read(fairlead, "roles", "r")["rules"]] == [["get"]]


def test_subjects_are_added_and_removed_if_asked(fairlead: Commands, version: str) -> None:
    reconcile(fairlead, binding(version, "ann"))
    assert "\t\tUser bob\n" in reconcile(fairlead, binding(version, "bob"))
    assert subjects(fairlead) == ["ann", "bob"]
    reconcile(fairlead, binding(version, "bob"), flags=("--remove-extra-subjects",))
    assert subjects(fairlead) == ["bob"]


def test_a_binding_to_another_role_is_created_again(fairlead: Commands, version: str) -> None:
    reconcile(fairlead, binding(version, "ann"))
    before = read(fairlead, "rolebindings", "b")["metadata"]["uid"]
    assert "required recreate" in reconcile(fairlead, binding(version, "bob", bound="other"))
    after = read(fairlead, "rolebindings", "b")
    assert (after["roleRef"]["name"], after["metadata"]["uid"] != before) == ("other", True)
    assert subjects(fairlead) == ["ann", "bob"]


def test_a_dry_run_changes_nothing(fairlead: Commands, version: str) -> None:
    reconcile(fairlead, role(version, "get"))
    for mode in ("client", "server"):
        output = reconcile(fairlead, role(version, "list"), flags=(f"--dry-run={mode}",))
        assert "reconciled (" in output
    assert len(read(fairlead, "roles", "r")["rules"]) == 1


def test_other_objects_are_left_alone(fairlead: Commands) -> None:
    ran = fairlead.run("auth", "reconcile", "-f", "-", text=text(config_map("a", x="1")))
    assert (ran.code, ran.out) == (0, "")
    assert ran.errors == "Warning: ConfigMap a is no role or binding\n"
