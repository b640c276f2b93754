"""What a parent and its workers ask of the system: to die together, and to leave nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def remove_leftovers(prefix: str) -> None:
    """Remove temporary directories of parents that were killed: their names begin with the prefix
    and the number of the process."""
    for found in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        pid = found.name.removeprefix(prefix).partition("-")[0]
        with suppress(OSError):
            if pid.isdigit() and found.lstat().st_uid == os.geteuid() and not _is_alive(int(pid)):
                shutil.rmtree(found, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def end_with(parent: int) -> None:
    """Have the system end this process with its parent, where it can: even one that is stopped.
    Elsewhere it notices by itself when it runs."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
