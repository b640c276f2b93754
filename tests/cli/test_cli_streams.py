"""Output that has nowhere to go."""

from __future__ import annotations

import subprocess
import sys

import pytest

_RUN = f"{sys.executable} -m fairlead"


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
