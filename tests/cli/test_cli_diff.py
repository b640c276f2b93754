"""`fairlead diff`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.commands import Commands, Ran
from support.manifests import config_map, text


def diff(fairlead: Commands, *values: dict[str, object], flags: tuple[str, ...] = ()) -> Ran:
    return fairlead.run("diff", "-f", "-", *flags, text=text(*values))


def changed(ran: Ran) -> list[str]:
    """The lines that differ."""
    return [
        line
        for line in ran.out.splitlines()
        if line[:1] in "+-" and not line.startswith(("+++", "---"))
    ]


def apply(fairlead: Commands, *values: dict[str, object], flags: tuple[str, ...] = ()) -> None:
    fairlead("apply", "-f", "-", *flags, text=text(*values))


def test_nothing_differs(fairlead: Commands) -> None:
    apply(fairlead, config_map("a", x="1"))
    assert diff(fairlead, config_map("a", x="1")) == Ran(0, "", "")


def test_what_differs_is_shown_and_nothing_changed(fairlead: Commands) -> None:
    apply(fairlead, config_map("a", x="one", gone="1"))
    ran = diff(fairlead, config_map("a", x="two"))
    name = f"v1.ConfigMap.{fairlead.space.name}.a"
    assert ran.code == 1
    assert ran.out.startswith(
        f"diff -u -N LIVE/{name} MERGED/{name}\n--- LIVE/{name}\n+++ MERGED/{name}\n@@ "
    )
    assert [line.partition(":")[0] for line in changed(ran)] == ["-  gone", "-  x", "+  x"]
    assert fairlead.space.config_maps.read("a")["data"] == {"x": "one", "gone": "1"}


def test_a_new_object_is_all_new(fairlead: Commands) -> None:
    ran = diff(fairlead, config_map("a", x="one"))
    assert ran.code == 1
    assert "+  x: one" in changed(ran)
    assert all(line.startswith("+") for line in changed(ran))


def test_owners_are_noise_unless_asked_for(fairlead: Commands) -> None:
    apply(fairlead, config_map("a", x="1"))
    ran = diff(fairlead, config_map("a", x="2"))
    assert "managedFields" not in ran.out
    ran = diff(fairlead, config_map("b", x="2"), flags=("--show-managed-fields",))
    assert "+  - apiVersion: v1" in changed(ran)
    assert "+    manager: fairlead" in changed(ran)


def test_values_of_secrets_are_masked(fairlead: Commands) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    apply(fairlead, {**secret, "data": {"a": "b25l", "b": "c2FtZQ==", "c": "Z29uZQ=="}})
    ran = diff(fairlead, {**secret, "data": {"a": "dHdv", "b": "c2FtZQ==", "d": "bmV3"}})
    assert ran.code == 1
    for value in ("b25l", "dHdv", "c2FtZQ", "Z29uZQ", "bmV3"):
        assert value not in ran.out
    masked = [line.replace("'", "").replace('"', "") for line in changed(ran)]
    assert masked == ["-  a: *** (before)", "+  a: *** (after)", "-  c: ***", "+  d: ***"]


def test_conflicts_are_failures_unless_forced(fairlead: Commands) -> None:
    apply(fairlead, config_map("a", x="1"), flags=("--field-manager=other",))
    ran = diff(fairlead, config_map("a", x="2"))
    assert (ran.code, ran.out) == (2, "")
    assert 'conflict with "other"' in ran.errors
    assert diff(fairlead, config_map("a", x="2"), flags=("--force-conflicts",)).code == 1


def test_client_side(fairlead: Commands) -> None:
    apply(fairlead, config_map("a", x="one", gone="1"), flags=("--client-side",))
    ran = diff(fairlead, config_map("a", x="two"), flags=("--client-side",))
    assert ran.code == 1
    assert "+  x: two" in changed(ran)
    # The fields would go over, so there is no conflict to be told of.
    assert diff(fairlead, config_map("a", x="two")).code == 1


def test_what_would_be_pruned(fairlead: Commands) -> None:
    labels = {"app": "web"}
    apply(fairlead, config_map("a", labels=labels, x="1"), config_map("b", labels=labels, x="1"))
    item = config_map("a", labels=labels, x="1")
    ran = diff(fairlead, item, flags=("--prune", "-l", "app=web"))
    assert ran.code == 1
    assert "-  name: b" in changed(ran)
    assert all(line.startswith("-") for line in changed(ran))


def test_another_program(
    fairlead: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(fairlead, config_map("a", x="one"))
    script = tmp_path / "tool.py"
    script.write_text(
        "import pathlib, sys\n"
        "live, merged = (next(pathlib.Path(p).iterdir()).read_text() for p in sys.argv[2:])\n"
        "print(sys.argv[1], 'x: one' in live, 'x: two' in merged)\n"
        "sys.exit(int(sys.argv[1]))\n"
    )
    for code, wanted in ((1, 1), (0, 0), (3, 2)):
        monkeypatch.setenv("FAIRLEAD_EXTERNAL_DIFF", f"{sys.executable} {script} {code}")
        ran = diff(fairlead, config_map("a", x="two"))
        assert (ran.code, ran.out) == (wanted, f"{code} True True\n")
    monkeypatch.setenv("FAIRLEAD_EXTERNAL_DIFF", "/nowhere/tool")
    ran = diff(fairlead, config_map("a", x="two"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.errors.startswith('error: failed to run "/nowhere/tool": ')


@pytest.mark.parametrize("words", [(), ("--nope",), ("-f", "/nowhere.yaml"), ("-f", "-")])
def test_a_failure_is_no_difference(fairlead: Commands, words: tuple[str, ...]) -> None:
    ran = fairlead.run("diff", *words, text="{apiVersion: a/v1, kind: Foo}")
    assert (ran.code, ran.out) == (2, "")
    assert ran.errors.startswith("error: ")


def test_colours_are_used_always_or_never_if_asked(
    fairlead: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    fairlead("create", "configmap", "coloured", "--from-literal=a=1")
    file = tmp_path / "changed.yaml"
    file.write_text(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: coloured}, data: {a: '\\u001b[5m'}}"
    )
    flags = ("-f", str(file), "--force-conflicts")
    out = fairlead.run("diff", *flags, "--color").out
    assert "\x1b[" in out
    assert "\x1b[5m" not in out
    assert "\x1b[" not in fairlead.run("diff", *flags, "--color=never").out
    assert "--color=x is unknown" in fairlead.run("diff", *flags, "--color=x").errors
