"""The data directory and its files are readable by their owner only."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree

import pytest
from support.process import ServerProcess, failed_start

from fairlead.process.certificates.authority import ensure_pki, ensure_service_account_key
from fairlead.process.data_directory import (
    FileError,
    prepare_directory,
    read_private,
    write_private,
)


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """As careless as it gets."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def refusal(directory: Path, *flags: str) -> str:
    """Return the one line of a server that does not start."""
    done = failed_start(directory, *flags)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def used_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a server that has stopped."""
    server = ServerProcess(tmp_path_factory.mktemp("used")).start()
    assert server.stop() == 0
    return server.data


@pytest.fixture
def stopped(tmp_path: Path, used_directory: Path) -> ServerProcess:
    """A server that ran before, on a directory of its own."""
    server = ServerProcess(tmp_path)
    copytree(used_directory, server.data)
    return server


@pytest.mark.parametrize("made_before", [False, True])
def test_everything_is_private_from_the_first_run_on(tmp_path: Path, made_before: bool) -> None:
    server = ServerProcess(tmp_path)
    if made_before:
        server.data.mkdir(mode=0o755)
    server.start()
    try:
        results = [server.data, *server.data.rglob("*")]
        names = {path.name for path in results}
        assert {"fairlead.db", "fairlead.db-wal", "ca.key", "admin.kubeconfig"} <= names
        open_to_others = [str(path) for path in results if mode(path) & 0o077]
        assert open_to_others == []
    finally:
        server.kill()


def test_what_an_older_release_left_open_is_closed(stopped: ServerProcess) -> None:
    for path in (stopped.data, stopped.data / "pki"):
        path.chmod(0o755)
    (stopped.data / "fairlead.db").chmod(0o644)
    (stopped.data / "pki" / "ca.key").chmod(0o644)
    stopped.start()
    assert [mode(path) & 0o077 for path in stopped.data.rglob("*")] == [0] * len(
        list(stopped.data.rglob("*"))
    )
    stopped.stop()


def test_a_directory_that_holds_something_else_is_not_taken(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    (data / "letters.txt").write_text("Dear Anna")
    assert f"others can enter {data} and it holds files that are not ours" in refusal(tmp_path)
    assert mode(data) == 0o755
    assert [path.name for path in data.iterdir()] == ["letters.txt"]


def test_files_of_others_in_our_directory_are_left_alone(stopped: ServerProcess) -> None:
    notes, link = stopped.data / "notes.txt", stopped.data / "link"
    notes.write_text("x")
    notes.chmod(0o644)
    link.symlink_to(notes)
    stopped.start()
    assert (mode(notes), link.is_symlink()) == (0o644, True)
    stopped.stop()


def test_a_fresh_file_system_is_empty(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    tmp_path.chmod(0o755)
    prepare_directory(tmp_path)
    assert mode(tmp_path) == 0o700


def test_a_shared_directory_is_not_taken(tmp_path: Path) -> None:
    shared = tmp_path / "data"
    shared.mkdir()
    shared.chmod(0o1777)
    assert "others can enter" in refusal(tmp_path)
    assert mode(shared) == 0o1777


def test_a_directory_of_others_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    if tmp_path.stat().st_uid == 0:
        tmp_path.chmod(0o755)
        with pytest.raises(FileError, match="its permissions cannot be changed"):
            prepare_directory(tmp_path)
    else:
        with pytest.raises(FileError, match="belongs to another user"):
            prepare_directory(tmp_path)


@pytest.mark.parametrize("name", ["pki/ca.key", "fairlead.db", "admin.kubeconfig"])
def test_a_symbolic_link_is_not_followed(stopped: ServerProcess, name: str) -> None:
    path = stopped.data / name
    elsewhere = stopped.directory / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    assert f"{path} is a symbolic link" in refusal(stopped.directory)
    assert elsewhere.read_bytes() == before


def test_a_dangling_link_makes_no_file_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "service-account.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match="symbolic link"):
        ensure_service_account_key(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_reading_refuses_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(FileError):
            read_private(tmp_path / name)


def test_writing_goes_through_a_file_of_its_own(tmp_path: Path) -> None:
    target, victim = tmp_path / "key", tmp_path / "victim"
    victim.write_text("untouched")
    target.symlink_to(victim)
    write_private(target, b"secret")
    assert (victim.read_text(), target.read_bytes()) == ("untouched", b"secret")
    assert (mode(target), target.is_symlink()) == (0o600, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "victim"]


@pytest.mark.parametrize("broken", ["fsync", "replace", "open"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_write_that_fails_leaves_the_old_file_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, code: int
) -> None:
    path = tmp_path / "key"
    write_private(path, b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(os, broken, fail)
        with pytest.raises(FileError, match=os.strerror(code)):
            write_private(path, b"new")
    assert path.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    error = refusal(tmp_path, "--data-dir", "/sys/fairlead")
    assert "cannot use /sys/fairlead" in error


def test_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert f"cannot use {tmp_path / 'data'}" in refusal(tmp_path)


class TestHalfWritten:
    @pytest.mark.parametrize(
        ("spoil", "message"),
        [
            (lambda pki: (pki / "ca.key").write_bytes(b""), "ca.key is empty"),
            (lambda pki: (pki / "ca.crt").write_bytes(b""), "ca.crt is empty"),
            (lambda pki: (pki / "ca.key").unlink(), "ca.key is missing beside ca.crt"),
            (lambda pki: (pki / "ca.crt").unlink(), "ca.crt is missing beside serving.crt"),
            (lambda pki: (pki / "ca.key").write_text("nonsense"), "is malformed"),
            (
                lambda pki: (pki / "ca.key").write_bytes((pki / "admin.key").read_bytes()),
                "ca.key is not the key of",
            ),
            (
                lambda pki: (pki / "service-account.key").write_bytes(b""),
                "service-account.key is empty",
            ),
            (
                lambda pki: (pki / "service-account.key").write_text("-----BEGIN PRIVATE"),
                "service-account.key is not a PEM private key",
            ),
        ],
    )
    def test_what_cannot_be_made_again_is_one_clear_line(
        self, stopped: ServerProcess, spoil: Callable[[Path], object], message: str
    ) -> None:
        spoil(stopped.data / "pki")
        assert message in refusal(stopped.directory)

    @pytest.mark.parametrize("name", ["serving.key", "serving.crt", "admin.key", "admin.crt"])
    @pytest.mark.parametrize("content", [b"", b"nonsense", None])
    def test_what_we_issued_is_issued_again(
        self, tmp_path: Path, name: str, content: bytes | None
    ) -> None:
        pki = ensure_pki(tmp_path, ["localhost"])
        authority = pki.ca.certificate.read_bytes()
        path = tmp_path / "pki" / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        again = ensure_pki(tmp_path, ["localhost"])
        again.serving.check()
        again.admin.check()
        assert again.ca.certificate.read_bytes() == authority

    def test_a_first_start_that_was_interrupted_starts_again(self, tmp_path: Path) -> None:
        (tmp_path / "pki").mkdir()
        (tmp_path / "pki" / "ca.key").write_text("half")
        ensure_pki(tmp_path, ["localhost"]).ca.check()

    @pytest.mark.parametrize("broken", range(1, 8))
    def test_a_disk_that_fills_up_at_any_write_is_recovered_from(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: int
    ) -> None:
        writes = [0]
        replace = os.replace

        def fail_at(*names: Path) -> None:
            writes[0] += 1
            if writes[0] == broken:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            replace(*names)

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", fail_at)
            with pytest.raises(FileError, match="No space left"):
                ensure_pki(tmp_path, ["localhost"])
        pki = ensure_pki(tmp_path, ["localhost"])
        for pair in (pki.ca, pki.serving, pki.admin):
            pair.check()


def test_a_second_server_changes_nothing(stopped: ServerProcess) -> None:
    stopped.start()
    before = {path: path.read_bytes() for path in (stopped.data / "pki").iterdir()}
    assert "in use by another server" in refusal(stopped.directory)
    assert {path: path.read_bytes() for path in (stopped.data / "pki").iterdir()} == before
    stopped.stop()
