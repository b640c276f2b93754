"""What a server serves: `api-resources`, `api-versions`, `version`, `raw`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from support.commands import Commands

from fairlead import __version__
from fairlead.base.compiled import is_compiled
from fairlead.cli import main

KIND = "compiled" if is_compiled() else "plain"


def test_resources_with_their_names(fairlead: Commands) -> None:
    head, *rows = fairlead("api-resources").splitlines()
    assert head.split() == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    assert ["configmaps", "cm", "v1", "true", "ConfigMap"] in [row.split() for row in rows]


def test_resources_that_are_wanted(fairlead: Commands) -> None:
    flags = ("--namespaced=false", "--verbs=list,create", "--api-group=", "--no-headers")
    results = [row.split()[0] for row in fairlead("api-resources", *flags).splitlines()]
    assert results == ["namespaces", "nodes", "persistentvolumes"]
    assert "pods\n" in fairlead("api-resources", "--categories=all", "-o", "name")
    assert fairlead("api-resources", "--categories=none", "-o", "name") == ""


@pytest.mark.both_dialects
def test_names_of_resources_have_the_groups_of_the_dialect(fairlead: Commands) -> None:
    group = fairlead.space.dialect.group_name("networking.@")
    assert f"ingresses.{group}\n" in fairlead("api-resources", "-o", "name")


def test_wide_resources_and_their_order(fairlead: Commands) -> None:
    head, *rows = fairlead("api-resources", "-o", "wide", "--sort-by=kind").splitlines()
    assert head.split()[-2:] == ["VERBS", "CATEGORIES"]
    kinds = [row.split("true " if " true " in row else "false ")[1].split()[0] for row in rows]
    assert kinds == sorted(kinds)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--sort-by=age",), "error: --sort-by takes name or kind\n"),
        (("-o", "xml"), "error: --output xml is not available\n"),
        (("pods",), "error: unexpected argument 'pods'\n"),
    ],
)
def test_questions_that_make_no_sense(
    fairlead_kubernetes: Commands, flags: tuple[str, ...], message: str
) -> None:
    ran = fairlead_kubernetes.run("api-resources", *flags)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(message)


@pytest.mark.both_dialects
def test_versions_of_groups(fairlead: Commands) -> None:
    lines = fairlead("api-versions").splitlines()
    assert lines == sorted(lines)
    assert {"v1", "apps/v1", fairlead.space.dialect.group_name("storage.@") + "/v1"} <= {*lines}


@pytest.mark.both_dialects
def test_both_versions_and_the_dialect(fairlead: Commands) -> None:
    first, second = fairlead("version").splitlines()
    assert first == f"fairlead {__version__} ({KIND})"
    assert second.startswith("Server Version: v1.25.")
    assert second.endswith(f"(dialect {fairlead.space.dialect.name})")
    numbers = json.loads(fairlead("version", "-o", "json"))
    assert numbers["clientVersion"]["gitVersion"] == f"v{__version__}"
    assert numbers["serverVersion"]["major"] == "1"
    assert yaml.safe_load(fairlead("version", "-o", "yaml")) == numbers


def test_the_version_without_a_server(fairlead_kubernetes: Commands) -> None:
    assert fairlead_kubernetes("version", "--client") == f"fairlead {__version__} ({KIND})\n"


def test_the_version_where_nothing_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["version"]) == 0
    assert capsys.readouterr() == (f"fairlead {__version__} ({KIND})\n", "")


def test_any_request_can_be_sent(fairlead: Commands, tmp_path: Path) -> None:
    path = f"/api/v1/namespaces/{fairlead.space.name}/configmaps"
    output = fairlead("raw", path, "-d", '{"metadata":{"name":"a"}}')
    assert json.loads(output)["metadata"]["name"] == "a"
    fairlead("raw", path, "-d", "-", text='{"metadata":{"name":"b"}}')
    patch = tmp_path / "patch"
    patch.write_text('{"data":{"k":"v"}}')
    merge = ("-X", "patch", "-H", "Content-Type: application/merge-patch+json")
    changed = fairlead("raw", f"{path}/a", *merge, "-d", f"@{patch}")
    assert json.loads(changed)["data"] == {"k": "v"}
    listed = json.loads(fairlead("raw", f"{path}?fieldSelector=metadata.name=b"))
    assert [item["metadata"]["name"] for item in listed["items"]] == ["b"]
    assert fairlead("raw", "/livez", "-H", "Accept: text/plain") == "ok"


def test_a_refusal_is_shown_whole(fairlead: Commands) -> None:
    ran = fairlead.run("raw", "/api/v1/namespaces/none-such")
    assert ran.code == 1
    assert json.loads(ran.out)["details"] == {"name": "none-such", "kind": "namespaces"}
    assert ran.errors == 'Error from server (NotFound): namespaces "none-such" not found\n'


def test_spaces_in_paths_cannot_end_the_request(fairlead_kubernetes: Commands) -> None:
    ran = fairlead_kubernetes.run("raw", "/version HTTP/1.1\r\nX: y\r\n\r\nGET /livez")
    assert ran.code == 1
    assert ran.errors.startswith("Error from server (NotFound)")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("version",), 'error: "version" is not a path'),
        ((), "error: one path is needed"),
        (("/x", "-X", "GET /y"), "error: 'GET /y' is not a method"),
        (("/x", "-H", "Host: y"), "error: 'Host: y': only Content-Type and Accept can be given"),
        (("/x", "-H", "Accept: a\r\nb: c"), "error: 'Accept: a"),
        (("/x", "-d", "@/none/such"), "error: /none/such: No such file or directory"),
    ],
)
def test_requests_that_cannot_be_sent(
    fairlead_kubernetes: Commands, flags: tuple[str, ...], message: str
) -> None:
    ran = fairlead_kubernetes.run("raw", *flags)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(message)
