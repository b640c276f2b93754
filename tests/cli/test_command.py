"""The command `fairlead`: what it says of itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fairlead import __version__


def fairlead(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fairlead", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_it_tells_its_version() -> None:
    done = fairlead("--version")
    assert (done.returncode, done.stdout) == (0, f"fairlead {__version__}\n")


def test_help_lists_the_flags() -> None:
    done = fairlead("serve", "--help")
    assert done.returncode == 0
    for flag in (
        "--dialect",
        "--data-dir",
        "--secure-port",
        "--runtime-config",
        "--feature-gates",
        "--token-auth-file",
        "--livez-grace-period",
        "--shutdown-delay-duration",
        "--max-requests-inflight",
        "--max-mutating-requests-inflight",
        "--etcd-compaction-interval",
    ):
        assert flag in done.stdout


def test_no_command_is_an_error_with_a_hint() -> None:
    done = fairlead()
    assert done.returncode == 2
    assert "usage: fairlead" in done.stderr


@pytest.mark.parametrize("arguments", [("no-such-command",), ("serve", "--secure"), ("serve", "x")])
def test_what_it_does_not_know_is_an_error(arguments: tuple[str, ...]) -> None:
    done = fairlead(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
