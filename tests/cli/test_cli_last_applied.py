"""`fairlead apply view-last-applied`, `set-last-applied` and `edit-last-applied`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from support.commands import Commands
from support.manifests import config_map, text


@pytest.fixture
def applied(fairlead: Commands) -> Commands:
    """The ConfigMap a has the record of client-side apply, b has none."""
    fairlead("apply", "--client-side", "-f", "-", text=text(config_map("a", x="1")))
    fairlead.space.config_maps.create("b", data={"x": "1"})
    return fairlead


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that writes 9 for 1."""
    program = tmp_path / "editor"
    program.write_text('#!/bin/sh\nsed -i \'s/"1"/"9"/\' $1\n')
    program.chmod(0o755)
    monkeypatch.setenv("KUBE_EDITOR", str(program))


def recorded(applied: Commands, name: str) -> object:
    return yaml.safe_load(applied("apply", "view-last-applied", f"cm/{name}"))["data"]


def test_the_last_applied_configuration_is_shown(applied: Commands) -> None:
    assert recorded(applied, "a") == {"x": "1"}
    shown = applied("apply", "view-last-applied", "cm", "a", "-o", "json")
    assert yaml.safe_load(shown)["metadata"]["name"] == "a"


def test_an_object_without_record_is_an_error(applied: Commands) -> None:
    for words in (("view-last-applied", "cm/b"), ("edit-last-applied", "cm/b")):
        ran = applied.run("apply", *words)
        assert ran.code == 1
        assert "configmaps/b has no record of what apply --client-side applied" in ran.errors


def test_set_last_applied_changes_only_the_record(applied: Commands) -> None:
    changed = text(config_map("a", x="2"))
    assert applied("apply", "set-last-applied", "-f", "-", text=changed) == (
        "configmap/a configured\n"
    )
    assert recorded(applied, "a") == {"x": "2"}
    assert applied.space.config_maps.read("a")["data"] == {"x": "1"}


def test_set_last_applied_creates_a_record_if_asked(applied: Commands) -> None:
    words = ("apply", "set-last-applied", "-f", "-")
    file = text(config_map("b", x="2"))
    assert applied.run(*words, text=file).code == 1
    applied(*words, "--create-annotation", text=file)
    assert recorded(applied, "b") == {"x": "2"}


@pytest.mark.parametrize("dry_run", ["client", "server"])
def test_set_last_applied_stores_nothing_in_a_dry_run(applied: Commands, dry_run: str) -> None:
    words = ("apply", "set-last-applied", "-f", "-", f"--dry-run={dry_run}")
    assert "dry run)" in applied(*words, text=text(config_map("a", x="2")))
    assert recorded(applied, "a") == {"x": "1"}


@pytest.mark.usefixtures("editor")
def test_edit_last_applied_changes_only_the_record(applied: Commands) -> None:
    assert applied("apply", "edit-last-applied", "cm/a") == "configmap/a edited\n"
    assert recorded(applied, "a") == {"x": "9"}
    assert applied.space.config_maps.read("a")["data"] == {"x": "1"}


def test_an_unchanged_edit_is_cancelled(applied: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBE_EDITOR", "true")
    ran = applied.run("apply", "edit-last-applied", "cm/a")
    assert (ran.code, ran.out, ran.errors) == (0, "", "Edit cancelled, no changes made.\n")


def test_apply_changes_a_subresource(applied: Commands) -> None:
    space = applied.space
    condition = {"type": "Odd", "status": "True", "lastTransitionTime": None}
    value = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": space.name},
        "status": {"conditions": [condition]},
    }
    applied("apply", "-f", "-", "--subresource=status", text=text(value))
    status = space.everywhere("namespaces").read(space.name)["status"]
    assert [condition["type"] for condition in status["conditions"]] == ["Odd"]
