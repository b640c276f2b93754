"""Output to closed pipes and full disks."""

from __future__ import annotations

import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.commands import Commands

_RUN = f"{sys.executable} -m fairlead"
_READ = {"x86_64": 0}.get(platform.machine(), 63)  # the number of the system call


def _shell(line: str) -> tuple[int, str]:
    ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("words", ["--help", "config", "get --help"])
def test_a_full_disk_is_told_in_one_line(words: str) -> None:
    assert _shell(f"{_RUN} {words} >/dev/full") == (1, "error: write: No space left on device\n")


def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    assert _shell(f"set -o pipefail; {_RUN} config | true") == (0, "")


def test_closed_streams_are_written_to_in_vain() -> None:
    assert _shell(f"{_RUN} --help >&- 2>&- <&-") == (0, "")
    assert _shell(f"{_RUN} get x --nope 2>&-") == (1, "")


@pytest.mark.parametrize("words", ["apply -f -", "raw /version -X POST -d -"])
@pytest.mark.parametrize("trap", ["", "trap '' INT; "], ids=["", "ignored"])
def test_ctrl_c_ends_waiting_for_input(
    fairlead_kubernetes: Commands, words: str, trap: str
) -> None:
    """Also if the shell has SIGINT ignored, as it has for what it starts in the background."""
    shell = ["bash", "-c", f'{trap}exec "$@"', "-"]
    requests = [*shell, sys.executable, "-m", "fairlead", *words.split()]
    process = subprocess.Popen(
        [*requests, "--kubeconfig", str(fairlead_kubernetes.config)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write("a: b")
    process.stdin.flush()
    _await_reader(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert process.stderr.read() == ""
    process.stdin.close()
    process.stderr.close()


def _await_reader(pid: int) -> None:
    """Until a process sleeps in a read of its standard input."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        if Path(f"/proc/{pid}/syscall").read_text().startswith(f"{_READ} 0x0 "):
            return
        time.sleep(0.02)
    raise AssertionError("it does not read")
