"""Handles standard streams that are closed, on a full disk, or whose reader is gone."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def open_closed_streams() -> None:
    """Replace standard streams that the shell closed (`>&-`) by /dev/null. Otherwise the next
    opened file or socket would get their descriptor, and output would go there."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def cannot_write(error: OSError) -> int:
    """The exit code for output that cannot be written. A closed pipe, such as to `head`, is no
    error and prints no message."""
    with suppress(OSError, ValueError):  # the interpreter must not flush stdout again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    with suppress(OSError):
        print(f"error: {error.filename or 'write'}: {error.strerror or error}", file=sys.stderr)
    return 1
