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
    """Takes statements on `text` for each time the editor is opened. Returns the folder with the
    texts that it was opened with: shown-0, shown-1."""
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
def edited(fairlead: Commands) -> Commands:
    fairlead("create", "cm", "a", "--from-literal=x=one")
    return fairlead


def data(fairlead: Commands, name: str = "a") -> dict[str, str]:
    content: dict[str, str] = fairlead.space.config_maps.read(name)["data"]
    return content


def test_an_object_is_changed(edited: Commands, editor: Editor) -> None:
    folder = editor("text = text.replace('x: one', 'x: two')")
    assert edited("edit", "cm", "a") == "configmap/a edited\n"
    assert data(edited) == {"x": "two"}
    text = (folder / "shown-0").read_text()
    assert text.startswith("# The saved text replaces the object. Lines that begin with #")
    assert "managedFields" not in text
    assert not list(folder.glob("fairlead-edit-*"))
    owners = edited.space.config_maps.read("a")["metadata"]["managedFields"]
    assert "fairlead-edit" in {entry["manager"] for entry in owners}


def test_nothing_changed_or_everything_removed(edited: Commands, editor: Editor) -> None:
    folder = editor("pass", "text = '# only this\\n'")
    ran = edited.run("edit", "cm", "a")
    assert (ran.code, ran.out, ran.errors) == (0, "", "Edit cancelled, no changes made.\n")
    ran = edited.run("edit", "cm", "a")
    assert (ran.code, ran.errors) == (0, "Nothing was saved: the file is empty.\n")
    assert not list(folder.glob("fairlead-edit-*"))


def test_several_objects_are_a_list(edited: Commands, editor: Editor) -> None:
    edited("create", "cm", "b", "--from-literal=x=one")
    folder = editor("text = text.replace('x: one', 'x: two', 1)")
    assert edited("edit", "cm", "a", "b") == "configmap/a edited\nconfigmap/b skipped\n"
    assert yaml.safe_load((folder / "shown-0").read_text())["kind"] == "List"
    assert (data(edited), data(edited, "b")) == ({"x": "two"}, {"x": "one"})


def test_an_object_as_json(edited: Commands, editor: Editor) -> None:
    folder = editor("text = text.replace('one', 'two')")
    edited("edit", "cm", "a", "-o", "json")
    text = (folder / "shown-0").read_text()
    assert json.loads("\n".join(line for line in text.splitlines() if line[:1] != "#"))
    assert data(edited) == {"x": "two"}


@pytest.mark.parametrize(
    ("mistake", "message"),
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
    edited: Commands, editor: Editor, mistake: str, message: str
) -> None:
    mended = (
        "text = text.replace('kind: [', 'kind:').replace('colour:', 'data:')"
        ".replace('name: b', 'name: a').replace('x: one', 'x: two')"
    )
    folder = editor(mistake, mended)
    ran = edited.run("edit", "cm", "a")
    assert (ran.code, ran.out) == (0, "configmap/a edited\n")
    again = (folder / "shown-1").read_text()
    assert again.startswith("# The saved text replaces the object.")
    assert message in again
    assert data(edited) == {"x": "two"}


def test_a_mistake_that_stays_is_kept(edited: Commands, editor: Editor) -> None:
    editor("text = text.replace('\\ndata:', '\\ncolour:')")
    ran = edited.run("edit", "cm", "a")
    assert ran.code == 1
    assert ran.errors.endswith("error: Nothing was saved: the file was left as it was refused.\n")
    match = STORED.search(ran.errors)
    assert match
    assert "colour:" in Path(match[1]).read_text()


def test_changes_of_others_meanwhile(edited: Commands, editor: Editor) -> None:
    flags = ["--kubeconfig", str(edited.config), "-n", edited.space.name]
    command = [sys.executable, "-m", "fairlead", "patch", "cm", "a", *flags, "-p"]
    other = f"subprocess.run({[*command, 'data: {other: theirs}']!r}, stdout=-3, check=True)"
    same = f"subprocess.run({[*command, 'data: {x: theirs}']!r}, stdout=-3, check=True)"
    change = "text = text.replace('x: one', 'x: two')"
    editor(f"{other}; {change}", f"{same}; text = text.replace('x: two', 'x: three')")
    assert edited("edit", "cm", "a") == "configmap/a edited\n"
    assert data(edited) == {"x": "two", "other": "theirs"}
    ran = edited.run("edit", "cm", "a")
    assert ran.code == 1
    assert 'configmaps "a" was changed meanwhile, in fields that you changed' in ran.errors
    match = STORED.search(ran.errors)
    assert match
    assert "x: three" in Path(match[1]).read_text()
    assert data(edited)["x"] == "theirs"


def test_editors_that_fail(edited: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBE_EDITOR", "false")
    ran = edited.run("edit", "cm", "a")
    assert (ran.code, ran.errors) == (1, "error: the editor failed: false\n")
    monkeypatch.delenv("KUBE_EDITOR")
    monkeypatch.setenv("EDITOR", "/nowhere/editor")
    ran = edited.run("edit", "cm", "a")
    assert ran.code == 1
    assert ran.errors.startswith("error: the editor does not start: /nowhere/editor")


def test_a_subresource(edited: Commands, editor: Editor) -> None:
    spec = {"containers": [{"name": "c", "image": "x"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    edited("create", "-f", "-", text=json.dumps(pod))
    editor("text = text.replace('phase: Pending', 'phase: Running')")
    assert edited("edit", "pod", "p", "--subresource=status") == "pod/p edited\n"
    assert edited.space.collection("pods").read("p")["status"]["phase"] == "Running"


def test_what_cannot_be_edited(fairlead: Commands) -> None:
    ran = fairlead.run("edit", "cm", "nope")
    assert (ran.code, ran.errors) == (
        1,
        'Error from server (NotFound): configmaps "nope" not found\n',
    )
    assert fairlead.run("edit").code == 1
    assert fairlead.run("edit", "cm", "a", "-o", "name").code == 1
