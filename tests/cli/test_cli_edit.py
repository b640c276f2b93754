"""`fairlead edit`."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from support.commands import Commands

Editor = Callable[..., Path]
STORED = re.compile(r"Your text is kept in (.*)")


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """Takes what an editor does each time it is opened, as statements on `text`. Gives the folder
    in which what was shown is kept: shown-0, shown-1."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def prepare(*steps: str) -> Path:
        script = tmp_path / "editor.py"
        script.write_text(
            "import pathlib, re, subprocess, sys\n"
            "here, path = pathlib.Path(__file__).parent, pathlib.Path(sys.argv[1])\n"
            "count = len(list(here.glob('shown-*')))\n"
            "text = path.read_text()\n"
            "(here / f'shown-{count}').write_text(text)\n"
            f"steps = {steps!r}\n"
            "if count < len(steps):\n    exec(steps[count])\n"
            "path.write_text(text)\n"
        )
        monkeypatch.setenv("KUBE_EDITOR", f"{sys.executable} {script}")
        return tmp_path

    return prepare


@pytest.fixture
def made(fairlead: Commands) -> Commands:
    fairlead("create", "cm", "a", "--from-literal=x=one")
    return fairlead


def data(fairlead: Commands, name: str = "a") -> dict[str, str]:
    found: dict[str, str] = fairlead.space.config_maps.read(name)["data"]
    return found


def test_an_object_is_changed(made: Commands, editor: Editor) -> None:
    folder = editor("text = text.replace('x: one', 'x: two')")
    assert made("edit", "cm", "a") == "configmap/a edited\n"
    assert data(made) == {"x": "two"}
    shown = (folder / "shown-0").read_text()
    assert shown.startswith("# The saved text replaces the object. Lines that begin with #")
    assert "managedFields" not in shown
    assert not list(folder.glob("fairlead-edit-*"))
    owners = made.space.config_maps.read("a")["metadata"]["managedFields"]
    assert "fairlead-edit" in {entry["manager"] for entry in owners}


def test_nothing_changed_or_everything_removed(made: Commands, editor: Editor) -> None:
    folder = editor("pass", "text = '# only this\\n'")
    ran = made.run("edit", "cm", "a")
    assert (ran.code, ran.out, ran.errors) == (0, "", "Edit cancelled, no changes made.\n")
    ran = made.run("edit", "cm", "a")
    assert (ran.code, ran.errors) == (0, "Nothing was saved: the file is empty.\n")
    assert not list(folder.glob("fairlead-edit-*"))


def test_several_objects_are_a_list(made: Commands, editor: Editor) -> None:
    made("create", "cm", "b", "--from-literal=x=one")
    folder = editor("text = text.replace('x: one', 'x: two', 1)")
    assert made("edit", "cm", "a", "b") == "configmap/a edited\nconfigmap/b skipped\n"
    assert yaml.safe_load((folder / "shown-0").read_text())["kind"] == "List"
    assert (data(made), data(made, "b")) == ({"x": "two"}, {"x": "one"})


def test_an_object_as_json(made: Commands, editor: Editor) -> None:
    folder = editor("text = text.replace('one', 'two')")
    made("edit", "cm", "a", "-o", "json")
    shown = (folder / "shown-0").read_text()
    assert json.loads("\n".join(line for line in shown.splitlines() if line[:1] != "#"))
    assert data(made) == {"x": "two"}


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ("text = text.replace('kind:', 'kind: [')", "# this cannot be read: "),
        ("text = text.replace('\\ndata:', '\\ncolour:')", '# configmaps "a" was not valid:'),
        (
            "text = text.replace('name: a', 'name: b')",
            "# error: apiVersion, kind and name say which",
        ),
    ],
)
def test_a_mistake_opens_the_editor_again(
    made: Commands, editor: Editor, mistake: str, told: str
) -> None:
    mended = (
        "text = text.replace('kind: [', 'kind:').replace('colour:', 'data:')"
        ".replace('name: b', 'name: a').replace('x: one', 'x: two')"
    )
    folder = editor(mistake, mended)
    ran = made.run("edit", "cm", "a")
    assert (ran.code, ran.out) == (0, "configmap/a edited\n")
    again = (folder / "shown-1").read_text()
    assert again.startswith("# The saved text replaces the object.")
    assert told in again
    assert data(made) == {"x": "two"}


def test_a_mistake_that_stays_is_kept(made: Commands, editor: Editor) -> None:
    editor("text = text.replace('\\ndata:', '\\ncolour:')")
    ran = made.run("edit", "cm", "a")
    assert ran.code == 1
    assert ran.errors.endswith("error: Nothing was saved: the file was left as it was refused.\n")
    found = STORED.search(ran.errors)
    assert found
    assert "colour:" in Path(found[1]).read_text()


def test_changes_of_others_meanwhile(made: Commands, editor: Editor) -> None:
    flags = ["--kubeconfig", str(made.config), "-n", made.space.name]
    command = [sys.executable, "-m", "fairlead", "patch", "cm", "a", *flags, "-p"]
    other = f"subprocess.run({[*command, 'data: {other: theirs}']!r}, stdout=-3, check=True)"
    same = f"subprocess.run({[*command, 'data: {x: theirs}']!r}, stdout=-3, check=True)"
    change = "text = text.replace('x: one', 'x: two')"
    editor(f"{other}; {change}", f"{same}; text = text.replace('x: two', 'x: three')")
    assert made("edit", "cm", "a") == "configmap/a edited\n"
    assert data(made) == {"x": "two", "other": "theirs"}
    ran = made.run("edit", "cm", "a")
    assert ran.code == 1
    assert 'configmaps "a" was changed meanwhile, in fields that you changed' in ran.errors
    found = STORED.search(ran.errors)
    assert found
    assert "x: three" in Path(found[1]).read_text()
    assert data(made)["x"] == "theirs"


def test_editors_that_fail(made: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBE_EDITOR", "false")
    ran = made.run("edit", "cm", "a")
    assert (ran.code, ran.errors) == (1, "error: the editor failed: false\n")
    monkeypatch.delenv("KUBE_EDITOR")
    monkeypatch.setenv("EDITOR", "/nowhere/editor")
    ran = made.run("edit", "cm", "a")
    assert ran.code == 1
    assert ran.errors.startswith("error: the editor does not start: /nowhere/editor")


def test_a_subresource(made: Commands, editor: Editor) -> None:
    spec = {"containers": [{"name": "c", "image": "x"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    made("create", "-f", "-", text=json.dumps(pod))
    editor("text = text.replace('phase: Pending', 'phase: Running')")
    assert made("edit", "pod", "p", "--subresource=status") == "pod/p edited\n"
    assert made.space.things("pods").read("p")["status"]["phase"] == "Running"


def test_what_cannot_be_edited(fairlead: Commands) -> None:
    ran = fairlead.run("edit", "cm", "nope")
    assert (ran.code, ran.errors) == (
        1,
        'Error from server (NotFound): configmaps "nope" not found\n',
    )
    assert fairlead.run("edit").code == 1
    assert fairlead.run("edit", "cm", "a", "-o", "name").code == 1
