"""`fairlead install-service`: units for systemd, which systemd itself accepts and runs."""

from __future__ import annotations

import ctypes.util
import os
import re
import selectors
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import confined
from support.client import PATIENCE
from support.etcd import free_ports
from support.process import serve_command

from fairlead.cli import main

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze"
)
needs_seccomp = pytest.mark.skipif(
    ctypes.util.find_library("seccomp") is None, reason="there is no libseccomp"
)
needs_user_manager = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/lib/systemd/systemd").exists() or not shutil.which("unshare"),
    reason="to run systemd in a mount namespace takes root and systemd",
)


def installed(directory: Path, *words: str, user: bool = False) -> tuple[str, str]:
    """Install it to a directory; return the service and the socket."""
    flags = [*(["--user"] if user else []), "--unit-dir", str(directory), "--", *words]
    assert main(["install-service", *flags]) == 0
    service, listener = (directory / f"fairlead.{kind}" for kind in ("service", "socket"))
    return service.read_text(), listener.read_text()


def test_a_system_service_has_a_state_directory_and_a_user_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service, listener = installed(tmp_path, "--dialect", "kubernetes", "--bind-address", "::")
    command = r"ExecStart=\S+/fairlead serve --dialect kubernetes --bind-address ::"
    assert re.search(f"{command} --data-dir /var/lib/fairlead\n", service)
    for line in ("StateDirectory=fairlead", "DynamicUser=yes", "ProtectSystem=strict"):
        assert f"\n{line}\n" in service
    assert "\nListenStream=[::]:6443\n" in listener
    shown = capsys.readouterr().out
    assert f"wrote {tmp_path}/fairlead.service\n" in shown
    assert "systemctl daemon-reload && systemctl enable --now fairlead.socket fairlead\n" in shown


def test_a_directory_elsewhere_is_made_writable(tmp_path: Path) -> None:
    service, _ = installed(tmp_path, "--data-dir", "/srv/fair lead")
    assert '\nReadWritePaths="/srv/fair lead"\n' in service
    assert "StateDirectory" not in service


def test_a_service_of_a_user_keeps_its_data_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert main(["install-service", "--user"]) == 0
    service = (tmp_path / ".config/systemd/user/fairlead.service").read_text()
    assert f" --data-dir {tmp_path}/.local/state/fairlead\n" in service
    assert "WantedBy=default.target\n" in service
    assert "DynamicUser" not in service
    assert "systemctl --user daemon-reload" in capsys.readouterr().out


def test_words_reach_the_server_as_they_were_given(tmp_path: Path) -> None:
    service, _ = installed(tmp_path, "--etcd-prefix", '/a b"%i$HOME\\')
    assert r'--etcd-prefix "/a b\"%%i$$HOME\\"' in service


def test_the_time_to_stop_covers_delay_and_grace(tmp_path: Path) -> None:
    service, _ = installed(tmp_path, "--shutdown-delay-duration=10s", "--shutdown-grace=30s")
    assert "\nTimeoutStopSec=85\n" in service


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "units"
    assert main(["install-service", "--dry-run", "--unit-dir", str(place)]) == 0
    assert not place.exists()
    assert f"# {place}/fairlead.socket\n[Unit]\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--secure-port", "0"], "--secure-port: a socket unit needs a port, 0 is none"),
        (["--dialect", "x"], "--dialect: invalid choice: 'x'"),
        (["--data-dir", "x"], "--data-dir: x must be an absolute path in a service"),
        (
            ["--tls-cert-file", "/root/a", "--tls-private-key-file", "/b"],
            "--tls-cert-file: /root/a is hidden from the service, as all homes are",
        ),
    ],
)
def test_flags_that_cannot_serve_are_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["install-service", "--dry-run", "--", *words])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_directory_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["install-service", "--unit-dir", str(tmp_path / "file" / "units")]) == 1
    assert "cannot write " in capsys.readouterr().err


@needs_systemd
def test_systemd_accepts_the_units_and_finds_little_exposed(tmp_path: Path) -> None:
    installed(tmp_path, "--dialect", "kubernetes")
    units = [str(tmp_path / f"fairlead.{kind}") for kind in ("service", "socket")]
    verified = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=20", units[0]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout.splitlines()[-1]


@needs_systemd
@needs_seccomp
def test_the_server_needs_no_system_call_that_the_unit_refuses(tmp_path: Path) -> None:
    service, _ = installed(tmp_path / "units", "--dialect", "kubernetes")
    filters = re.findall(r"^SystemCallFilter=(.*)$", service, re.MULTILINE)
    assert len(filters) == 2
    command = [sys.executable, confined.__file__, *filters, "--"]
    command += serve_command(tmp_path, "kubernetes", ("--workers=2", "--simulate-nodes=1"))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                assert selector.select(PATIENCE)
            assert "serves on" in process.stdout.readline()
        finally:
            process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert " ERROR " not in errors
    assert "not permitted" not in errors


# What runs in the mount namespace, where /run/systemd tells that systemd has started the machine.
_IN_NAMESPACE = """
set -e
mount -t tmpfs tmpfs /run/systemd
mkdir -p /run/systemd/system
/lib/systemd/systemd --user >"$HOME/log" 2>&1 &
manager=$!
trap 'kill $manager; wait $manager || true' EXIT
until systemctl --user is-system-running >/dev/null 2>&1; do
    kill -0 $manager
    sleep 0.05
done
systemctl --user start fairlead.socket
ask() { curl -sk -o /dev/null -w '%{http_code}\\n' https://127.0.0.1:$PORT/version; }
ask  # the first connection starts the server
systemctl --user reload fairlead
(for _ in $(seq 20); do ask; done) &
asking=$!
systemctl --user restart fairlead
wait $asking
kill -9 "$(systemctl --user show -p MainPID --value fairlead)"
ask  # waits in the socket until the server is started again
systemctl --user show -p NRestarts -p Result fairlead
systemctl --user stop fairlead.socket fairlead
systemctl --user show -p ActiveState -p Result fairlead
"""


@pytest.mark.slow
@needs_user_manager
def test_systemd_restarts_it_without_losing_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, runtime, (port,) = tmp_path / "home", tmp_path / "run", free_ports(1)
    home.mkdir()
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("PORT", str(port))
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    assert main(["install-service", "--user", "--", "--secure-port", str(port)]) == 0
    ran = subprocess.run(
        ["unshare", "--mount", "bash", "-c", _IN_NAMESPACE],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0, ran.stderr
    assert lines[:-4] == ["200"] * 22
    assert sorted(lines[-4:-2]) == ["NRestarts=1", "Result=success"]
    assert sorted(lines[-2:]) == ["ActiveState=inactive", "Result=success"]
