"""Commands whose output goes to a terminal."""

from __future__ import annotations

import os
import pty
import sys
import threading
from contextlib import redirect_stdout
from unittest import mock

from fairlead.cli import main
from support.commands import Commands


def on_terminal(commands: Commands, *words: str, width: int = 120, **environment: str) -> str:
    """Return the output of a command on a terminal of some width."""
    ours, theirs = pty.openpty()
    received: list[bytes] = []

    def read() -> None:
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side was closed
                return
            if not piece:
                return
            received.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    settings = {"COLUMNS": str(width), "TERM": "xterm", **environment}
    flags = ("--kubeconfig", str(commands.config), "-n", commands.space.name)
    with mock.patch.dict(os.environ, settings):
        if "NO_COLOR" not in environment:
            os.environ.pop("NO_COLOR", None)
        with open(theirs, "w") as screen, redirect_stdout(screen):
            main([*flags, *words])
            sys.stdout.flush()
    reader.join()
    os.close(ours)
    return b"".join(received).decode().replace("\r\n", "\n")
