"""`fairlead cp`, to and from pods on simulated nodes."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from support.commands import Commands
from support.pseudo_terminal import seen_on_terminal
from support.simulation import Pods, container

from fairlead.cli.pods.archives import ReceivedBytes, Unpacking


@pytest.fixture
def commands(any_pods: Pods) -> Commands:
    """In the namespace of a pod named p, which runs."""
    any_pods.create("p")
    any_pods.await_ready("p")
    return Commands(any_pods.space)


@pytest.mark.both_dialects
def test_a_directory_to_a_container_and_back(commands: Commands, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "below").mkdir(parents=True)
    (source / "below" / "small").write_text("text\n")
    content = os.urandom(2_000_000)
    (source / "large").write_bytes(content)
    assert commands.run("cp", str(source), "p:/tmp/copy") == (0, "", "")
    assert commands("exec", "p", "--", "cat", "/tmp/copy/below/small") == "text\n"
    assert commands.run("cp", "p:/tmp/copy", str(target)) == (0, "", "")
    assert (target / "large").read_bytes() == content
    assert (target / "below" / "small").read_text() == "text\n"


def test_a_file_gets_the_name_that_is_asked_for(commands: Commands, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("text\n")
    commands("cp", str(source), f"{commands.space.name}/p:/tmp/other")
    commands("cp", str(source), "p:/tmp")  # a directory
    assert commands("exec", "p", "--", "ls", "/tmp").split() == ["other", "source"]
    commands("cp", "p:/tmp/other", str(tmp_path / "new" / "name"))
    assert (tmp_path / "new" / "name").read_text() == "text\n"
    commands("cp", "p:tmp/other", str(tmp_path), "-c", "c")
    assert (tmp_path / "other").read_text() == "text\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("a",), "error: give what is copied"),
        (("a", "b"), "error: one of the two must be in a pod"),
        (("p:a", "p:b"), "error: one of the two must be in a pod"),
        (("a/b/p:c", "x"), "error: 'a/b/p:c': a path in a pod is"),
        (("p:", "x"), "error: a path is empty"),
        (("/no/such", "p:/tmp"), "error: /no/such: No such file or directory"),
        (
            ("p:/no/such", "x"),
            "tar: /no/such: Cannot stat: No such file or directory\nerror: the copy is not",
        ),
        (("none:/a", "x"), 'Error from server (NotFound): pods "none" not found'),
        (("p:/tmp", "/proc/x"), "error: /proc/x: "),
    ],
)
def test_what_cannot_be_copied(
    commands: Commands,
    words: tuple[str, ...],
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = commands.run("cp", *words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(error)


def _archive(*entries: tarfile.TarInfo | tuple[str, str]) -> bytes:
    """An archive of entries, and of files with their content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                archive.addfile(entry)
            else:
                content = entry[1].encode()
                info = tarfile.TarInfo(entry[0])
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def _directory(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    return info


# Archives of a directory /d, and a text that tells what is wrong with them.
_HOSTILE = {
    "a name outside": (_archive(("d/../../evil", "x")), "leads out"),
    "an absolute name": (_archive(("/etc/evil", "x")), "was not asked for"),
    "another directory": (_archive(("other/evil", "x")), "was not asked for"),
    "no archive": (b"garbage" * 1000, "cannot be read"),
    "a cut archive": (_archive(("d/a", "x" * 2000))[:1200], "cannot be read"),
}


@pytest.mark.parametrize("case", _HOSTILE)
def test_what_a_hostile_container_sends_is_refused(
    case: str, any_pods: Pods, tmp_path: Path
) -> None:
    content, why = _HOSTILE[case]
    any_pods.script(
        commands=[{"command": ["tar", "..."], "stdout": content.decode("ascii")}],
        selector={"pods": ["evil"]},
    )
    any_pods.create("evil")
    any_pods.await_ready("evil")
    target = tmp_path / "inner" / "target"
    ran = Commands(any_pods.space).run("cp", "evil:/d", str(target))
    assert ran.code == 1
    assert why in ran.errors
    assert not (tmp_path / "inner" / "evil").exists()
    assert not (tmp_path / "evil").exists()


def test_names_of_a_container_control_no_terminal(any_pods: Pods, tmp_path: Path) -> None:
    content = _archive(_link("d/\x1b[2J", "/etc/passwd")).decode("ascii")
    any_pods.script(
        commands=[{"command": ["tar", "..."], "stdout": content}], selector={"pods": ["evil"]}
    )
    any_pods.create("evil")
    any_pods.await_ready("evil")
    seen = seen_on_terminal(Commands(any_pods.space), "cp", "evil:/d", str(tmp_path / "target"))
    assert "left out" in seen
    assert "\x1b" not in seen


def _unpacked(target: Path, *entries: tarfile.TarInfo | tuple[str, str]) -> list[str]:
    """Unpack an archive of the directory d; return what was told."""
    told: list[str] = []
    source = ReceivedBytes()
    source.put(_archive(*entries))
    source.end()
    Unpacking("d", target, told.append).run(source)
    return told


def test_links_that_stay_inside_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "target"
    told = _unpacked(
        target,
        _directory("d"),
        ("d/file", "text"),
        _directory("d/below"),
        _link("d/below/up", "../file"),
        _link("d/late", "./below/later"),
        _link("d/same", "d/file", tarfile.LNKTYPE),
    )
    assert told == []
    assert (target / "below" / "up").read_text() == "text"
    assert os.readlink(target / "late") == "./below/later"
    assert (target / "same").read_text() == "text"


@pytest.mark.parametrize("leads", ["/etc", "..", "../other", "below/../../other", "below/.."])
def test_links_that_lead_elsewhere_are_left_out(leads: str, tmp_path: Path) -> None:
    target = tmp_path / "target"
    told = _unpacked(target, _directory("d"), _directory("d/below"), _link("d/link", leads))
    assert told == [f"left out 'd/link': the link leads elsewhere, to {leads!r}"]
    assert not (target / "link").is_symlink()


def test_hard_links_to_files_outside_are_left_out(tmp_path: Path) -> None:
    target = tmp_path / "target"
    told = _unpacked(target, ("d/a", "x"), _link("d/shadow", "etc/shadow", tarfile.LNKTYPE))
    assert told == ["left out 'd/shadow': the link leads elsewhere, to 'etc/shadow'"]


def test_a_link_that_is_there_is_not_written_through(tmp_path: Path) -> None:
    target, other = tmp_path / "target", tmp_path / "other"
    target.mkdir()
    other.write_text("kept")
    (target / "file").symlink_to(other)
    _unpacked(target, ("d/file", "new"))
    assert other.read_text() == "kept"
    assert (target / "file").read_text() == "new"
    (target / "out").symlink_to(tmp_path)
    with pytest.raises(Exception, match="leads out"):
        _unpacked(target, ("d/out/evil", "x"))
    assert not (tmp_path / "evil").exists()


def test_devices_and_rights_beyond_a_user_are_left_out(tmp_path: Path) -> None:
    device = tarfile.TarInfo("d/device")
    device.type = tarfile.CHRTYPE
    program = tarfile.TarInfo("d/program")
    program.mode = 0o4755
    told = _unpacked(tmp_path / "target", device, program)
    assert told == ["left out 'd/device': it is no file, directory or link"]
    assert (tmp_path / "target" / "program").stat().st_mode & 0o7777 == 0o755


def test_a_container_without_tar(any_pods: Pods, tmp_path: Path) -> None:
    any_pods.script(
        commands=[{"command": ["tar", "..."], "stderr": "no tar\n", "exitCode": 127}],
        selector={"pods": ["bare"]},
    )
    any_pods.create("bare", container())
    any_pods.await_ready("bare")
    (tmp_path / "file").write_text("x")
    for words in (("bare:/etc/x", str(tmp_path / "y")), (str(tmp_path / "file"), "bare:/tmp")):
        ran = Commands(any_pods.space).run("cp", *words)
        assert ran.errors.endswith("error: the container c has no program tar, which cp needs\n")
