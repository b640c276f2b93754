"""The standard streams of a process that has them closed, full or read by nobody."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def open_closed_streams() -> None:
    """What a shell has closed (`>&-`) takes everything and keeps nothing; otherwise the next file
    or connection that is opened would be written to in its place."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def cannot_write(error: OSError) -> int:
    """The exit code of a command whose output has nowhere to go. Nobody has to be told of a reader
    that has seen enough, such as `head`."""
    with suppress(OSError, ValueError):  # the interpreter must not try again at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    with suppress(OSError):
        print(f"error: {error.filename or 'write'}: {error.strerror or error}", file=sys.stderr)
    return 1
