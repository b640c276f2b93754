"""`fairlead replace`."""

from __future__ import annotations

import pytest
from support.commands import Commands
from support.manifests import config_map, text


def test_an_object_takes_the_place_of_another(fairlead: Commands) -> None:
    fairlead("create", "cm", "a", "--from-literal=x=1")
    output = fairlead("replace", "-f", "-", text=text(config_map("a", y="2")))
    assert output == "configmap/a replaced\n"
    assert fairlead.space.config_maps.read("a")["data"] == {"y": "2"}


def test_there_must_be_one(fairlead: Commands) -> None:
    ran = fairlead.run("replace", "-f", "-", text=text(config_map("a"), config_map("b")))
    assert ran.code == 1
    assert ran.errors.splitlines() == [
        f'Error from server (NotFound): error when replacing "STDIN": configmaps "{name}" not found'
        for name in "ab"
    ]


def test_an_old_version_is_refused(fairlead: Commands) -> None:
    fairlead("create", "cm", "a")
    old = config_map("a")
    old["metadata"]["resourceVersion"] = "1"
    ran = fairlead.run("replace", "-f", "-", text=text(old))
    assert ran.code == 1
    assert ran.errors.startswith('Error from server (Conflict): error when replacing "STDIN": ')


def test_by_force_it_is_another_object(fairlead: Commands) -> None:
    fairlead("create", "cm", "a")
    uid = fairlead.space.config_maps.read("a")["metadata"]["uid"]
    output = fairlead("replace", "--force", "-f", "-", text=text(config_map("a"), config_map("b")))
    assert output == 'configmap "a" deleted\nconfigmap/a replaced\nconfigmap/b replaced\n'
    assert fairlead.space.config_maps.read("a")["metadata"]["uid"] != uid


def test_dry_runs_replace_nothing(fairlead: Commands) -> None:
    fairlead("create", "cm", "a", "--from-literal=x=1")
    for where, note in (("client", "(dry run)"), ("server", "(server dry run)")):
        output = fairlead("replace", "-f", "-", f"--dry-run={where}", text=text(config_map("a")))
        assert output == f"configmap/a replaced {note}\n"
    assert fairlead.space.config_maps.read("a")["data"] == {"x": "1"}


@pytest.mark.both_dialects
def test_the_configuration_is_kept_where_it_was_or_shall_be(fairlead: Commands) -> None:
    fairlead("create", "cm", "a")
    fairlead("replace", "--save-config", "-f", "-", text=text(config_map("a", x="1")))
    label = fairlead.space.dialect.label("kubectl.@/last-applied-configuration")
    kept = fairlead.space.config_maps.read("a")["metadata"]["annotations"][label]
    assert '"data":{"x":"1"}' in kept


def test_flags_that_need_force(fairlead: Commands) -> None:
    ran = fairlead.run("replace", "-f", "-", "--grace-period=3", text=text(config_map("a")))
    assert (ran.code, ran.errors) == (1, "error: --grace-period must have --force specified\n")
    ran = fairlead.run("replace")
    assert (ran.code, ran.errors) == (
        1,
        "error: a file is missing: -f FILE, or -k FOLDER for a kustomization\n",
    )
