"""Runs the command `fairlead` in a process that ends when its parent ends, even by a crash.

    python -m fairlead.testing.lifeline DIRECTORY serve ...

Its standard input is a pipe to which nothing is written: end of file means that the parent has
died. Then the directory is removed as well, unless its name is empty.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Sequence

from fairlead.cli import main as run

_STOP_TIMEOUT = 10.0


def main(words: Sequence[str]) -> int:
    directory, *command = words
    alone, finished = threading.Event(), threading.Event()

    def watch() -> None:
        while os.read(0, 1):
            pass
        alone.set()
        os.kill(os.getpid(), signal.SIGTERM)
        if not finished.wait(_STOP_TIMEOUT):
            _remove(directory)
            os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    code = run(command)
    finished.set()
    if alone.is_set():
        _remove(directory)
    return code


def _remove(directory: str) -> None:
    if directory:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
